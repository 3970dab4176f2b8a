"""The hub's figures, as Prometheus reads them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from handrail.places import Places
from handrail.protocol.asks import Allow
from handrail.protocol.options import Options
from handrail.server.journal_watch import JournalWatch
from handrail.server.metrics import Metrics
from handrail.sessions.asks import Actor
from handrail.sessions.manager import Manager
from handrail.testing import simulated as sim
from handrail.testing.simulated import SimulatedCLI

DEADLINE = 30.0
ASKING = sim.turn(sim.tool("Bash", {"command": "make"}), "Done.")


@pytest.fixture
async def manager(tmp_path: Path) -> AsyncIterator[Manager]:
    places = Places(*(str(tmp_path / name) for name in ("config", "state", "cache", "run")))
    async with Manager.local(places) as manager:
        yield manager


def values(text: bytes) -> dict[tuple[str, ...], float]:
    """Each sample by its name and the values of its labels, in the order of their names."""
    return {
        (sample.name, *(value for _, value in sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text.decode())
        for sample in family.samples
    }


async def test_what_happens_is_counted(manager: Manager) -> None:
    metrics = Metrics()
    metrics.request("sessions.get", 200, 0.004)
    metrics.request("sessions.get", 404, 0.2)
    metrics.viewer_came()
    metrics.viewer_came()
    metrics.viewer_left()
    metrics.deltas_dropped(7)
    metrics.messages_sent(3)
    found = values(await metrics.text(manager))
    assert found["handrail_http_requests_total", "sessions.get", "200"] == 1
    assert found["handrail_http_requests_total", "sessions.get", "404"] == 1
    assert found["handrail_http_request_seconds_count", "sessions.get"] == 2
    assert found["handrail_http_request_seconds_bucket", "0.005", "sessions.get"] == 1
    assert found["handrail_viewers",] == 1
    assert found["handrail_deltas_dropped_total",] == 7
    assert found["handrail_live_messages_total",] == 3
    assert found["handrail_store_bytes",] > 0
    assert found["handrail_sessions", "running"] == 0
    assert found["process_open_fds",] > 0


async def test_hubs_in_one_process_do_not_share_figures(manager: Manager) -> None:
    one, other = Metrics(), Metrics()
    one.viewer_came()
    assert values(await other.text(manager))["handrail_viewers",] == 0


@pytest.mark.slow
async def test_journals_are_counted_as_they_grow(manager: Manager, tmp_path: Path) -> None:
    cli = SimulatedCLI([ASKING], directory=tmp_path)
    metrics = Metrics()
    async with JournalWatch(manager.store, metrics, pause=0.01):
        session = await manager.start(Options(cwd=str(tmp_path), cli_path=str(cli.path)))
        await session.send("go")
        async with asyncio.timeout(DEADLINE):
            while not (asks := await session.asks()):
                await asyncio.sleep(0.01)
        waiting = values(await metrics.text(manager))
        assert waiting["handrail_asks_waiting",] == 1
        assert 0 < waiting["handrail_asks_oldest_seconds",] < time.time() - asks[0].opened_at + 60
        assert waiting["handrail_sessions", "needs_you"] == 1
        await session.decide(asks[0].id, Allow(), actor=Actor("maria", "web"), digest=asks[0].digest)
        async with asyncio.timeout(DEADLINE):
            while ("handrail_events_appended_total", "completed") not in (found := values(await metrics.text(manager))):
                await asyncio.sleep(0.01)
        events = await session.events()
        assert found["handrail_asks_closed_total", "allow", "web"] == 1
        assert found["handrail_cli_starts_total", "new"] == 1
        assert found["handrail_asks_waiting",] == 0
        counted = sum(value for (name, *_), value in found.items() if name == "handrail_events_appended_total")
        assert counted <= len(events)


async def test_what_was_there_before_is_not_counted(manager: Manager, tmp_path: Path) -> None:
    cli = SimulatedCLI([sim.loop_turns("Done.")], directory=tmp_path)
    session = await manager.start(Options(cwd=str(tmp_path), cli_path=str(cli.path)))
    await session.run("one")
    before = len(await session.events())
    metrics = Metrics()
    async with JournalWatch(manager.store, metrics, pause=0.01):
        await session.run("two")
        after = len(await session.events())
        async with asyncio.timeout(DEADLINE):
            while _counted(await metrics.text(manager)) < after - before:
                await asyncio.sleep(0.01)
    assert _counted(await metrics.text(manager)) <= len(await session.events()) - before


def _counted(text: bytes) -> float:
    return sum(value for (name, *_), value in values(text).items() if name == "handrail_events_appended_total")

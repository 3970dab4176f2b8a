"""Owners that get killed, and what must hold afterwards."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import msgspec

from handrail.events.model import AskClosed, Event
from handrail.places import Places
from handrail.sessions.manager import Manager
from handrail.sessions.session import Session
from handrail.testing.journal_checks import journal_problems
from handrail.transports.process_tree import system_processes

from .nursery import ANSWERER, fingerprint

__all__ = ["Nursery", "Told", "following", "places_in", "verify"]

PROGRAM = Path(__file__).parent / "nursery.py"
PATIENCE = 60.0


class Told(msgspec.Struct):
    """What an owner told the world before it was killed: events that a reader saw, and decisions that were taken."""

    session_id: str = ""
    events: dict[int, str] = msgspec.field(default_factory=dict)
    decided: list[str] = msgspec.field(default_factory=list)
    done: bool = False


def places_in(directory: Path) -> Places:
    return Places(*(str(directory / name) for name in ("config", "state", "cache", "run")))


@asynccontextmanager
async def following(session: Session) -> AsyncGenerator[list[int], None]:
    """A reader that stays, whatever becomes of the session: gives the numbers of the events that it has seen."""
    seen: list[int] = []

    async def follow() -> None:
        async with aclosing(session.subscribe(deltas=False)) as items:
            async for item in items:
                assert isinstance(item, Event)
                seen.append(item.seq)

    reader = asyncio.create_task(follow())
    try:
        yield seen
    finally:
        reader.cancel()
        await asyncio.wait([reader])


# ---------------------------------------------------------------- owners that get killed


class Nursery:
    """Where owners come from."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, str(PROGRAM)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )

    def close(self) -> None:
        self._process.communicate()

    async def killed_owner(
        self,
        directory: Path,
        options: dict[str, Any],
        *,
        prompts: Sequence[str],
        seed: int,
        lives: float,
        settled: bool = False,
        env: Mapping[str, str] | None = None,
    ) -> Told:
        """Have another process own a session, and kill it after `lives` seconds; gives what it had told.

        With `settled` they count from its first event, however long the machine takes to get there.
        """
        told = directory / f"told-{seed}"
        order = {"directory": str(directory), "told": str(told), "options": options, "prompts": prompts, "seed": seed}
        pid = self._born({**order, "env": env or {}})
        if settled:
            await _first_event(told)
        await asyncio.sleep(lives)  # the point of the test: any moment will do
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        while os.path.exists(f"/proc/{pid}"):  # noqa: ASYNC240  (it is no child of ours that could be awaited)
            await asyncio.sleep(0.001)
        return _heard(told)

    def _born(self, order: dict[str, Any]) -> int:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(msgspec.json.encode(order) + b"\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())


async def _first_event(told: Path) -> None:
    async with asyncio.timeout(PATIENCE):
        while not _has_event(told):
            await asyncio.sleep(0.01)


def _has_event(path: Path) -> bool:
    return path.exists() and b'["event",' in path.read_bytes()


def _heard(path: Path) -> Told:
    told = Told()
    for line in path.read_bytes().splitlines() if path.exists() else ():
        match msgspec.json.decode(line):
            case ["session", name]:
                told.session_id = name
            case ["event", seq, print_]:
                told.events[seq] = print_
            case ["decided", ask_id]:
                told.decided.append(ask_id)
            case ["done"]:
                told.done = True
    return told


# ---------------------------------------------------------------- what must hold


async def verify(directory: Path, told: Told) -> Counter[str]:
    """Open the store that a killed owner left, and check every promise; returns what was found, for the curious."""
    async with Manager.local(places_in(directory)) as manager:
        assert await manager.store.check() == []
        found: Counter[str] = Counter()
        for row in await manager.list():
            session = manager.session(row.id)
            assert not await session.is_live()
            events = [item async for item in session.subscribe(deltas=False, follow=False)]
            assert journal_problems(item for item in events if isinstance(item, Event)) == []
            await _check_rows(manager, session)
            if row.id == told.session_id:
                _check_told(told, {item.seq: item for item in events if isinstance(item, Event)})
            found[(await session.row()).status] += 1
        return found


async def _check_rows(manager: Manager, session: Session) -> None:
    row = await session.row()
    assert row.owner is None
    assert await session.asks(("pending", "decided")) == []
    assert await manager.store.messages(session.id, states=("sent", "started")) == []
    assert all(run.completed_seq is not None for run in await manager.store.runs(session.id))
    markers = {start.marker for start in await manager.store.starts(session.id)}
    alive = [process for process in system_processes().table().values() if markers & set(process.markers)]
    assert alive == []


def _check_told(told: Told, stored: dict[int, Event]) -> None:
    """Durable before visible: what anybody was shown is there, unchanged, and a decision that was taken is, too."""
    for seq, print_ in told.events.items():
        assert fingerprint(stored[seq]) == print_
    closed = {event.ask_id: event for event in stored.values() if isinstance(event, AskClosed)}
    for ask_id in told.decided:
        assert closed[ask_id].outcome in ("decided", "unsent")
        assert closed[ask_id].by == ANSWERER

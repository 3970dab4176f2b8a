"""Starts whose answer is lost on the way, between a program and its hub or between the hub and a host: done once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from handrail import Allow, Ask, Asked, Hub, Options, OutcomeUnknown, Session, SessionExists
from handrail.host.acts import METHODS, Acts, Method
from handrail.link.wire import Command
from handrail.server.hosts import commands
from handrail.sessions.manager import Manager
from handrail.testing import simulated as sim

from ..host.fleet import Fleet, fleet, hub_behind, identity_of
from ..host.middle import middle
from ..host.support import host_manager, made, running_host
from .support import Wire, eventually
from .test_reconnecting import hub_behind as hub_behind_wire

pytestmark = pytest.mark.slow

ID = "5e0f7f0a-4a59-4d1e-8a6e-bd64b5a8c0aa"
ECHO = sim.loop_turns("You said $text.")


@dataclass
class Held:
    """Starts on hosts are done, and answered only when they are let go."""

    done: int = 0
    gate: asyncio.Event = field(default_factory=asyncio.Event)

    async def start(self, acts: Acts, command: Command, params: dict[str, Any]) -> dict[str, str]:
        result = await Acts.start(acts, command, params)
        self.done += 1
        await self.gate.wait()
        return result


@pytest.fixture(autouse=True)
def soon_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """A hub that ends waits for nobody."""
    monkeypatch.setattr("handrail.server.running.PATIENCE_WITH_REQUESTS", 0.2)


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> Held:
    held = Held()
    known = METHODS["start"]
    gated = Method(held.start, ordered=known.ordered, repeatable=known.repeatable)
    monkeypatch.setitem(METHODS, "start", gated)
    return held


async def once(manager: Manager, session: Session) -> None:
    """There is one session, whose CLI was started once, and it works."""
    assert [row.id for row in await manager.list()] == [session.id]
    assert [row.why for row in await manager.store.starts(session.id) if row.why != "running"] == ["new"]
    assert (await session.run("hello")).answer == "You said hello."


@asynccontextmanager
async def program(machines: Fleet, **how: Any) -> AsyncIterator[Hub]:
    async with Hub(machines.served.url, machines.served.tokens["owner"], **how) as hub:
        yield hub


async def test_a_line_that_is_cut_before_the_answer_of_a_host(
    tmp_path: Path, held: Held, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It stays cut for longer than the hub waits: the program tries again by itself."""
    monkeypatch.setattr(commands, "COMING_BACK", 0.2)
    async with fleet(tmp_path, ECHO) as machines, program(machines) as hub:
        options = Options(cwd=machines.host.projects)
        starting = asyncio.create_task(hub.start(options, host="any", title="Once"))
        await eventually(lambda: held.done)
        machines.line.cut()
        held.gate.set()
        await eventually(lambda: not machines.served.hub.hosts.registry.named("box").commands.waiting)
        assert not starting.done()
        machines.line.lead_to(machines.served.url)
        async with asyncio.timeout(30):
            session = await starting
        await eventually(lambda: machines.served.hub.hosts.registry.named("box").connected)
        await once(machines.host.manager, session)


async def test_who_has_no_patience_is_told_and_starts_the_same_again(
    tmp_path: Path, held: Held, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commands, "COMING_BACK", 0.2)
    async with fleet(tmp_path, ECHO) as machines, program(machines, patience=0.0) as hub:
        options = Options(cwd=machines.host.projects)
        starting = asyncio.create_task(hub.start(options, id=ID, host="box"))
        await eventually(lambda: held.done)
        machines.line.cut()
        with pytest.raises(OutcomeUnknown, match="whether this was done is not known"):
            await starting
        held.gate.set()
        machines.line.lead_to(machines.served.url)
        await eventually(lambda: machines.served.hub.hosts.registry.named("box").connected)
        with pytest.raises(SessionExists):
            await hub.start(options, id=ID, host="box", title="Other")
        session = await hub.start(options, id=ID, host="box")
        assert session.id == ID.replace("-", "")
        await once(machines.host.manager, session)


async def test_a_hub_that_ends_before_the_answer_of_a_host(tmp_path: Path, held: Held) -> None:
    """The next hub knows which host was told, and the host that it has done it."""
    async with (
        middle() as line,
        host_manager(made(tmp_path / "host")) as manager,
        AsyncExitStack() as stack,
    ):
        first = await stack.enter_async_context(AsyncExitStack())
        served = await first.enter_async_context(hub_behind(line, tmp_path / "hub"))
        key = (await identity_of(served, line)).key
        host = await stack.enter_async_context(
            running_host(tmp_path / "host", line.url, ECHO, key=key, manager=manager)
        )
        await host.told("connected")
        hub = await stack.enter_async_context(Hub(line.url, served.tokens["owner"]))
        starting = asyncio.create_task(hub.start(Options(cwd=host.projects), host="any"))
        await eventually(lambda: held.done)
        await first.aclose()
        held.gate.set()
        await stack.enter_async_context(hub_behind(line, tmp_path / "hub"))
        async with asyncio.timeout(40):
            session = await starting
        await once(manager, session)


async def test_a_host_that_ends_before_it_answers(tmp_path: Path, held: Held) -> None:
    async with middle() as line, hub_behind(line, tmp_path / "hub") as served:
        key = (await identity_of(served, line)).key
        async with Hub(served.url, served.tokens["owner"]) as hub:
            async with running_host(made(tmp_path / "host"), line.url, ECHO, key=key) as host:
                await host.told("connected")
                starting = asyncio.create_task(hub.start(Options(cwd=host.projects), host="label:gpu"))
                await eventually(lambda: held.done)
            held.gate.set()
            async with running_host(made(tmp_path / "host"), line.url, ECHO, key=key) as host:
                async with asyncio.timeout(40):
                    session = await starting
                assert [row.id for row in await host.manager.list()] == [session.id]
                assert (await session.run("hello")).answer == "You said hello."


async def test_a_hub_that_ends_in_the_middle_of_a_start_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a program offers the session is there as well."""
    begun, begin = asyncio.Event(), Manager.begin

    async def held_begin(self: Manager, *args: Any, **more: Any) -> Session:
        session = await begin(self, *args, **more)
        if not begun.is_set():
            begun.set()
            await asyncio.Event().wait()
        return session

    async def answer(ask: Ask) -> Any:
        return Allow()

    monkeypatch.setattr(Manager, "begin", held_begin)
    steps = (sim.turn(sim.tool("Bash", {"command": "rm -rf build"}), "Clean."), ECHO)
    async with Wire().laid() as wire, AsyncExitStack() as stack:
        first = await stack.enter_async_context(AsyncExitStack())
        served = await first.enter_async_context(hub_behind_wire(wire, tmp_path, *steps))
        hub = await stack.enter_async_context(Hub(wire.url, served.tokens["owner"]))
        starting = asyncio.create_task(
            hub.start(Options(cwd=served.directory), policy=Asked(profile="careful"), on_ask=answer)
        )
        await begun.wait()
        wire.cut()
        await first.aclose()
        wire.mend()
        await stack.enter_async_context(hub_behind_wire(wire, tmp_path, *steps))
        async with asyncio.timeout(40):
            session = await starting
            assert (await session.run("Clean up.")).answer == "Clean."
        assert [row.id for row in await hub.list()] == [session.id]

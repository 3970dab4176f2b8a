"""A hub offers what a manager offers: the same methods, and the same things happen."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from handrail import (
    Allow,
    AlreadyDecided,
    AmbiguousSession,
    AskClosed,
    Asked,
    Deny,
    Hub,
    InvalidOptions,
    Manager,
    Options,
    Session,
    SessionBusy,
    SessionNotFound,
    SessionNotLive,
    StaleDigest,
    UnfitAnswer,
)
from handrail.events import Completed, Event, Prompt, Text
from handrail.places import Places
from handrail.protocol.asks import Answers
from handrail.store.base import SessionFilter
from handrail.testing import simulated as sim
from handrail.testing.simulated import SimulatedCLI

from ..server.support import served_hub
from .support import eventually

ONLY_OF_A_MANAGER = {
    "begin": "how a hub and a host start what others ask them for",
    "hold_to": "what all sessions of a machine are held to is settled there",
    "with_abroad": "a hub's own wiring to its hosts",
    "copy_feed": "a hub's own wiring to its hosts",
    "forget_copy": "a hub's own wiring to its hosts",
    "expect": "a hub lets a CLI dial in, which it has started elsewhere",
    "started_elsewhere": "a hub lets a CLI dial in, which it has started elsewhere",
    "receive": "a hub lets a CLI dial in, which it has started elsewhere",
}
ONLY_OF_A_HUB = {"acting_for", "hosts", "on_ask", "is_connected", "over", "watch"}
OTHERWISE = {"local": "a manager is given what its sessions are run with, a hub where it is and who is told of it"}

ASKS = (
    sim.turn(
        "Let me look.",
        sim.tool("Bash", {"command": "rm -rf build", "description": "Remove the build"}, output="done"),
        "All clean.",
    ),
    sim.turn(sim.tool("Bash", {"command": "make", "description": "Build"}, output="built"), "Built."),
    sim.loop_turns("You said $text."),
)


def public(kind: type) -> dict[str, Any]:
    return {name: getattr(kind, name) for name in dir(kind) if not name.startswith("_")}


def test_a_hub_has_the_methods_of_a_manager() -> None:
    manager, hub = public(Manager), public(Hub)
    assert manager.keys() - hub.keys() == set(ONLY_OF_A_MANAGER)
    assert hub.keys() - manager.keys() == ONLY_OF_A_HUB


@pytest.mark.parametrize("name", sorted(public(Manager).keys() - ONLY_OF_A_MANAGER.keys() - OTHERWISE.keys()))
def test_a_method_takes_and_gives_the_same(name: str) -> None:
    assert inspect.signature(public(Hub)[name]) == inspect.signature(public(Manager)[name])


@asynccontextmanager
async def with_manager(directory: Path) -> AsyncIterator[tuple[Manager, Path]]:
    cli = SimulatedCLI(ASKS, directory=made(directory / "cli"))
    places = Places(*(str(directory / name) for name in ("config", "state", "cache", "run")))
    async with Manager.local(places) as manager:
        yield Configured(manager, str(cli.path)), made(directory / "projects")  # type: ignore[misc]


class Configured:
    """A manager whose sessions run on a simulated CLI, as those of the hub do by its configuration."""

    def __init__(self, manager: Manager, cli: str) -> None:
        self._manager = manager
        self._cli = cli

    def __getattr__(self, name: str) -> Any:
        return getattr(self._manager, name)

    async def start(self, options: Options, **given: Any) -> Session:
        return await self._manager.start(msgspec.structs.replace(options, cli_path=self._cli), **given)


@asynccontextmanager
async def with_hub(directory: Path) -> AsyncIterator[tuple[Hub, Path]]:
    cli = SimulatedCLI(ASKS, directory=made(directory / "cli"))
    async with served_hub(directory, cli=cli) as served, Hub(served.url, served.tokens["owner"]) as hub:
        yield hub, served.directory


def made(directory: Path) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    return directory


BOTH = pytest.mark.parametrize("where", [with_manager, with_hub], ids=["manager", "hub"])


async def asked(session: Session) -> Any:
    return (await eventually(session.asks))[0]


async def scenario(manager: Manager | Hub, cwd: Path) -> list[Any]:
    """One and the same program; what it sees is what both are compared by."""
    seen: list[Any] = []
    session = await manager.start(Options(cwd=cwd), title="Clean up", policy=Asked(profile="careful"))
    seen.append((await session.row()).title)
    seen.append(await session.is_live())

    items: list[Any] = []

    async def watch() -> None:
        async for item in session.subscribe():
            items.append(item)
            if isinstance(item, Completed) and item.run == 2:
                return

    watching = asyncio.create_task(watch())
    running = asyncio.create_task(session.run("Clean up."))
    row = await asked(session)
    seen += [row.kind, row.state, row.title]
    with pytest.raises(StaleDigest):
        await session.decide(row.id, Allow(), digest="of something else")
    with pytest.raises(UnfitAnswer):
        await session.decide(row.id, Answers({"what?": "that"}), digest=row.digest)
    with pytest.raises(AskClosed):
        await session.decide("nothing", Allow(), digest=row.digest)
    seen.append([ask.id == row.id for ask in await manager.asks()])
    await session.decide(row.id, Allow(), digest=row.digest)
    with pytest.raises(AlreadyDecided):
        await session.decide(row.id, Deny("no"), digest=row.digest)
    done = await running
    seen += [done.ok, done.run]

    sent = await session.send("Build it.")
    row = await asked(session)
    await manager.write_control_response(session.id, row.id, False, "Not now.")
    seen.append((await session.wait(sent)).run)
    await watching
    events = [item for item in items if isinstance(item, Event)]
    seen.append([event.seq for event in events] == list(range(1, len(events) + 1)))
    seen.append([event.text for event in events if isinstance(event, Text)])
    seen.append([event.seq for event in await session.events(after=2, limit=3)])
    seen.append([event.seq for event in await session.events(before=4, limit=2)])
    seen.append((await session.view()).seq == (await session.row()).last_seq)

    await session.rename("Tidy up")
    seen.append((await session.row()).title)
    seen.append((await session.control("get_context_usage")).keys() >= set())
    await session.set_permission_mode("plan")
    await session.set_model("opus")
    await session.interrupt()
    frames = await session.frames(limit=5)
    seen += [[frame.number for frame in frames], frames[0].direction, b'"subtype":"initialize"' in frames[0].line]
    seen.append("Tidy up" in await session.export("markdown"))
    with pytest.raises(SessionBusy):
        await session.delete()

    seen.append((await manager.get(session.id[:8])).id == session.id)
    seen.append((await manager.get(str((await session.row()).cli_session_id))).id == session.id)
    with pytest.raises(SessionNotFound):
        await manager.get("ffffffffffff")
    latest = await manager.latest(cwd)
    seen.append(latest is not None and latest.id == session.id)
    seen.append([each.title for each in await manager.list()])
    seen.append(sum((await manager.count()).values()))
    seen.append([hit.session_id == session.id for hit in await manager.search("Tidy")])
    seen.append([(use.runs, bool(use.day)) for use in await manager.usage()])
    seen.append(await manager.adoptable(cwd))

    await session.stop()
    seen.append(await session.is_live())
    with pytest.raises(SessionNotLive):
        await session.interrupt()
    with pytest.raises(SessionNotLive):
        await session.send("hello", resume=False)
    await manager.resume(session.id, max_turns=7)
    seen.append(await session.is_live())
    fork = await manager.fork(session.id, title="Another way")
    seen.append((await fork.row()).forked_from == session.id)
    with pytest.raises(AmbiguousSession):
        await ambiguous(manager, session, fork)
    seen.append(await manager.stop_all())
    await session.archive()
    seen.append([each.title for each in await manager.list(SessionFilter(archived=True))])
    await session.delete()
    with pytest.raises(SessionNotFound):
        await session.row()
    with pytest.raises(InvalidOptions):
        await manager.start(Options(cwd=cwd, resume="something"))
    return seen


async def ambiguous(manager: Manager | Hub, *sessions: Session) -> None:
    """Ids are random: a beginning that two have in common is seldom, so nobody is asked for one where there is none."""
    first, second = (each.id for each in sessions)
    common = next((size for size in range(32, 3, -1) if first[:size] == second[:size]), 0)
    if common < 4:
        raise AmbiguousSession("no two fit")
    await manager.get(first[:common])


@pytest.mark.slow
async def test_the_same_program_sees_the_same(tmp_path: Path) -> None:
    results = []
    for where in (with_manager, with_hub):
        async with where(tmp_path / where.__name__) as (manager, cwd):
            results.append(await scenario(manager, cwd))
    locally, through_hub = results
    assert through_hub == locally


@pytest.mark.slow
@BOTH
async def test_a_message_that_is_sent_twice_is_one(where: Any, tmp_path: Path) -> None:
    async with where(tmp_path) as (manager, cwd):
        session = await manager.start(Options(cwd=cwd))
        uuid = "4b5c2b8e-97f3-4f0a-8a2f-4f4d8c1c9e01"
        assert [await session.send("Once.", uuid=uuid) for _ in range(3)] == [uuid] * 3
        prompts = [each for each in await session.events() if isinstance(each, Prompt)]
        assert {each.uuid for each in prompts} == {uuid}
        await asked(session)


@pytest.mark.slow
@BOTH
async def test_who_follows_a_session_that_is_deleted_comes_to_its_end(where: Any, tmp_path: Path) -> None:
    async with where(tmp_path) as (manager, cwd):
        session = await manager.start(Options(cwd=cwd))
        await session.stop()
        began = asyncio.Event()

        async def follow() -> None:
            async for _ in session.subscribe():
                began.set()

        following = asyncio.create_task(follow())
        other = await manager.start(Options(cwd=cwd))
        await other.stop()
        if (await session.row()).last_seq:
            await asyncio.wait_for(began.wait(), 30)
        await session.delete()
        async with asyncio.timeout(30):
            await following

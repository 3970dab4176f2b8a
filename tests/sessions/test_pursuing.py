"""Whoever follows a session goes on following it, whichever process takes it, and misses nothing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from pathlib import Path

import pytest

from handrail.events.model import Completed, Delta, Event
from handrail.places import Places
from handrail.protocol.options import Options
from handrail.sessions.feed import Item
from handrail.sessions.manager import Manager
from handrail.sessions.session import Session
from handrail.store import SqliteStore, store_path
from handrail.testing import simulated as sim
from handrail.testing.simulated import SimulatedCLI

PATIENCE = 60


def manager_of(places: Places) -> Manager:
    return Manager(SqliteStore(store_path(places), between_looks=0.02), places)


@pytest.fixture
async def manager(places: Places) -> AsyncIterator[Manager]:
    async with manager_of(places) as manager:
        yield manager


@pytest.fixture
async def other(places: Places) -> AsyncIterator[Manager]:
    """A manager that shares nothing but files with `manager`: as good as another process."""
    async with manager_of(places) as other:
        yield other


@pytest.fixture
def options(tmp_path: Path) -> Options:
    cli = SimulatedCLI([sim.loop_turns("You said $text.")], directory=tmp_path)
    return Options(cli_path=str(cli.path), cwd=str(tmp_path), include_partial_messages=True)


class Follower:
    """Follows a session in a task of its own."""

    def __init__(self, session: Session, after: int = 0) -> None:
        self.items: list[Item] = []
        self._session = session
        self._after = after
        self._news = asyncio.Event()
        self.task = asyncio.create_task(self._follow())

    async def _follow(self) -> None:
        async with aclosing(self._session.subscribe(self._after)) as items:
            async for item in items:
                self.items.append(item)
                self._news.set()

    @property
    def numbers(self) -> list[int]:
        return [item.seq for item in self.items if isinstance(item, Event)]

    @property
    def answers(self) -> list[str]:
        return [item.answer for item in self.items if isinstance(item, Completed)]

    async def until(self, wanted: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE):
            while not wanted():
                self._news.clear()
                await self._news.wait()

    async def leave(self) -> None:
        self.task.cancel()
        await asyncio.wait([self.task])


@pytest.mark.slow
async def test_a_reader_goes_on_when_another_process_takes_the_session(
    manager: Manager, other: Manager, options: Options
) -> None:
    mine = await manager.start(options)
    await mine.run("one")
    await mine.stop()
    follower = Follower(mine)
    await follower.until(lambda: follower.answers == ["You said one."])

    theirs = await other.resume(mine.id)
    await theirs.run("two")
    await follower.until(lambda: "You said two." in follower.answers)
    seen = len(follower.items)
    await theirs.run("three")
    await follower.until(lambda: "You said three." in follower.answers)
    assert any(isinstance(item, Delta) for item in follower.items[seen:])
    await theirs.stop()

    await (await other.resume(mine.id)).run("four")
    await follower.until(lambda: "You said four." in follower.answers)
    await theirs.stop()

    await mine.run("five")
    await follower.until(lambda: "You said five." in follower.answers)
    last = (await mine.row()).last_seq
    await follower.until(lambda: follower.numbers[-1] >= last)
    assert follower.numbers == list(range(1, len(follower.numbers) + 1))
    await follower.leave()


@pytest.mark.slow
async def test_a_reader_that_followed_here_follows_elsewhere(
    manager: Manager, other: Manager, options: Options
) -> None:
    mine = await manager.start(options)
    follower = Follower(mine)
    await mine.run("one")
    await mine.stop()
    await (await other.get(mine.id)).run("two")
    await follower.until(lambda: follower.answers == ["You said one.", "You said two."])
    assert follower.numbers == list(range(1, len(follower.numbers) + 1))
    await follower.leave()


async def test_a_reader_ends_when_the_session_is_deleted_elsewhere(
    manager: Manager, other: Manager, options: Options
) -> None:
    mine = await manager.start(options)
    await mine.run("one")
    await mine.stop()
    follower = Follower(mine)
    await follower.until(lambda: bool(follower.answers))
    await (await other.get(mine.id)).delete()
    await asyncio.wait_for(follower.task, PATIENCE)


async def test_a_reader_of_what_nobody_owns_ends_with_its_manager(places: Places, options: Options) -> None:
    async with manager_of(places) as manager:
        mine = await manager.start(options)
        await mine.run("one")
        await mine.stop()
        follower = Follower(mine)
        await follower.until(lambda: bool(follower.answers))
    await asyncio.wait_for(follower.task, PATIENCE)


@pytest.mark.slow
async def test_what_runs_used_can_be_asked_for(manager: Manager, options: Options) -> None:
    session = await manager.start(options)
    ends = [await session.run("one"), await session.run("two")]
    (row,) = await manager.usage(by=("session",))
    assert (row.session_id, row.runs) == (session.id, 2)
    assert row.cost_usd == pytest.approx(sum(end.cost_usd for end in ends))
    (total,) = await manager.usage(by=())
    assert total.input_tokens >= 10
    assert [row.model for row in await manager.usage(by=("model",))] == [(await session.row()).model]
    assert await manager.usage(since=ends[-1].at + 1) == []
    assert await manager.count() == {"idle": 1}
    last = (await session.row()).last_seq
    assert [event.seq for event in await session.events(before=last, limit=2)] == [last - 2, last - 1]

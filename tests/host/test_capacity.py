"""The seats of a host: sessions are started beside each other, and there are never more than it may have."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.errors import LaunchError, SessionLimit
from handrail.host.capacity import Capacity
from handrail.sessions.manager import Manager
from handrail.store.base import SessionFilter, SessionRow


class Machine:
    """Sessions as the store of a machine shows them: their status comes a moment after their owner."""

    def __init__(self) -> None:
        self.store = self
        self.rows: dict[str, SessionRow] = {}

    def write(self, session_id: str, *, status: str, owner: str | None) -> None:
        self.rows[session_id] = SessionRow(
            id=session_id, cwd="/srv", created_at=0.0, updated_at=0.0, status=status, owner=owner
        )

    async def list(self, which: SessionFilter, *, limit: int) -> list[SessionRow]:
        await asyncio.sleep(0)
        return [row for row in self.rows.values() if row.status in which.status][:limit]

    async def get_session(self, session_id: str) -> SessionRow | None:
        await asyncio.sleep(0)
        return self.rows.get(session_id)

    def capacity(self, most: int | None) -> Capacity:
        return Capacity(cast(Manager, self), most, name=lambda: "box")


class Starter:
    """Starts sessions as tests say, and sees that there are never too many."""

    def __init__(self, most: int) -> None:
        self.machine = Machine()
        self.most = most
        self.starting: list[str] = []
        self._capacity = self.machine.capacity(most)

    @property
    def taken(self) -> set[str]:
        return {row.id for row in self.machine.rows.values() if row.owner is not None} | set(self.starting)

    async def start(self, session_id: str, *, pause: int, fails: bool, ends: bool) -> None:
        await _turns(pause)
        try:
            async with self._capacity.seat(session_id):
                self.starting.append(session_id)
                try:
                    await self._launch(session_id, pause, fails=fails)
                finally:
                    self.starting.remove(session_id)
        except SessionLimit:
            return
        await _turns(pause)
        self.machine.write(session_id, status="idle", owner="me")
        if ends:
            await _turns(pause)
            self.machine.write(session_id, status="stopped", owner=None)

    async def _launch(self, session_id: str, pause: int, *, fails: bool) -> None:
        assert len(self.taken) <= self.most
        await _turns(pause)
        if fails:
            raise LaunchError("it does not start")
        self.machine.write(session_id, status="stopped", owner="me")


async def _turns(count: int) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


STARTS = st.lists(
    st.fixed_dictionaries({"pause": st.integers(0, 6), "fails": st.booleans(), "ends": st.booleans()}), max_size=12
)


@given(most=st.integers(1, 4), starts=STARTS)
def test_there_are_never_more_sessions_than_seats(most: int, starts: list[dict[str, Any]]) -> None:
    async def scenario() -> None:
        starter = Starter(most)
        works = [starter.start(f"s{number}", **how) for number, how in enumerate(starts)]
        ended = await asyncio.gather(*works, return_exceptions=True)
        assert not [error for error in ended if isinstance(error, BaseException) and not isinstance(error, LaunchError)]
        assert len(starter.taken) <= most
        while len(starter.taken) < most:  # what failed or ended has left its seat
            await starter.start(f"later{len(starter.taken)}", pause=0, fails=False, ends=False)

    asyncio.run(asyncio.wait_for(scenario(), 30))


async def test_sessions_are_started_beside_each_other() -> None:
    capacity, all_in = Machine().capacity(2), asyncio.Barrier(2)

    async def start(session_id: str) -> None:
        async with capacity.seat(session_id):
            await all_in.wait()
            with pytest.raises(SessionLimit, match="box runs as many sessions as it may at once \\(2\\)"):
                async with capacity.seat("one too many"):
                    pass
            await all_in.wait()

    async with asyncio.timeout(10):
        await asyncio.gather(start("a"), start("b"))


async def test_a_session_that_two_start_at_once_takes_one_seat() -> None:
    capacity, both_in = Machine().capacity(1), asyncio.Barrier(2)

    async def start() -> None:
        async with capacity.seat("a"):
            await both_in.wait()

    async with asyncio.timeout(10):
        await asyncio.gather(start(), start())


async def test_one_of_two_that_start_a_session_fails_and_the_other_keeps_the_seat() -> None:
    capacity = Machine().capacity(1)
    async with capacity.seat("a"):
        with suppress(LaunchError):
            async with capacity.seat("a"):
                raise LaunchError("it does not start")
        with pytest.raises(SessionLimit):
            async with capacity.seat("b"):
                pass


async def test_a_session_without_a_name_yet_is_counted_once() -> None:
    machine = Machine()
    capacity = machine.capacity(2)
    async with capacity.seat_of_another():
        machine.write("fork", status="idle", owner="me")
        waiting = asyncio.create_task(_seated(capacity, "a"))
        await _turns(5)
        assert not waiting.done()
    async with asyncio.timeout(10):
        await waiting
    machine.write("a", status="idle", owner="me")
    with pytest.raises(SessionLimit):
        async with capacity.seat_of_another():
            pass


async def _seated(capacity: Capacity, session_id: str) -> None:
    async with capacity.seat(session_id):
        pass

"""Seats for sessions: never too many, first come first served, and free again whatever happens to their holder."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest

from handrail.errors import ConfigError, SessionError
from handrail.sessions.guards.admission import Admission

pytestmark = pytest.mark.timeout(60)

HOLDER = """
import asyncio, sys
from handrail.sessions.guards.admission import Admission

async def main():
    admission = Admission(int(sys.argv[2]), directory=sys.argv[1])
    async with admission.seat(on_wait=lambda ahead: print("waits", ahead, flush=True)):
        print("seated", flush=True)
        await asyncio.to_thread(sys.stdin.readline)
    print("left", flush=True)

asyncio.run(main())
"""


class Holder:
    """Another process that takes a seat, and gives it up when told so."""

    def __init__(self, directory: Path, limit: int) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", HOLDER, str(directory), str(limit)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    async def says(self) -> str:
        assert self.process.stdout is not None
        return (await asyncio.to_thread(self.process.stdout.readline)).strip()

    def leave(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def end(self) -> None:
        self.process.kill()
        self.process.communicate()


@pytest.fixture
def holder(tmp_path: Path) -> Iterator[Callable[[int], Holder]]:
    holders: list[Holder] = []

    def start(limit: int) -> Holder:
        holders.append(Holder(tmp_path / "seats", limit))
        return holders[-1]

    yield start
    for each in holders:
        each.end()


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "seats"


class Guest:
    """Somebody in this process who wants a seat."""

    def __init__(self, admission: Admission) -> None:
        self.places: list[int] = []
        self.seated = asyncio.Event()
        self._leaves = asyncio.Event()
        self.waits = asyncio.Event()
        self.task = asyncio.create_task(self._stay(admission))

    async def _stay(self, admission: Admission) -> None:
        async with admission.seat(on_wait=self._told):
            self.seated.set()
            await self._leaves.wait()

    def _told(self, ahead: int) -> None:
        self.places.append(ahead)
        self.waits.set()

    async def leave(self) -> None:
        self._leaves.set()
        await self.task

    async def cancel(self) -> None:
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)


@asynccontextmanager
async def waiting(admission: Admission) -> AsyncIterator[Guest]:
    guest = Guest(admission)
    try:
        await asyncio.wait([asyncio.create_task(guest.waits.wait()), guest.task], return_when="FIRST_COMPLETED")
        yield guest
    finally:
        await guest.cancel()


async def until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(30):
        while not condition():
            await asyncio.sleep(0.002)


async def test_without_a_limit_nobody_waits_and_nothing_is_written(directory: Path) -> None:
    admission = Admission(None, directory=directory)
    async with admission.seat(), admission.seat():
        assert os.listdir(directory.parent) == []


def test_a_limit_lets_somebody_in(directory: Path) -> None:
    with pytest.raises(ConfigError, match="at least one session"):
        Admission(0, directory=directory)


async def test_who_comes_first_is_seated_first(directory: Path) -> None:
    admission = Admission(1, directory=directory)
    async with AsyncExitStack() as stack:
        first = Guest(admission)
        await first.seated.wait()
        queue = [await stack.enter_async_context(waiting(admission)) for _ in range(4)]
        assert [guest.places for guest in queue] == [[0], [1], [2], [3]]
        await first.leave()
        for number, guest in enumerate(queue):
            await guest.seated.wait()
            assert [other.seated.is_set() for other in queue].count(True) == number + 1
            await guest.leave()
        assert all(guest.places == sorted(set(guest.places), reverse=True) for guest in queue)
        assert first.places == []
    assert os.listdir(directory / "queue") == []


async def test_several_seats_are_given_up_in_any_order(directory: Path) -> None:
    admission = Admission(2, directory=directory)
    one, two = Guest(admission), Guest(admission)
    await one.seated.wait()
    await two.seated.wait()
    async with waiting(admission) as third, waiting(admission) as fourth:
        await two.leave()
        await third.seated.wait()
        assert not fourth.seated.is_set()
        await one.leave()
        await fourth.seated.wait()


async def test_whoever_gives_up_leaves_the_queue(directory: Path) -> None:
    admission = Admission(1, directory=directory)
    first = Guest(admission)
    await first.seated.wait()
    async with waiting(admission) as impatient, waiting(admission) as last:
        assert last.places == [1]
        await impatient.cancel()
        await until(lambda: last.places == [1, 0])
        assert not last.seated.is_set()
        await first.leave()
        await last.seated.wait()


async def test_a_seat_is_free_again_when_a_block_fails(directory: Path) -> None:
    admission = Admission(1, directory=directory)
    with pytest.raises(ZeroDivisionError):
        async with admission.seat():
            raise ZeroDivisionError
    async with admission.seat():
        pass


@pytest.mark.slow
async def test_a_process_gives_its_seat_to_another(directory: Path, holder: Callable[[int], Holder]) -> None:
    other = holder(1)
    assert await other.says() == "seated"
    async with waiting(Admission(1, directory=directory)) as guest:
        assert guest.places == [0]
        late = holder(1)
        assert await late.says() == "waits 1"
        other.leave()
        await guest.seated.wait()
        assert await late.says() == "waits 0"
        await guest.leave()
        assert await late.says() == "seated"


@pytest.mark.slow
async def test_a_killed_process_leaves_its_seat_and_its_place(directory: Path, holder: Callable[[int], Holder]) -> None:
    seated, queued = holder(1), None
    assert await seated.says() == "seated"
    queued = holder(1)
    assert await queued.says() == "waits 0"
    async with waiting(Admission(1, directory=directory)) as guest:
        assert guest.places == [1]
        os.kill(queued.process.pid, signal.SIGKILL)
        await until(lambda: guest.places == [1, 0])
        os.kill(seated.process.pid, signal.SIGKILL)
        await asyncio.wait_for(guest.seated.wait(), 30)


@pytest.mark.slow
async def test_a_crowd_never_takes_more_seats_than_there_are(directory: Path) -> None:
    admission = Admission(3, directory=directory)
    inside, most = 0, 0

    async def visit(number: int) -> None:
        nonlocal inside, most
        async with admission.seat():
            inside += 1
            most = max(most, inside)
            await asyncio.sleep(0.001 * (number % 3))
            inside -= 1

    async with asyncio.timeout(30):
        await asyncio.gather(*map(visit, range(40)))
    assert most == 3


async def test_a_directory_that_cannot_be_used_is_explained(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="HANDRAIL_RUNTIME_DIR"):
        async with Admission(1, directory=tmp_path / "file").seat():
            pass
    (tmp_path / "seats" / "0.pipe").mkdir(parents=True)
    with pytest.raises(SessionError, match="HANDRAIL_RUNTIME_DIR"):
        async with Admission(1, directory=tmp_path / "seats").seat():
            pass

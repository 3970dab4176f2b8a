"""One look at the process table serves all who asked before it began, and nobody who asked after."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Iterator, Mapping

import pytest

from handrail.transports.process_tree import Process
from handrail.transports.scanner import ProcessScanner, shared_scanner

from .support import DEADLINE, eventually


class CountingProcesses:
    """A process table whose single row tells which look it is; looks wait until they are let go."""

    def __init__(self) -> None:
        self.looks = 0
        self.go = threading.Semaphore(0)

    def table(self) -> Mapping[int, Process]:
        self.looks += 1
        look = self.looks
        assert self.go.acquire(timeout=DEADLINE)
        return {look: Process(look, 0, 0, 0.0)}

    def now(self) -> float:
        return 0.0

    def signal(self, process: Process, signum: int) -> bool:
        return True


@pytest.fixture
def processes() -> CountingProcesses:
    return CountingProcesses()


@pytest.fixture
def scanner(processes: CountingProcesses) -> Iterator[ProcessScanner]:
    scanner = ProcessScanner(processes)
    yield scanner
    processes.go.release(10)
    scanner.close()


async def test_a_look_is_shared_by_those_who_asked_before_it_began(
    scanner: ProcessScanner, processes: CountingProcesses
) -> None:
    first = asyncio.create_task(scanner.table())
    await eventually(lambda: processes.looks == 1, "the first look has begun")
    later = [asyncio.create_task(scanner.table()) for _ in range(50)]
    await asyncio.sleep(0)
    processes.go.release(2)
    assert set(await first) == {1}
    assert {look for table in await asyncio.gather(*later) for look in table} == {2}


async def test_who_gives_up_does_not_take_the_look_from_others(
    scanner: ProcessScanner, processes: CountingProcesses
) -> None:
    blocker = asyncio.create_task(scanner.table())
    await eventually(lambda: processes.looks == 1, "the first look has begun")
    impatient, patient = (asyncio.create_task(scanner.table()) for _ in range(2))
    await asyncio.sleep(0)
    impatient.cancel()
    processes.go.release(2)
    await blocker
    assert set(await patient) == {2}


async def test_the_shared_one_sees_this_machine() -> None:
    assert os.getpid() in await shared_scanner().table()
    assert shared_scanner() is shared_scanner()

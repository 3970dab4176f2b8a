"""The locks of a process that is killed: held until what its CLI started is gone, and then free."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from handrail.errors import SessionBusy
from handrail.sessions.owning.locks import SessionLock

DEADLINE = 30.0
PROGRAM = Path(__file__).with_name("lock_holder.py")


class LockHolder(NamedTuple):
    """A process that holds locks, and what it started."""

    process: subprocess.Popen[str]
    supervisor: int
    started: list[int]

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


@pytest.fixture
def directory(tmp_path: Path) -> str:
    return str(tmp_path / "locks")


@pytest.fixture
def holder(request: pytest.FixtureRequest, directory: str) -> Iterator[LockHolder]:
    command = [sys.executable, str(PROGRAM), request.param, directory]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        supervisor, *started = [int(word) for word in process.stdout.readline().split()]
        yield LockHolder(process, supervisor, started)
        process.kill()
    for pid in filter(is_alive, started):
        os.kill(pid, signal.SIGKILL)


def is_alive(pid: int) -> bool:
    shown = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False)
    return shown.stdout.strip()[:1] not in ("", "Z")


def children_of(pid: int) -> set[int]:
    listing = subprocess.run(["ps", "-A", "-o", "pid=,ppid="], capture_output=True, text=True, check=True).stdout
    return {int(child) for child, parent in map(str.split, listing.splitlines()) if int(parent) == pid}


def has_open(pid: int, path: str) -> bool:
    path = os.path.realpath(path)
    if sys.platform == "linux":
        return any(os.path.realpath(link) == path for link in Path(f"/proc/{pid}/fd").glob("*"))
    return path in subprocess.run(["lsof", "-p", str(pid)], capture_output=True, text=True, check=False).stdout


async def eventually(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(DEADLINE):
        while not condition():
            await asyncio.sleep(0.01)


@pytest.mark.slow
@pytest.mark.parametrize("holder", ["child", "fork"], indirect=True)
async def test_neither_a_child_nor_a_fork_keeps_the_lock_of_a_process_that_is_gone(
    holder: LockHolder, directory: str
) -> None:
    with pytest.raises(SessionBusy, match=f"process {holder.process.pid} has the session s1"):
        await SessionLock.take(directory, ["s1"])
    holder.kill()
    lock = await SessionLock.take(directory, ["s1", "c1", "c2"], patience=DEADLINE)
    assert all(map(is_alive, holder.started))
    lock.release()


@pytest.mark.slow
@pytest.mark.parametrize("holder", ["cli", "unsupervised"], indirect=True)
async def test_without_a_supervisor_the_cli_itself_holds_the_lock(holder: LockHolder, directory: str) -> None:
    if holder.supervisor:
        os.kill(holder.process.pid, signal.SIGSTOP)  # so that it does not start another
        os.kill(holder.supervisor, signal.SIGKILL)
    holder.kill()
    cli, server = holder.started
    for name in ("s1", "c1"):
        with pytest.raises(SessionBusy, match="which is gone"):
            await SessionLock.take(directory, [name])
    os.kill(cli, signal.SIGKILL)
    lock = await SessionLock.take(directory, ["s1", "c1"], patience=DEADLINE)
    assert is_alive(server), "what the CLI starts does not keep the lock"
    lock.release()


@pytest.mark.slow
@pytest.mark.parametrize("holder", ["cli"], indirect=True)
async def test_the_lock_is_held_until_everything_that_the_cli_started_is_gone(
    holder: LockHolder, directory: str
) -> None:
    holder.kill()
    for name in ("s1", "c1", "c2"):
        with pytest.raises(SessionBusy, match=r"which is gone, .* try again"):
            await SessionLock.take(directory, [name])
    assert is_alive(holder.started[0])  # it ignores SIGTERM, and has some seconds left
    for name in ("s1", "c1", "c2"):
        lock = await SessionLock.take(directory, [name], patience=DEADLINE)
        assert not any(map(is_alive, holder.started))
        lock.release()


@pytest.mark.slow
@pytest.mark.parametrize("holder", ["cli"], indirect=True)
async def test_a_new_supervisor_gets_the_locks_too(holder: LockHolder, directory: str) -> None:
    old = {holder.supervisor, holder.started[0]}
    file = os.path.join(directory, "c2.lock")
    os.kill(holder.supervisor, signal.SIGKILL)
    await eventually(lambda: any(has_open(pid, file) for pid in children_of(holder.process.pid) - old))
    holder.kill()
    lock = await SessionLock.take(directory, ["c2"], patience=DEADLINE)
    assert not any(map(is_alive, holder.started))
    lock.release()


CONTENDER = """
import asyncio, os, sys
from handrail.sessions.owning.locks import SessionLock
directory, rounds = sys.argv[1], int(sys.argv[2])
async def main():
    for _ in range(rounds):
        lock = await SessionLock.take(directory, ["s1", "c1"], patience=60)
        os.close(os.open(directory + "/mine", os.O_CREAT | os.O_EXCL))  # fails if somebody else is here
        os.unlink(directory + "/mine")
        lock.release()
asyncio.run(main())
"""


@pytest.mark.slow
def test_of_many_processes_one_at_a_time_has_the_lock(directory: str) -> None:
    contenders = [subprocess.Popen([sys.executable, "-c", CONTENDER, directory, "300"]) for _ in range(6)]
    assert [contender.wait(60) for contender in contenders] == [0] * 6
    assert os.listdir(directory) == []

"""Nothing outlives Handrail, even if it is killed; and the supervisor that sees to it does not outlive it either."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from handrail.transports.process_tree import marked_environment, new_marker
from handrail.transports.supervisor import Supervisor

from .support import (
    children_of,
    end,
    is_alive,
    open_descriptors,
    pids_in,
    process_state,
    python,
    wait_until,
)

pytestmark = pytest.mark.slow

SLEEP = "import time; time.sleep(600)"

# A CLI with a detached grandchild, both deaf to the end of their input and to SIGTERM where `argv[1]` says so.
CLI = """
import os, signal, subprocess, sys, time
if sys.argv[1] == "stubborn":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = subprocess.Popen([sys.executable, "-I", "-S", "-c", "import time; time.sleep(600)"], start_new_session=True)
print(os.getpid(), child.pid, flush=True)
while True: time.sleep(600)
"""

# A program that uses Handrail: opens a transport, and writes down all the pids once the CLI has said its own.
HANDRAIL = """
import asyncio, os, sys, time
from handrail.transports.stdio import StdioTransport
from handrail.transports.supervisor import shared_supervisor

class Receiver:
    def data_received(self, data):
        with open(sys.argv[1] + ".new", "w") as file:
            file.write(f"{shared_supervisor().pid} {data.decode()}")
        os.rename(sys.argv[1] + ".new", sys.argv[1])
    def connection_lost(self, exit_code):
        pass

async def main():
    transport = StdioTransport(sys.argv[3:], env={})
    await transport.open(Receiver())
    if sys.argv[2] == "fork" and os.fork() == 0:
        time.sleep(600)
    while not (sys.argv[2] == "leave" and os.path.exists(sys.argv[1])):
        await asyncio.sleep(0.01)

asyncio.run(main())
"""


class Handrail:
    """A program that uses Handrail, in a process of its own."""

    def __init__(self, directory: Path, mode: str, temper: str) -> None:
        self._file = directory / "pids"
        command = [sys.executable, "-c", HANDRAIL, str(self._file), mode, *python(CLI, temper)]
        self.process = subprocess.Popen(command, start_new_session=True)
        wait_until(self._file.exists, "the CLI has started")
        self.supervisor, self.cli, self.grandchild = pids_in(self._file.read_text())

    @property
    def left(self) -> list[int]:
        return [pid for pid in (self.supervisor, self.cli, self.grandchild) if is_alive(pid)]


@pytest.fixture
def handrail(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Handrail]:
    program = Handrail(tmp_path, *request.param)
    yield program
    program.process.kill()
    program.process.wait()
    end(program.left)


@pytest.mark.parametrize(
    "handrail", [("stay", "docile"), pytest.param(("stay", "stubborn"), marks=pytest.mark.slow)], indirect=True
)
def test_when_handrail_is_killed_everything_ends(handrail: Handrail) -> None:
    assert len(handrail.left) == 3
    handrail.process.kill()
    handrail.process.wait()
    wait_until(lambda: not handrail.left, "the CLI, its grandchild and the supervisor have ended")


@pytest.mark.parametrize("handrail", [("leave", "docile")], indirect=True)
def test_when_handrail_forgets_to_close_everything_ends_with_it(handrail: Handrail) -> None:
    handrail.process.wait()
    wait_until(lambda: not handrail.left, "the CLI, its grandchild and the supervisor have ended")


@pytest.mark.parametrize("handrail", [("fork", "docile")], indirect=True)
def test_a_forked_process_does_not_keep_the_supervisor_waiting(handrail: Handrail) -> None:
    handrail.process.kill()
    handrail.process.wait()
    try:
        wait_until(lambda: not handrail.left, "the CLI, its grandchild and the supervisor have ended")
    finally:
        os.killpg(handrail.process.pid, signal.SIGKILL)  # the fork


@pytest.mark.parametrize("handrail", [("stay", "docile")], indirect=True)
def test_a_supervisor_that_was_killed_is_replaced(handrail: Handrail) -> None:
    os.kill(handrail.supervisor, signal.SIGKILL)
    wait_until(lambda: handrail.supervisor not in children_of(handrail.process.pid), "it is reaped")
    (handrail.supervisor,) = wait_for_children(handrail, 2) - {handrail.cli}
    assert is_alive(handrail.cli)
    handrail.process.kill()
    handrail.process.wait()
    wait_until(lambda: not handrail.left, "the CLI, its grandchild and the new supervisor have ended")


def wait_for_children(handrail: Handrail, count: int) -> set[int]:
    wait_until(lambda: len(children_of(handrail.process.pid)) == count, f"there are {count} children")
    return children_of(handrail.process.pid)


def test_handrail_leaves_nothing_and_warns_of_nothing_when_it_exits_in_order(tmp_path: Path) -> None:
    program = f"""
import asyncio, sys
from handrail.transports.stdio import StdioTransport
from handrail.transports.supervisor import shared_supervisor
class Receiver:
    def data_received(self, data): pass
    def connection_lost(self, exit_code): pass
async def main():
    transport = StdioTransport({python(SLEEP)!r}, env={{}}, eof_grace=0.0)
    await transport.open(Receiver())
    await transport.close()
    print(shared_supervisor().pid)
asyncio.run(main())
"""
    finished = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert finished.stderr == ""
    wait_until(lambda: not is_alive(int(finished.stdout)), "the supervisor has ended")


@pytest.fixture
def supervisor() -> Iterator[Supervisor]:
    supervisor = Supervisor()
    yield supervisor
    supervisor.close()


@pytest.fixture
def marked() -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    marker = new_marker()
    environment = marked_environment({}, marker)
    with subprocess.Popen(python(SLEEP), env=environment, start_new_session=True) as process:
        yield marker, process
        process.kill()


def test_it_starts_with_the_first_marker(supervisor: Supervisor) -> None:
    assert supervisor.pid is None
    supervisor.register(new_marker())
    assert supervisor.pid is not None
    assert is_alive(supervisor.pid)


def test_what_is_registered_ends_with_it(supervisor: Supervisor, marked: tuple[str, subprocess.Popen[bytes]]) -> None:
    marker, process = marked
    supervisor.register(marker)
    supervisor.close()
    assert process.wait(timeout=30) == -signal.SIGTERM
    assert supervisor.pid is None


def test_what_was_unregistered_stays(supervisor: Supervisor, marked: tuple[str, subprocess.Popen[bytes]]) -> None:
    marker, process = marked
    supervisor.register(marker)
    supervisor.unregister(marker)
    supervisor.close()
    assert is_alive(process.pid)


def test_it_can_be_used_again_after_it_was_closed(
    supervisor: Supervisor, marked: tuple[str, subprocess.Popen[bytes]]
) -> None:
    marker, process = marked
    supervisor.register(new_marker())
    supervisor.close()
    supervisor.register(marker)
    supervisor.close()
    assert process.wait(timeout=30) == -signal.SIGTERM


def test_it_leaves_no_descriptor_and_no_zombie() -> None:
    descriptors, children = open_descriptors(), children_of(os.getpid())
    supervisor = Supervisor()
    supervisor.register(new_marker())
    supervisor.close()
    assert open_descriptors() == descriptors
    assert children_of(os.getpid()) == children


def test_it_holds_no_descriptor_of_ours(supervisor: Supervisor) -> None:
    read_end, write_end = os.pipe()
    os.set_inheritable(write_end, True)
    supervisor.register(new_marker())
    os.close(write_end)
    assert os.read(read_end, 1) == b""  # would block if the supervisor had inherited it
    os.close(read_end)


def test_its_environment_holds_no_secret_and_no_marker(supervisor: Supervisor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HANDRAIL_TOKEN", "a-secret")
    monkeypatch.setenv("HANDRAIL_PROCESS", "a-marker")
    supervisor.register(new_marker())
    wait_until(lambda: "supervisor_main" in command_and_environment(supervisor), "it has started")
    shown = command_and_environment(supervisor)
    assert "PATH=" in shown
    assert "a-secret" not in shown
    assert "a-marker" not in shown


def command_and_environment(supervisor: Supervisor) -> str:
    listing = ["ps", "-Eww"] if sys.platform == "darwin" else ["ps", "eww"]
    command = [*listing, "-p", str(supervisor.pid)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def ignores(pid: int, signum: int) -> bool:
    shown = subprocess.run(["ps", "-o", "ignored=", "-p", str(pid)], capture_output=True, text=True, check=True)
    return bool(int(shown.stdout, 16) >> (signum - 1) & 1)


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signals_meant_for_handrail_do_not_stop_it(
    supervisor: Supervisor, marked: tuple[str, subprocess.Popen[bytes]], signum: int
) -> None:
    marker, process = marked
    supervisor.register(marker)
    pid = supervisor.pid
    assert pid is not None
    assert os.getsid(pid) == pid
    wait_until(lambda: ignores(pid, signum), "it has started")
    os.kill(pid, signum)
    supervisor.register(new_marker())
    assert supervisor.pid == pid
    supervisor.close()
    assert process.wait(timeout=30) == -signal.SIGTERM


def test_its_death_is_noticed_and_it_is_started_again_with_every_marker(
    supervisor: Supervisor, marked: tuple[str, subprocess.Popen[bytes]]
) -> None:
    marker, process = marked
    supervisor.register(marker)
    first = supervisor.pid
    assert first is not None
    os.kill(first, signal.SIGKILL)
    wait_until(lambda: supervisor.pid not in (None, first), "there is another")
    assert is_alive(process.pid)
    supervisor.close()
    assert process.wait(timeout=30) == -signal.SIGTERM


def test_one_that_hangs_is_replaced(supervisor: Supervisor, marked: tuple[str, subprocess.Popen[bytes]]) -> None:
    marker, process = marked
    supervisor.register(marker)
    first = supervisor.pid
    assert first is not None
    os.kill(first, signal.SIGSTOP)
    for _ in range(10_000):  # more than a pipe holds
        supervisor.register(other := new_marker())
        supervisor.unregister(other)
    assert supervisor.pid != first
    wait_until(lambda: process_state(first) == "", "the first is gone")
    assert is_alive(process.pid)
    supervisor.close()
    assert process.wait(timeout=30) == -signal.SIGTERM


def test_many_markers_reach_a_new_one(supervisor: Supervisor, marked: tuple[str, subprocess.Popen[bytes]]) -> None:
    marker, process = marked
    for _ in range(5_000):
        supervisor.register(new_marker())
    supervisor.register(marker)
    first = supervisor.pid
    assert first is not None
    os.kill(first, signal.SIGKILL)
    wait_until(lambda: supervisor.pid not in (None, first), "there is another")
    supervisor.close()
    assert process.wait(timeout=30) == -signal.SIGTERM


def test_one_that_cannot_run_is_given_up_with_a_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, logger="handrail.supervisor")
    supervisor = Supervisor(str(tmp_path / "missing.py"))
    supervisor.register(new_marker())
    wait_until(lambda: "no supervisor" in caplog.text, "there is a warning")
    supervisor.register(new_marker())
    assert supervisor.pid is None
    supervisor.close()


def test_without_an_interpreter_there_is_a_warning(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    supervisor = Supervisor()
    supervisor.register(new_marker())
    supervisor.unregister(new_marker())
    supervisor.close()
    assert "will run on" in caplog.text


def test_a_frozen_application_is_not_started_a_second_time(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    supervisor = Supervisor()
    supervisor.register(new_marker())
    assert supervisor.pid is None
    assert "frozen" in caplog.text


class Held:
    """A pipe whose write end the supervisor is to hold: the read end shows whether it does."""

    def __init__(self) -> None:
        self._read_end, self.descriptor = os.pipe()
        os.set_blocking(self._read_end, False)

    def let_go(self) -> None:
        """Close our own copy."""
        os.close(self.descriptor)

    @property
    def by_somebody(self) -> bool:
        try:
            return os.read(self._read_end, 1) != b""
        except BlockingIOError:
            return True

    def close(self) -> None:
        os.close(self._read_end)


@pytest.fixture
def held() -> Iterator[list[Held]]:
    things = [Held() for _ in range(3)]
    yield things
    for thing in things:
        thing.close()


def test_what_it_holds_stays_open_until_it_is_unregistered(supervisor: Supervisor, held: list[Held]) -> None:
    first, second, third = held
    markers = new_marker(), new_marker()
    supervisor.register(markers[0], [first.descriptor])
    supervisor.register(markers[1], [second.descriptor])
    supervisor.hold(markers[0], third.descriptor)
    for thing in held:
        thing.let_go()
    assert [thing.by_somebody for thing in held] == [True, True, True]
    supervisor.unregister(markers[0])
    wait_until(lambda: not first.by_somebody and not third.by_somebody, "the supervisor has let them go")
    assert second.by_somebody


def test_what_it_holds_is_let_go_after_everything_has_ended(
    supervisor: Supervisor, marked: tuple[str, subprocess.Popen[bytes]], held: list[Held]
) -> None:
    marker, process = marked
    supervisor.register(marker, [held[0].descriptor])
    for thing in held:
        thing.let_go()
    supervisor.close()
    assert process.poll() is not None
    assert not held[0].by_somebody


def test_another_one_holds_the_same(supervisor: Supervisor, held: list[Held]) -> None:
    marker = new_marker()
    supervisor.register(marker, [thing.descriptor for thing in held for _ in range(30)])
    for thing in held:
        thing.let_go()
    first = supervisor.pid
    assert first is not None
    os.kill(first, signal.SIGKILL)
    wait_until(lambda: supervisor.pid not in (None, first), "there is another")
    pid = supervisor.pid
    wait_until(lambda: descriptors_of(pid) >= 90, "it has all of them")
    supervisor.unregister(marker)
    wait_until(lambda: not any(thing.by_somebody for thing in held), "it has let them go")
    assert supervisor.pid == pid


def descriptors_of(pid: int | None) -> int:
    if sys.platform == "linux":
        return len(os.listdir(f"/proc/{pid}/fd"))
    listing = subprocess.run(["lsof", "-p", str(pid)], capture_output=True, text=True, check=True)
    return len(listing.stdout.splitlines())


def test_nothing_is_held_for_a_marker_that_is_not_registered(supervisor: Supervisor, held: list[Held]) -> None:
    supervisor.register(marker := new_marker())
    supervisor.hold(new_marker(), held[0].descriptor)
    supervisor.unregister(marker)
    supervisor.hold(marker, held[1].descriptor)
    for thing in held:
        thing.let_go()
    assert not any(thing.by_somebody for thing in held)

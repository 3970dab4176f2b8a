"""What a killed Handrail left behind is ended, and nothing else is."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping

import pytest

from handrail.errors import SessionError
from handrail.sessions.owning.reaping import process_started, reap
from handrail.store.base import StartRow
from handrail.transports.process_tree import MARKER_VARIABLE, Process, marked_environment, new_marker, system_processes

SLEEP = "import time; time.sleep(600)"

# A CLI that has a child in a session of its own and one that keeps the marker but not the parent; says all pids.
TREE = """
import os, subprocess, sys, time
sleep = [sys.executable, "-I", "-S", "-c", "import time; time.sleep(600)"]
child = subprocess.Popen(sleep, start_new_session=True)
go_between = "import subprocess, sys; print(subprocess.Popen(sys.argv[1:], start_new_session=True, stdout=2).pid)"
orphan = subprocess.check_output([sys.executable, "-I", "-S", "-c", go_between, *sleep])
bare = subprocess.Popen(sleep, env={})
print(os.getpid(), child.pid, int(orphan), bare.pid, flush=True)
if sys.argv[1] == "leave": os._exit(0)
time.sleep(600)
"""


class Tree:
    """Processes that carry a marker, as a CLI and what it starts do."""

    def __init__(self, program: str, *arguments: str) -> None:
        self.marker = new_marker()
        self.process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", program, *arguments],
            env=marked_environment({}, self.marker),
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self.started = process_started(self.process.pid)
        self.pids = [self.process.pid]
        while self.process.poll() is None and not self._is_marked():
            pass  # for a moment after it was started, a process has no environment to look at

    def _is_marked(self) -> bool:
        process = system_processes().table().get(self.process.pid)
        return process is not None and self.marker in process.markers

    def read_pids(self) -> list[int]:
        assert self.process.stdout is not None
        self.pids = [int(word) for word in self.process.stdout.readline().split()]
        return self.pids

    @property
    def row(self) -> StartRow:
        return StartRow(at=0.0, why="new", pid=self.process.pid, process_started=self.started, marker=self.marker)

    def end(self) -> None:
        with self.process:
            self.process.kill()
        for pid in self.pids[1:]:
            if is_alive(pid):
                os.kill(pid, signal.SIGKILL)


def is_alive(pid: int) -> bool:
    shown = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False)
    return shown.stdout.strip()[:1] not in ("", "Z")


@pytest.fixture
def trees() -> Iterator[list[Tree]]:
    made: list[Tree] = []
    yield made
    for tree in made:
        tree.end()


@pytest.mark.slow
async def test_a_whole_tree_is_ended_wherever_its_processes_have_moved(trees: list[Tree]) -> None:
    trees.append(tree := Tree(TREE, "stay"))
    pids = tree.read_pids()
    assert all(map(is_alive, pids))
    assert await reap([tree.row]) == []
    assert not any(map(is_alive, pids))


@pytest.mark.slow
async def test_what_an_exited_cli_left_is_ended(trees: list[Tree]) -> None:
    trees.append(tree := Tree(TREE, "leave"))
    leader, child, orphan, _ = tree.read_pids()
    assert tree.process.wait(30) == 0
    assert await reap([tree.row]) == []
    assert not any(map(is_alive, (leader, child, orphan)))


@pytest.mark.slow
async def test_what_ignores_sigterm_is_killed(trees: list[Tree]) -> None:
    trees.append(tree := Tree(f"import signal; signal.signal(15, signal.SIG_IGN); print(0, flush=True); {SLEEP}"))
    assert tree.process.stdout is not None
    tree.process.stdout.readline()
    assert await reap([tree.row], term_grace=0.1) == []
    assert tree.process.wait(30) == -signal.SIGKILL


async def test_several_trees_are_ended_and_the_others_stay(trees: list[Tree]) -> None:
    trees += [Tree(SLEEP) for _ in range(3)]
    first, second, other = trees
    assert await reap([first.row, second.row]) == []
    assert [is_alive(tree.process.pid) for tree in trees] == [False, False, True]
    assert other.process.poll() is None


async def test_a_pid_that_is_anothers_by_now_is_left_alone(trees: list[Tree]) -> None:
    trees.append(stranger := Tree(SLEEP))
    reused = StartRow(
        at=0.0, why="new", pid=stranger.process.pid, process_started=stranger.started, marker=new_marker()
    )
    assert await reap([reused]) == []
    assert is_alive(stranger.process.pid)


async def test_a_process_that_is_older_than_the_cli_is_not_its_own(trees: list[Tree]) -> None:
    trees.append(stranger := Tree(SLEEP))
    assert stranger.started is not None
    later = StartRow(at=0.0, why="new", pid=1, process_started=stranger.started + 60.0, marker=stranger.marker)
    assert await reap([later]) == []
    assert is_alive(stranger.process.pid)


async def test_a_start_without_a_marker_ends_nothing(trees: list[Tree]) -> None:
    trees.append(stranger := Tree(SLEEP))
    assert await reap([StartRow(at=0.0, why="new", pid=stranger.process.pid)]) == []
    assert await reap([]) == []
    assert is_alive(stranger.process.pid)


async def test_nothing_is_touched_from_inside_the_tree(trees: list[Tree], monkeypatch: pytest.MonkeyPatch) -> None:
    trees.append(tree := Tree(SLEEP))
    monkeypatch.setenv(MARKER_VARIABLE, f"outer:{tree.marker}")
    assert [left.pid for left in await reap([tree.row])] == [tree.process.pid]
    assert is_alive(tree.process.pid)


class Unsignalable:
    """A machine with one process that may not be signalled."""

    def table(self) -> Mapping[int, Process]:
        return {4711: Process(4711, 1, 4711, 10.0, ("m",))}

    def now(self) -> float:
        return 20.0

    def signal(self, process: Process, signum: int) -> bool:
        return False


async def test_what_could_not_be_ended_is_told() -> None:
    row = StartRow(at=0.0, why="new", pid=4711, process_started=10.0, marker="m")
    assert [left.pid for left in await reap([row], term_grace=0.0, processes=Unsignalable())] == [4711]


class Blind(Unsignalable):
    def table(self) -> Mapping[int, Process]:
        raise OSError("no process table")


async def test_a_machine_that_cannot_be_looked_at_is_a_clear_error() -> None:
    with pytest.raises(SessionError, match="cannot be seen"):
        await reap([StartRow(at=0.0, why="new", marker="m")], processes=Blind())


def test_the_start_of_a_process_is_known_while_it_lives(trees: list[Tree]) -> None:
    trees.append(tree := Tree(SLEEP))
    own = process_started(os.getpid())
    assert tree.started is not None
    assert own is not None
    assert own <= tree.started
    tree.process.kill()
    tree.process.wait()
    assert process_started(tree.process.pid) is None

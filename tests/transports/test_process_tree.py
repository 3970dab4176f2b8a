"""Which processes belong to a tree, how it is ended, and what this machine shows of it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.transports.process_tree import (
    MARKER_VARIABLE,
    Ending,
    Process,
    Processes,
    ProcessTree,
    ProcfsProcesses,
    PsProcesses,
    end_tree,
    marked_environment,
    new_marker,
)

from .support import is_alive, process_state, python, wait_until

MARKER = "ours"
LEADER = 100
STRANGER = 50


@dataclass
class Machine:
    """Processes that fork, move, exit and get new pids, as on a real machine, and what became of the CLI's."""

    clock: float = 0.0
    processes: dict[int, Process] = field(default_factory=dict)
    ours: set[int] = field(default_factory=set)
    leader_reaped: float | None = None

    def __post_init__(self) -> None:
        self.processes[STRANGER] = Process(STRANGER, 1, STRANGER, self.clock)
        self.processes[LEADER] = Process(LEADER, 1, LEADER, self.clock, (MARKER,))
        self.ours.add(LEADER)

    def pick(self, number: int) -> Process | None:
        living = sorted(self.processes)
        return self.processes[living[number % len(living)]] if living else None

    def fork(self, parent: Process, *, keeps_marker: bool = True) -> Process:
        child = Process(self._free_pid(), parent.pid, parent.sid, self.clock, parent.markers if keeps_marker else ())
        self.processes[child.pid] = child
        if parent.pid in self.ours:
            self.ours.add(child.pid)
        return child

    def leave_session(self, process: Process) -> None:
        self.processes[process.pid] = process._replace(sid=process.pid)

    def exit(self, process: Process) -> None:
        del self.processes[process.pid]
        self.ours.discard(process.pid)
        if process.pid == LEADER and self.leader_reaped is None:
            self.leader_reaped = self.clock
        for child in list(self.processes.values()):
            if child.ppid == process.pid:
                self.processes[child.pid] = child._replace(ppid=1)

    def _free_pid(self) -> int:
        """The lowest pid that no process has and no session is named after: pids are reused as soon as they can be."""
        taken = self.processes.keys() | {process.sid for process in self.processes.values()}
        return next(pid for pid in range(LEADER, 10_000) if pid not in taken)


EVENTS = st.lists(
    st.tuples(
        st.sampled_from(["fork", "fork", "fork without marker", "leave session", "exit", "look"]),
        st.integers(0, 20),
    ),
    max_size=40,
)


def play(machine: Machine, events: list[tuple[str, int]], tree: ProcessTree) -> Iterator[list[Process]]:
    """Let things happen; yields what the tree says whenever somebody looks."""
    for event, number in [*events, ("look", 0)]:
        machine.clock += 10.0
        chosen = machine.pick(number)
        if event == "look":
            yield tree.members(dict(machine.processes))
        elif chosen is not None and event == "leave session":
            machine.leave_session(chosen)
        elif chosen is not None and event == "exit":
            machine.exit(chosen)
            if chosen.pid == LEADER and machine.leader_reaped == machine.clock:
                tree.leader_ended(machine.clock)
        elif chosen is not None:
            machine.fork(chosen, keeps_marker=event == "fork")


def tree_of_leader() -> ProcessTree:
    tree = ProcessTree([MARKER])
    tree.led_by(LEADER)
    return tree


class TestMembership:
    @given(EVENTS)
    def test_no_stranger_is_ever_a_member(self, events: list[tuple[str, int]]) -> None:
        machine = Machine()
        for members in play(machine, events, tree_of_leader()):
            assert {member.pid for member in members} <= machine.ours

    @given(EVENTS)
    def test_whoever_kept_the_marker_is_a_member(self, events: list[tuple[str, int]]) -> None:
        machine = Machine()
        for members in play(machine, events, tree_of_leader()):
            marked = {pid for pid in machine.ours if machine.processes[pid].markers}
            assert marked <= {member.pid for member in members}

    @given(EVENTS)
    def test_who_was_a_member_stays_one(self, events: list[tuple[str, int]]) -> None:
        machine = Machine()
        seen: set[tuple[int, float]] = set()
        for members in play(machine, events, tree_of_leader()):
            living = {process.identity for process in machine.processes.values()}
            assert seen & living <= {member.identity for member in members}
            seen |= {member.identity for member in members}

    def test_a_child_without_marker_is_found_by_its_parent(self) -> None:
        machine = Machine()
        child = machine.fork(machine.processes[LEADER], keeps_marker=False)
        machine.leave_session(child)
        assert [member.pid for member in tree_of_leader().members(machine.processes)] == [LEADER, child.pid]

    def test_an_orphan_without_marker_is_found_by_its_session(self) -> None:
        machine, tree = Machine(), tree_of_leader()
        orphan = machine.fork(machine.processes[LEADER], keeps_marker=False)
        machine.exit(machine.processes[LEADER])
        tree.leader_ended(machine.clock)
        assert [member.pid for member in tree.members(machine.processes)] == [orphan.pid]

    def test_a_later_session_with_the_leaders_pid_is_not_ours(self) -> None:
        tree = tree_of_leader()
        tree.leader_ended(20.0)
        assert tree.members({LEADER: Process(LEADER, 1, LEADER, 30.0)}) == []
        assert tree.members({102: Process(102, 1, LEADER, 30.0)}) == []

    def test_markers_of_handrails_around_us_count_too(self) -> None:
        nested = Process(200, 1, 200, 0.0, ("outer", "inner"))
        assert ProcessTree(["outer"]).members({200: nested}) == [nested]
        assert ProcessTree(["inner"]).members({200: nested}) == [nested]

    def test_neither_we_nor_init_are_ever_members(self) -> None:
        table = {pid: Process(pid, 1, pid, 0.0, (MARKER,)) for pid in (0, 1, os.getpid())}
        assert ProcessTree([MARKER]).members(table) == []

    def test_our_own_session_is_never_adopted(self) -> None:
        """Even if somebody in it carries the marker by accident."""
        us = os.getsid(0)
        table = {pid: Process(pid, 1, us, 0.0) for pid in (7_000_001, 7_000_002)}
        table[7_000_003] = Process(7_000_003, 1, us, 0.0, (MARKER,))
        assert [member.pid for member in ProcessTree([MARKER]).members(table)] == [7_000_003]


@dataclass
class Behaviour:
    """What a simulated process does when it is told to stop."""

    dies_after_term: float | None
    forks_when_told: int
    may_be_signalled: bool = True


BEHAVIOURS = st.builds(
    Behaviour,
    dies_after_term=st.one_of(st.none(), st.floats(0.0, 8.0)),
    forks_when_told=st.integers(0, 2),
    may_be_signalled=st.sampled_from([True, True, True, False]),
)


@dataclass
class Simulation(Machine):
    """A machine whose processes react to signals."""

    behaviours: dict[int, Behaviour] = field(default_factory=dict)
    deaths: dict[int, float] = field(default_factory=dict)
    signals: list[tuple[float, Process, int]] = field(default_factory=list)

    def populate(self, behaviours: list[Behaviour]) -> None:
        for number, behaviour in enumerate(behaviours):
            child = self.fork(self.processes[LEADER])
            if number % 2:
                self.leave_session(child)
            self.behaviours[child.pid] = behaviour

    def signal(self, target: Process, signum: int) -> bool:
        self.signals.append((self.clock, target, signum))
        behaviour = self.behaviours.get(target.pid, Behaviour(dies_after_term=0.0, forks_when_told=0))
        if not behaviour.may_be_signalled:
            return False
        if signum == signal.SIGKILL:
            self.deaths.pop(target.pid, None)
            self.exit(self.processes[target.pid])
        else:
            self._told_to_stop(target, behaviour)
        return True

    def _told_to_stop(self, target: Process, behaviour: Behaviour) -> None:
        for _ in range(behaviour.forks_when_told):
            child = self.fork(target)
            self.behaviours[child.pid] = Behaviour(behaviour.dies_after_term, 0)
        if behaviour.dies_after_term is not None:
            self.deaths[target.pid] = self.clock + behaviour.dies_after_term

    def pass_time(self, seconds: float) -> None:
        self.clock += seconds
        for pid in [pid for pid, when in self.deaths.items() if when <= self.clock]:
            del self.deaths[pid]
            self.exit(self.processes[pid])


class TestEnding:
    TERM_GRACE = 5.0

    def run(self, simulation: Simulation) -> Ending:
        tree = tree_of_leader()
        ending = Ending(tree, term_grace=self.TERM_GRACE, kill_patience=5.0)
        for _ in range(1000):
            step = ending.step(dict(simulation.processes), simulation.clock)
            for target in step.targets:
                if not simulation.signal(target, step.signum):
                    tree.give_up_on(target)
            if step.pause is None:
                return ending
            assert 0 < step.pause <= 0.1
            simulation.pass_time(step.pause)
        raise AssertionError("it does not come to an end")

    @given(st.lists(BEHAVIOURS, max_size=6))
    def test_everybody_is_gone_at_the_end_but_strangers(self, behaviours: list[Behaviour]) -> None:
        simulation = Simulation()
        simulation.populate(behaviours)
        unreachable = {pid for pid, behaviour in simulation.behaviours.items() if not behaviour.may_be_signalled}
        ending = self.run(simulation)
        assert simulation.processes.keys() == {STRANGER} | unreachable
        assert ending.survivors == []
        assert STRANGER not in {target.pid for _, target, _ in simulation.signals}

    @given(st.lists(BEHAVIOURS, max_size=6))
    def test_sigterm_comes_once_and_first_and_sigkill_after_the_grace(self, behaviours: list[Behaviour]) -> None:
        simulation = Simulation()
        simulation.populate(behaviours)
        self.run(simulation)
        for identity in {target.identity for _, target, _ in simulation.signals}:
            history = [(when, signum) for when, target, signum in simulation.signals if target.identity == identity]
            terms = [when for when, signum in history if signum == signal.SIGTERM]
            kills = [when for when, signum in history if signum == signal.SIGKILL]
            assert len(terms) <= 1
            assert all(when >= self.TERM_GRACE for when in kills)

    def test_a_process_that_cannot_be_killed_is_given_up_in_the_end(self) -> None:
        ending = Ending(tree_of_leader(), term_grace=1.0, kill_patience=2.0)
        table = {LEADER: Process(LEADER, 1, LEADER, 0.0, (MARKER,))}
        clock, signals = 0.0, []
        while (step := ending.step(table, clock)).pause is not None:
            signals.append(step.signum)
            clock += step.pause
        assert [process.pid for process in ending.survivors] == [LEADER]
        assert signal.SIGKILL in signals
        assert clock == pytest.approx(3.0, abs=0.2)

    def test_nobody_must_be_there_for_a_while(self) -> None:
        ending = Ending(tree_of_leader(), term_grace=1.0, settle=0.3)
        assert ending.step({}, 10.0).pause is not None
        assert ending.step({}, 10.2).pause is not None
        assert ending.step({}, 10.3).pause is None

    def test_a_latecomer_is_ended_too(self) -> None:
        latecomer = Process(LEADER, 1, LEADER, 0.0, (MARKER,))
        ending = Ending(tree_of_leader(), term_grace=1.0, settle=0.3)
        ending.step({}, 10.0)
        assert ending.step({LEADER: latecomer}, 10.2).targets == [latecomer]
        assert ending.step({}, 10.4).pause is not None
        assert ending.step({}, 10.8).pause is None

    @given(st.floats(0.0, 3.0))
    def test_the_wait_for_latecomers_ends(self, settle: float) -> None:
        ending = Ending(tree_of_leader(), term_grace=1.0, settle=settle)
        clock, looks = 0.0, 0
        while (step := ending.step({}, clock)).pause is not None:
            clock += step.pause
            looks += 1
        assert looks < 60
        assert clock == pytest.approx(settle, abs=0.01)


SLEEP = "import time; print('ready', flush=True); time.sleep(600)"


@pytest.fixture(params=[ProcfsProcesses, PsProcesses])
def processes(request: pytest.FixtureRequest) -> Processes:
    if request.param is ProcfsProcesses and sys.platform != "linux":
        pytest.skip("only Linux has /proc")
    return request.param()


@pytest.fixture
def marker() -> str:
    return new_marker()


@pytest.fixture
def sleeper(marker: str) -> Iterator[subprocess.Popen[bytes]]:
    environment = marked_environment({"FIRST": "1", "PATH": os.defpath}, marker)
    command = python(SLEEP, "an argument (with) parentheses\nand a line break")
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, start_new_session=True) as child:
        assert child.stdout is not None
        child.stdout.readline()
        yield child
        child.kill()


class TestThisMachine:
    """The same through /proc and through `ps`."""

    def test_a_process_is_seen_as_it_is(
        self, processes: Processes, sleeper: subprocess.Popen[bytes], marker: str
    ) -> None:
        seen = processes.table()[sleeper.pid]
        assert seen.pid == seen.sid == sleeper.pid
        assert seen.ppid == os.getpid()
        assert marker in seen.markers
        assert -5 < processes.now() - seen.started < 60

    def test_we_are_in_the_table_ourselves(self, processes: Processes) -> None:
        assert processes.table()[os.getpid()].ppid == os.getppid()

    def test_a_zombie_is_not(self, processes: Processes, sleeper: subprocess.Popen[bytes]) -> None:
        os.kill(sleeper.pid, signal.SIGKILL)
        wait_until(lambda: process_state(sleeper.pid).startswith("Z"), "it is a zombie")
        assert sleeper.pid not in processes.table()

    def test_start_times_agree_from_look_to_look(
        self, processes: Processes, sleeper: subprocess.Popen[bytes], marker: str
    ) -> None:
        tree = ProcessTree([marker])
        tree.members(processes.table())
        without_markers = {pid: process._replace(markers=()) for pid, process in processes.table().items()}
        assert [member.pid for member in tree.members(without_markers)] == [sleeper.pid]

    def test_a_tree_is_ended(self, processes: Processes, sleeper: subprocess.Popen[bytes], marker: str) -> None:
        assert end_tree(processes, ProcessTree([marker]), term_grace=10.0) == []
        assert sleeper.wait(timeout=10) == -signal.SIGTERM

    def test_a_tree_is_killed_at_once_without_grace(
        self, processes: Processes, sleeper: subprocess.Popen[bytes], marker: str
    ) -> None:
        assert end_tree(processes, ProcessTree([marker]), term_grace=0.0) == []
        assert sleeper.wait(timeout=10) == -signal.SIGKILL

    def test_nobody_else_is_touched(self, processes: Processes, sleeper: subprocess.Popen[bytes]) -> None:
        assert end_tree(processes, ProcessTree([new_marker()]), term_grace=0.0) == []
        assert is_alive(sleeper.pid)

    @pytest.mark.parametrize("pid", [0, -1, 1, os.getpid()], ids=["group", "everybody", "init", "ourselves"])
    def test_pids_that_mean_everybody_or_ourselves_are_refused(self, processes: Processes, pid: int) -> None:
        assert processes.signal(Process(pid, 0, 0, 0.0), signal.SIGKILL) is False

    def test_signalling_a_process_that_is_gone_is_no_failure(
        self, processes: Processes, sleeper: subprocess.Popen[bytes]
    ) -> None:
        seen = processes.table()[sleeper.pid]
        sleeper.kill()
        sleeper.wait()
        assert processes.signal(seen, signal.SIGTERM) is True


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has /proc")
class TestPidReuse:
    """Elsewhere nothing tells one bearer of a pid from the next but a look at the table just before."""

    def test_another_process_with_the_same_pid_is_spared(self, sleeper: subprocess.Popen[bytes]) -> None:
        processes = ProcfsProcesses()
        seen = processes.table()[sleeper.pid]
        assert processes.signal(seen._replace(started=seen.started - 100), signal.SIGKILL) is True
        assert is_alive(sleeper.pid)

    def test_the_same_where_pidfds_are_forbidden(
        self, sleeper: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def refuse(pid: int) -> int:
            raise PermissionError

        monkeypatch.setattr(os, "pidfd_open", refuse)
        processes = ProcfsProcesses()
        seen = processes.table()[sleeper.pid]
        assert processes.signal(seen._replace(started=seen.started - 100), signal.SIGKILL) is True
        assert is_alive(sleeper.pid)
        assert processes.signal(seen, signal.SIGKILL) is True
        assert sleeper.wait(timeout=10) == -signal.SIGKILL

    def test_processes_older_than_asked_for_have_no_markers(
        self, sleeper: subprocess.Popen[bytes], marker: str
    ) -> None:
        started = ProcfsProcesses().table()[sleeper.pid].started
        assert marker in ProcfsProcesses(since=started).table()[sleeper.pid].markers
        assert ProcfsProcesses(since=started + 1).table()[sleeper.pid].markers == ()


class TestPsOutput:
    """Rows as different systems print them."""

    def rows(self, tmp_path_factory: pytest.TempPathFactory, text: str) -> Mapping[int, Process]:
        listing = tmp_path_factory.mktemp("ps") / "listing"
        listing.write_text(text)
        return PsProcesses(["sh", "-c", f"cat {listing}", "ps"]).table()

    def test_macos(self, tmp_path_factory: pytest.TempPathFactory) -> None:
        table = self.rows(
            tmp_path_factory,
            "    1     0 Ss   Sat Nov  1 08:00:00 2025     /sbin/launchd\n"
            "70869     1 S+   Sat Nov 15 20:41:00 2025     node /opt/cli.js --flag HOME=/Users/x "
            f"{MARKER_VARIABLE}=outer:inner PATH=/bin\n"
            "70870 70869 Z    Sat Nov 15 20:41:01 2025     (sh)\n",
        )
        assert table.keys() == {1, 70869}
        assert table[70869].ppid == 1
        assert table[70869].started == 1763239260.0
        assert table[70869].markers == ("outer", "inner")
        assert table[1].markers == ()

    def test_the_environment_wins_over_arguments(self, tmp_path_factory: pytest.TempPathFactory) -> None:
        table = self.rows(
            tmp_path_factory,
            f"7 1 S Sat Nov 15 20:41:00 2025 env {MARKER_VARIABLE}=argument sh {MARKER_VARIABLE}=environment\n",
        )
        assert table[7].markers == ("environment",)

    def test_lines_that_are_no_rows_are_passed_over(self, tmp_path_factory: pytest.TempPathFactory) -> None:
        table = self.rows(tmp_path_factory, "\nsomething else\n7 1 S Sat Nov 15 20:41:00 2025\n7 1 S Foo\n")
        assert table.keys() == {7}

    def test_a_failing_ps_is_an_error_not_an_empty_machine(self) -> None:
        with pytest.raises(OSError, match="cannot be read"):
            PsProcesses(["false"]).table()
        with pytest.raises(OSError):
            PsProcesses(["/nowhere/ps"]).table()


def test_markers_are_added_to_those_we_were_started_with(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(MARKER_VARIABLE, raising=False)
    assert marked_environment({"A": "1"}, "x") == {"A": "1", MARKER_VARIABLE: "x"}
    monkeypatch.setenv(MARKER_VARIABLE, "outer")
    assert marked_environment({}, "x") == {MARKER_VARIABLE: "outer:x"}


def test_markers_are_all_different() -> None:
    assert len({new_marker() for _ in range(100)}) == 100

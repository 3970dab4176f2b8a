"""Find and end every process that a CLI started, wherever those processes have moved.

A CLI is started as the leader of a session of its own, with a random marker in its environment. A process
belongs to its tree if it carries the marker, sits in a session that a member sits in, has a member as its
parent, or was a member when we looked before. (Sessions contain process groups, so a child that only changed
its group needs no rule of its own.)

Standard library only, and light to import: the supervisor runs this file without the rest of Handrail.
"""

from __future__ import annotations

import os
import re
import signal
import sys
import time
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

__all__ = [
    "MARKER_VARIABLE",
    "Ending",
    "Process",
    "ProcessTree",
    "Processes",
    "ProcfsProcesses",
    "PsProcesses",
    "Step",
    "carry_out",
    "end_tree",
    "marked_environment",
    "new_marker",
    "split_markers",
    "system_processes",
]

MARKER_VARIABLE = "HANDRAIL_PROCESS"
"""Holds a marker for each Handrail around the process, outermost first, so that each finds it."""

_MARKER_SEPARATOR = ":"

_SAME_START = 1.5
"""Start times this close (in seconds) mean the same process: `ps` rounds, and not always the same way."""

_SHORTEST_PAUSE = 0.001
_FIRST_PAUSE = 0.005
_LONGEST_PAUSE = 0.1
_READ_SIZE = 65536


class Process(NamedTuple):
    """A living process, as far as we need to know it."""

    pid: int
    ppid: int
    sid: int
    started: float
    markers: tuple[str, ...] = ()

    @property
    def identity(self) -> tuple[int, float]:
        """What tells it from a later process with the same pid."""
        return self.pid, self.started


class Processes(Protocol):
    """A way to see and signal the processes of this machine."""

    def table(self) -> Mapping[int, Process]:
        """Every living process by pid; zombies are left out. Raises `OSError` if there is no way to look."""

    def now(self) -> float:
        """The present time on the clock of `Process.started`."""

    def signal(self, process: Process, signum: int) -> bool:
        """Signal exactly this process, not another that got its pid. False if we may not; gone is fine."""


def new_marker() -> str:
    return os.urandom(16).hex()


def marked_environment(env: Mapping[str, str], marker: str) -> dict[str, str]:
    """`env`, with `marker` added to those that this process itself was started with."""
    inherited = os.environ.get(MARKER_VARIABLE)
    value = f"{inherited}{_MARKER_SEPARATOR}{marker}" if inherited else marker
    return {**env, MARKER_VARIABLE: value}


def system_processes(*, since: float = 0.0) -> Processes:
    """The best way this system offers. Processes that started before `since` are taken to have no marker."""
    if sys.platform == "linux":
        return ProcfsProcesses(since=since)
    return PsProcesses()


class ProcfsProcesses:
    """Processes as Linux shows them under /proc."""

    _MARKER = MARKER_VARIABLE.encode() + b"="

    def __init__(self, *, since: float = 0.0) -> None:
        self._since = since
        self._ticks_per_second = os.sysconf("SC_CLK_TCK")

    def table(self) -> dict[int, Process]:
        found = (self._read(int(name)) for name in os.listdir("/proc") if name.isdecimal())
        return {process.pid: process for process in found if process is not None}

    def now(self) -> float:
        if sys.platform != "linux":
            raise OSError("only Linux has /proc")
        return time.clock_gettime(time.CLOCK_BOOTTIME)

    def started(self, pid: int) -> float | None:
        process = self._read(pid)
        return None if process is None else process.started

    def signal(self, process: Process, signum: int) -> bool:
        if not _may_signal(process.pid):
            return False
        if sys.platform != "linux":
            return self._signal_without_pidfd(process, signum)
        try:
            # The descriptor pins the process, so what we check is what we signal.
            pidfd = os.pidfd_open(process.pid)
        except ProcessLookupError:
            return True
        except OSError:
            return self._signal_without_pidfd(process, signum)
        try:
            if self.started(process.pid) == process.started:
                signal.pidfd_send_signal(pidfd, signum)
        except ProcessLookupError:
            return True
        except PermissionError:
            return False
        finally:
            os.close(pidfd)
        return True

    def _signal_without_pidfd(self, process: Process, signum: int) -> bool:
        """For kernels and sandboxes without pidfds, and for when descriptors have run out."""
        return self.started(process.pid) != process.started or _kill(process.pid, signum)

    def _read(self, pid: int) -> Process | None:
        stat = _read_file(f"/proc/{pid}/stat")
        if stat is None:
            return None
        # The name in parentheses may itself contain spaces and parentheses.
        fields = stat[stat.rindex(b")") + 2 :].split(b" ", 20)
        if fields[0] in (b"Z", b"X"):
            return None
        started = int(fields[19]) / self._ticks_per_second
        markers = self._read_markers(pid) if started >= self._since else ()
        return Process(pid, int(fields[1]), int(fields[3]), started, markers)

    def _read_markers(self, pid: int) -> tuple[str, ...]:
        for variable in (_read_file(f"/proc/{pid}/environ") or b"").split(b"\0"):
            if variable.startswith(self._MARKER):
                return split_markers(variable[len(self._MARKER) :].decode(errors="replace"))
        return ()


class PsProcesses:
    """Processes as the `ps` command shows them: the way for macOS, which has no /proc.

    macOS hides the environment of the programs that it protects (`/bin/sh`, `/bin/sleep`) even from their user,
    so those are found as children or by session only.
    """

    _COLUMNS = "pid=,ppid=,stat=,lstart=,command="
    _MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
    # pid, ppid, state, start as in `Sun Nov 15 20:41:00 2026`, then the command with its environment
    _ROW = re.compile(
        r"\s*(\d+)\s+(\d+)\s+(\S+)"
        rf"\s+\w+\s+({'|'.join(_MONTHS)})\s+(\d+)\s+(\d+):(\d+):(\d+)\s+(\d+)"
        r"(.*)"
    )
    _MARKER = re.compile(rf"(?:^|\s){MARKER_VARIABLE}=(\S+)")

    def __init__(self, command: Sequence[str] | None = None) -> None:
        self._command = (*(command or self._system_command()), "-o", self._COLUMNS)

    @staticmethod
    def _system_command() -> tuple[str, ...]:
        if sys.platform == "darwin":
            return ("/bin/ps", "-A", "-E", "-ww")
        return ("ps", "axeww")

    def table(self) -> dict[int, Process]:
        found = map(self._parse, self._rows())
        return {process.pid: process for process in found if process is not None}

    def now(self) -> float:
        return time.time()

    def signal(self, process: Process, signum: int) -> bool:
        """The table is always fresh when this is called, so a pid in it has not changed hands."""
        return _may_signal(process.pid) and _kill(process.pid, signum)

    def _rows(self) -> list[str]:
        import subprocess  # not needed where there is /proc, least of all in the supervisor

        environment = {**os.environ, "LC_ALL": "C", "TZ": "UTC"}
        try:
            listing = subprocess.run(
                self._command,
                env=environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=10,
                check=True,
            )
        except subprocess.SubprocessError as error:
            raise OSError(f"the process table cannot be read: {error}") from error
        return listing.stdout.decode(errors="replace").split("\n")

    def _parse(self, row: str) -> Process | None:
        match = self._ROW.match(row)
        if match is None or match[3].startswith("Z"):
            return None
        pid, ppid = int(match[1]), int(match[2])
        return Process(pid, ppid, _session_of(pid), self._parse_start(match), self._parse_markers(match[10]))

    def _parse_start(self, row: re.Match[str]) -> float:
        import calendar  # as above

        month = self._MONTHS.index(row[4]) + 1
        day, hour, minute, second, year = (int(row[group]) for group in range(5, 10))
        return float(calendar.timegm((year, month, day, hour, minute, second)))

    def _parse_markers(self, command: str) -> tuple[str, ...]:
        values = self._MARKER.findall(command)
        # The environment follows the arguments, so the last value is the environment's.
        return split_markers(values[-1]) if values else ()


class ProcessTree:
    """Which processes belong to some markers, remembered from one look at the process table to the next."""

    def __init__(self, markers: Iterable[str]) -> None:
        self._markers = frozenset(markers)
        self._leader: int | None = None
        self._leader_ended: float | None = None
        self._known: dict[int, float] = {}
        self._unreachable: set[tuple[int, float]] = set()

    def led_by(self, pid: int) -> None:
        """The process that started it all, which leads a session of its own and has not been reaped."""
        self._leader = pid

    def leader_ended(self, when: float) -> None:
        """The leader was reaped: from now on its pid, and sessions named after it, may be another's."""
        self._leader_ended = when

    def give_up_on(self, process: Process) -> None:
        """We may not signal this process, so there is no use in waiting for it."""
        self._unreachable.add(process.identity)

    def members(self, table: Mapping[int, Process]) -> list[Process]:
        """Those in the table that belong to the tree."""
        found = self._grow({pid for pid, process in table.items() if self._is_ours(process)}, table)
        members = [table[pid] for pid in sorted(found) if _may_signal(pid)]
        self._known.update(process.identity for process in members)
        return [process for process in members if process.identity not in self._unreachable]

    def reap_adopted(self) -> None:
        """Reap former members that became our children, as orphans do if we are pid 1 of a container."""
        for pid in self._known.keys() - {self._leader}:
            try:
                os.waitpid(pid, os.WNOHANG)
            except ChildProcessError:
                continue

    def _is_ours(self, process: Process) -> bool:
        if not self._markers.isdisjoint(process.markers):
            return True
        known_start = self._known.get(process.pid)
        if known_start is not None and abs(known_start - process.started) <= _SAME_START:
            return True
        return self._leader is not None and self._leader in (process.pid, process.sid) and self._predates_end(process)

    def _predates_end(self, process: Process) -> bool:
        """A pid is free for others once its process was reaped: who started before that is no stranger."""
        return self._leader_ended is None or _not_after(process.started, self._leader_ended)

    @staticmethod
    def _grow(found: set[int], table: Mapping[int, Process]) -> set[int]:
        """Add children and session mates until there are no more."""
        foreign_sessions = {0, 1, os.getsid(0)}
        size = -1
        while len(found) != size:
            size = len(found)
            sessions = {table[pid].sid for pid in found} - foreign_sessions
            found |= {
                process.pid
                for process in table.values()
                if process.sid in sessions or (process.ppid in found and process.started >= table[process.ppid].started)
            }
        return found


class Step(NamedTuple):
    """What to do after a look: send `signum` to `targets`; look again after `pause`, or stop if it is None."""

    signum: int
    targets: list[Process]
    pause: float | None


class Ending:
    """Decides, from one process table to the next, how to end a tree: TERM, a grace, KILL until none is left.

    One look without members is not enough: it can miss a process that is just forking or starting a program. There
    must be none for `settle` seconds.
    """

    def __init__(
        self, tree: ProcessTree, *, term_grace: float, settle: float = 0.005, kill_patience: float = 5.0
    ) -> None:
        self._tree = tree
        self._term_grace = term_grace
        self._settle = settle
        self._kill_patience = kill_patience
        self._began: float | None = None
        self._empty_since: float | None = None
        self._terminated: set[tuple[int, float]] = set()
        self._pause = _FIRST_PAUSE
        self.survivors: list[Process] = []
        """Who was alive at the last look."""

    def step(self, table: Mapping[int, Process], now: float) -> Step:
        if self._began is None:
            self._began = now
        self.survivors = self._tree.members(table)
        if not self.survivors:
            return self._wait_for_latecomers(now)
        self._empty_since = None
        elapsed = now - self._began
        if elapsed < self._term_grace:
            return Step(signal.SIGTERM, self._not_yet_terminated(), self._next_pause(self._term_grace - elapsed))
        if elapsed < self._term_grace + self._kill_patience:
            return Step(signal.SIGKILL, self.survivors, self._next_pause(_LONGEST_PAUSE))
        return Step(signal.SIGKILL, self.survivors, None)

    def _wait_for_latecomers(self, now: float) -> Step:
        if self._empty_since is None:
            self._empty_since = now
            return Step(signal.SIGTERM, [], self._next_pause(self._settle))
        remaining = self._settle - (now - self._empty_since)
        return Step(signal.SIGTERM, [], self._next_pause(remaining) if remaining > 0 else None)

    def _not_yet_terminated(self) -> list[Process]:
        """One TERM each: many programs take a second one as an order to skip their clean-up."""
        fresh = [process for process in self.survivors if process.identity not in self._terminated]
        self._terminated.update(process.identity for process in fresh)
        return fresh

    def _next_pause(self, limit: float) -> float:
        pause = max(min(self._pause, limit), _SHORTEST_PAUSE)
        self._pause = min(self._pause * 1.5, _LONGEST_PAUSE)
        return pause


def end_tree(processes: Processes, tree: ProcessTree, *, term_grace: float, settle: float = 0.005) -> list[Process]:
    """End a whole tree, blocking until it is gone. Returns those that could not be ended."""
    ending = Ending(tree, term_grace=term_grace, settle=settle)
    while True:
        step = ending.step(processes.table(), time.monotonic())
        carry_out(step, processes, tree)
        if step.pause is None:
            return ending.survivors
        time.sleep(step.pause)


def carry_out(step: Step, processes: Processes, tree: ProcessTree) -> None:
    """Send the signals that a step asks for."""
    for target in step.targets:
        if not processes.signal(target, step.signum):
            tree.give_up_on(target)


def _not_after(earlier: float, later: float) -> bool:
    return earlier <= later + _SAME_START


def _may_signal(pid: int) -> bool:
    """kill(0) and kill(-1) reach our own group and everybody; pid 1 and ourselves are never a CLI's."""
    return pid > 1 and pid != os.getpid()


def _kill(pid: int, signum: int) -> bool:
    try:
        os.kill(pid, signum)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return True


def _read_file(path: str) -> bytes | None:
    """A whole file under /proc, or None if its process is gone or not ours to read."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        content = chunk = os.read(descriptor, _READ_SIZE)
        while len(chunk) == _READ_SIZE:
            chunk = os.read(descriptor, _READ_SIZE)
            content += chunk
    except OSError:
        return None
    else:
        return content or None
    finally:
        os.close(descriptor)


def split_markers(value: str) -> tuple[str, ...]:
    """The markers in the value of `MARKER_VARIABLE`."""
    return tuple(value.split(_MARKER_SEPARATOR))


def _session_of(pid: int) -> int:
    """The session id; `ps` on macOS does not show a usable one."""
    try:
        return os.getsid(pid)
    except OSError:
        return 0

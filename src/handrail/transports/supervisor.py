"""Makes sure that no CLI outlives Handrail, even if Handrail is killed without a chance to clean up.

One small process watches over all CLIs of this one. It learns the marker of each before that CLI starts,
through a socket whose other end only we hold; when the socket ends, it ends every process that carries a marker
it still knows. Until then it also keeps descriptors open that belong to a marker: a lock on one is held until
everything that carries the marker is gone, even if we are killed.
"""

from __future__ import annotations

import functools
import logging
import os
import socket
import subprocess
import sys
import threading
import time
import weakref
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["Supervisor", "shared_supervisor"]

_PROGRAM = os.path.join(os.path.dirname(__file__), "supervisor_main.py")
_NEEDED_VARIABLES = ("PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "DYLD_FALLBACK_LIBRARY_PATH")
_QUICK_DEATH = 2.0
_MAX_QUICK_DEATHS = 3
_DESCRIPTORS_AT_ONCE = 64  # Systems differ in how many one message may carry; all allow this many.
_SEND_BUFFER = 1 << 18  # What one that is still starting has not read yet must fit.

_log = logging.getLogger("handrail.supervisor")


class _Running(NamedTuple):
    process: subprocess.Popen[bytes]
    link: socket.socket
    began: float


class _Message(NamedTuple):
    """Lines for the supervising process, and a descriptor for each line that begins with `=`."""

    lines: bytes
    descriptors: Sequence[int] = ()


class Supervisor:
    """The supervising process: started with the first marker, and again whenever it dies. Thread-safe."""

    def __init__(self, program: str = _PROGRAM) -> None:
        self._program = program
        self._lock = threading.Lock()
        self._held: dict[str, list[int]] = {}
        self._running: _Running | None = None
        self._quick_deaths = 0
        _leave_behind_in_forks(self)

    @property
    def pid(self) -> int | None:
        """The supervising process, while there is one."""
        running = self._running
        return None if running is None else running.process.pid

    def register(self, marker: str, holds: Sequence[int] = ()) -> None:
        """From now on, what carries this marker does not outlive us, and nothing it `holds` is closed before its end.

        `holds` are descriptors; the supervisor keeps copies of them.
        """
        with self._lock:
            self._held[marker] = []
            self._tell(_Message(f"+{marker}\n".encode()))
            for descriptor in holds:
                self._hold(marker, descriptor)

    def hold(self, marker: str, descriptor: int) -> None:
        """Keep one more descriptor open. Does nothing if the marker is not registered (any more)."""
        with self._lock:
            if marker in self._held:
                self._hold(marker, descriptor)

    def unregister(self, marker: str) -> None:
        """What carried this marker is gone, or may stay. What was held for it is let go."""
        with self._lock:
            _close_all(self._held.pop(marker, ()))
            if self._running is not None:
                self._tell(_Message(f"-{marker}\n".encode()))

    def close(self) -> None:
        """End the supervising process; it first ends everything that is still registered."""
        with self._lock:
            running, self._running = self._running, None
            held, self._held = self._held, {}
        if running is not None:
            running.link.close()
            running.process.wait()
        for descriptors in held.values():
            _close_all(descriptors)

    def _hold(self, marker: str, descriptor: int) -> None:
        copy = os.dup(descriptor)
        self._held[marker].append(copy)
        self._tell(_Message(f"={marker}\n".encode(), [copy]))

    def _tell(self, message: _Message) -> None:
        if self._running is None:
            self._start()
            return
        try:
            told = socket.send_fds(self._running.link, [message.lines], message.descriptors)
        except OSError:
            told = 0
        if told != len(message.lines):
            # It has died, or it is stopped and does not read.
            self._discard(self._running)
            self._start()

    def _start(self) -> None:
        """Start the process and tell it everything."""
        if not self._held or self._quick_deaths >= _MAX_QUICK_DEATHS:
            return
        try:
            running = self._spawn()
        except OSError as error:
            self._quick_deaths = _MAX_QUICK_DEATHS
            self._warn_unsupervised(str(error))
            return
        self._running = running
        self._tell_everything(running)
        watch = threading.Thread(target=self._restart_when_dead, args=(running,), daemon=True)
        watch.name = "handrail-supervisor"
        watch.start()

    def _spawn(self) -> _Running:
        if getattr(sys, "frozen", False):
            raise OSError("this is a frozen application, which has no Python interpreter to run")
        link, its_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            process = subprocess.Popen(
                [sys.executable, "-I", "-S", self._program],
                stdin=its_end.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                # Not our environment: it may hold secrets, and a marker by which an outer Handrail would end it.
                env={name: os.environ[name] for name in _NEEDED_VARIABLES if name in os.environ},
                cwd="/",
                # Ctrl-C in our terminal is not for it.
                start_new_session=True,
            )
        except OSError:
            link.close()
            raise
        finally:
            its_end.close()
        link.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BUFFER)
        return _Running(process, link, time.monotonic())

    def _tell_everything(self, running: _Running) -> None:
        try:
            for message in self._introductions():
                told = socket.send_fds(running.link, [message.lines], message.descriptors)
                running.link.sendall(message.lines[told:])
        except OSError:
            running.process.kill()  # As a rule it died already; its watch starts another.
            return
        running.link.setblocking(False)

    def _introductions(self) -> Iterator[_Message]:
        """Everything that is registered, in few messages."""
        lines, descriptors = bytearray(), list[int]()
        for marker, held in self._held.items():
            lines += f"+{marker}\n".encode()
            for descriptor in held:
                if len(descriptors) == _DESCRIPTORS_AT_ONCE:
                    yield _Message(bytes(lines), descriptors)
                    lines, descriptors = bytearray(), []
                lines += f"={marker}\n".encode()
                descriptors.append(descriptor)
        yield _Message(bytes(lines), descriptors)

    @staticmethod
    def _discard(running: _Running) -> None:
        # In this order: the end of the link would tell it that we are gone.
        running.process.kill()
        running.link.close()

    def _restart_when_dead(self, running: _Running) -> None:
        running.process.wait()
        with self._lock:
            if self._running is not running:
                return
            self._running = None
            running.link.close()
            self._count_death(running)
            self._start()

    def _count_death(self, running: _Running) -> None:
        if time.monotonic() - running.began > _QUICK_DEATH:
            self._quick_deaths = 0
            return
        self._quick_deaths += 1
        if self._quick_deaths == _MAX_QUICK_DEATHS:
            self._warn_unsupervised(f"it exits at once with {running.process.returncode}")

    @staticmethod
    def _warn_unsupervised(reason: str) -> None:
        _log.warning("no supervisor (%s): if this process is killed, its CLIs will run on", reason)

    def _forget(self) -> None:
        """In a forked process: the supervisor is the parent's, and must see the link end with the parent."""
        running, self._running = self._running, None
        held, self._held = self._held, {}
        self._quick_deaths = 0
        for descriptors in held.values():
            _close_all(descriptors)
        if running is not None:
            running.link.close()
            running.process.returncode = 0  # Not our child: there is nothing to wait for.


def _close_all(descriptors: Sequence[int]) -> None:
    for descriptor in descriptors:
        os.close(descriptor)


def _leave_behind_in_forks(supervisor: Supervisor) -> None:
    reference = weakref.ref(supervisor)

    def before() -> None:
        if (here := reference()) is not None:
            here._lock.acquire()

    def in_parent() -> None:
        if (here := reference()) is not None:
            here._lock.release()

    def in_child() -> None:
        if (here := reference()) is not None:
            here._forget()
            here._lock.release()

    os.register_at_fork(before=before, after_in_parent=in_parent, after_in_child=in_child)


@functools.cache
def shared_supervisor() -> Supervisor:
    """The one that all transports of this process use."""
    return Supervisor()

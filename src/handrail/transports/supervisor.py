"""Makes sure that no CLI outlives Handrail, even if Handrail is killed without a chance to clean up.

One small process watches over all CLIs of this one. It learns the marker of each before that CLI starts,
through a pipe whose other end only we hold; when the pipe ends, it ends every process that carries a marker
it still knows.
"""

from __future__ import annotations

import functools
import logging
import os
import subprocess
import sys
import threading
import time
import weakref
from typing import NamedTuple

__all__ = ["Supervisor", "shared_supervisor"]

_PROGRAM = os.path.join(os.path.dirname(__file__), "supervisor_main.py")
_NEEDED_VARIABLES = ("PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "DYLD_FALLBACK_LIBRARY_PATH")
_QUICK_DEATH = 2.0
_MAX_QUICK_DEATHS = 3

_log = logging.getLogger("handrail.supervisor")


class _Running(NamedTuple):
    process: subprocess.Popen[bytes]
    pipe: int
    began: float


class Supervisor:
    """The supervising process: started with the first marker, and again whenever it dies. Thread-safe."""

    def __init__(self, program: str = _PROGRAM) -> None:
        self._program = program
        self._lock = threading.Lock()
        self._markers: set[str] = set()
        self._running: _Running | None = None
        self._quick_deaths = 0
        _leave_behind_in_forks(self)

    @property
    def pid(self) -> int | None:
        """The supervising process, while there is one."""
        running = self._running
        return None if running is None else running.process.pid

    def register(self, marker: str) -> None:
        """From now on, what carries this marker does not outlive us."""
        with self._lock:
            self._markers.add(marker)
            self._tell(f"+{marker}\n")

    def unregister(self, marker: str) -> None:
        """What carried this marker is gone, or may stay."""
        with self._lock:
            self._markers.discard(marker)
            if self._running is not None:
                self._tell(f"-{marker}\n")

    def close(self) -> None:
        """End the supervising process; it first ends everything that is still registered."""
        with self._lock:
            running, self._running = self._running, None
            self._markers.clear()
        if running is not None:
            os.close(running.pipe)
            running.process.wait()

    def _tell(self, line: str) -> None:
        if self._running is None:
            self._start()
            return
        try:
            os.write(self._running.pipe, line.encode())
        except (BrokenPipeError, BlockingIOError):
            # It has died, or it is stopped and does not read.
            self._discard(self._running)
            self._start()

    def _start(self) -> None:
        """Start the process and tell it all markers."""
        if not self._markers or self._quick_deaths >= _MAX_QUICK_DEATHS:
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
        read_end, write_end = os.pipe()
        try:
            process = subprocess.Popen(
                [sys.executable, "-I", "-S", self._program],
                stdin=read_end,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                # Not our environment: it may hold secrets, and a marker by which an outer Handrail would end it.
                env={name: os.environ[name] for name in _NEEDED_VARIABLES if name in os.environ},
                cwd="/",
                # Ctrl-C in our terminal is not for it.
                start_new_session=True,
            )
        except OSError:
            os.close(write_end)
            raise
        finally:
            os.close(read_end)
        return _Running(process, write_end, time.monotonic())

    def _tell_everything(self, running: _Running) -> None:
        lines = memoryview("".join(f"+{marker}\n" for marker in self._markers).encode())
        try:
            while lines:
                lines = lines[os.write(running.pipe, lines) :]
        except BrokenPipeError:
            return  # It died already; its watch starts another.
        os.set_blocking(running.pipe, False)

    @staticmethod
    def _discard(running: _Running) -> None:
        # In this order: the end of the pipe would tell it that we are gone.
        running.process.kill()
        os.close(running.pipe)

    def _restart_when_dead(self, running: _Running) -> None:
        running.process.wait()
        with self._lock:
            if self._running is not running:
                return
            self._running = None
            os.close(running.pipe)
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
        """In a forked process: the supervisor is the parent's, and must see the pipe end with the parent."""
        running, self._running = self._running, None
        self._markers.clear()
        self._quick_deaths = 0
        if running is not None:
            os.close(running.pipe)
            running.process.returncode = 0  # Not our child: there is nothing to wait for.


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

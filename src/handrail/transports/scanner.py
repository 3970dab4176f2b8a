"""Looks at the process table off the event loop; one look serves everyone who asked before it began."""

from __future__ import annotations

import asyncio
import functools
import os
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING

from handrail.transports.process_tree import ProcfsProcesses, system_processes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from handrail.transports.process_tree import Process, Processes

__all__ = ["ProcessScanner", "shared_scanner"]


class ProcessScanner:
    """Reads the process table in one thread, so that closing many sessions at once needs few looks."""

    def __init__(self, processes: Processes) -> None:
        self.processes = processes
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="handrail-processes")
        self._lock = threading.Lock()
        self._next: Future[Mapping[int, Process]] | None = None

    async def table(self) -> Mapping[int, Process]:
        """The process table as it is at some moment after this call."""
        # Shielded because the look is shared: a caller that is cancelled must not take it from the others.
        return await asyncio.shield(asyncio.wrap_future(self._request()))

    def close(self) -> None:
        self._thread.shutdown()

    def _request(self) -> Future[Mapping[int, Process]]:
        with self._lock:
            if self._next is None:
                self._next = self._thread.submit(self._look)
            return self._next

    def _look(self) -> Mapping[int, Process]:
        with self._lock:
            self._next = None  # Who asks from here on needs a later look.
        return self.processes.table()


def shared_scanner() -> ProcessScanner:
    """The one that all transports of this process use."""
    return _scanner_of(os.getpid())


@functools.lru_cache(maxsize=1)
def _scanner_of(pid: int) -> ProcessScanner:
    """By pid, because a forked process has no threads and needs a scanner of its own."""
    return ProcessScanner(system_processes(since=_start_of(pid)))


def _start_of(pid: int) -> float:
    """When this process started: nothing that it starts is older."""
    return ProcfsProcesses().started(pid) or 0.0

"""After a crash: ends what is left of CLIs that an earlier Handrail started, before anything is resumed.

A process is one of theirs only if it carries the random marker that the CLI was started with, or was started by one
that does, and is not older than that CLI. A pid alone proves nothing: it may be another's by now.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Iterable, Mapping
from typing import Protocol

from handrail.errors import SessionError
from handrail.transports.process_tree import (
    MARKER_VARIABLE,
    Process,
    Processes,
    ProcessTree,
    ProcfsProcesses,
    end_tree,
    split_markers,
    system_processes,
)

__all__ = ["Start", "process_started", "reap"]

_TERM_GRACE = 5.0
_CLOCK_SLACK = 2.0
"""Start times this close, in seconds, may be of one process: some systems round them."""


class Start(Protocol):
    """What was stored when a CLI was started: `handrail.store.base.StartRow` has it."""

    @property
    def process_started(self) -> float | None: ...
    @property
    def marker(self) -> str: ...


def process_started(pid: int) -> float | None:
    """When a process started, on the clock that `reap` compares with; None if there is no such process."""
    if sys.platform == "linux":
        return ProcfsProcesses().started(pid)
    process = system_processes().table().get(pid)
    return None if process is None else process.started


async def reap(
    starts: Iterable[Start], *, term_grace: float = _TERM_GRACE, processes: Processes | None = None
) -> list[Process]:
    """End what still lives of these CLIs and of everything they started. Returns what could not be ended.

    Nothing is touched if this very process was started by one of them: it is returned as one that could not be ended.
    Raises `SessionError` if the processes of this machine cannot be listed.
    """
    marked = {start.marker: start for start in starts if start.marker}
    if not marked:
        return []
    everything = processes or system_processes()
    try:
        return await asyncio.to_thread(_end, marked, everything, term_grace)
    except OSError as error:
        raise SessionError(
            f"whether an earlier CLI of this session still runs cannot be seen ({error}): "
            "make sure that the process table can be read, then try again"
        ) from error


def _end(starts: Mapping[str, Start], everything: Processes, term_grace: float) -> list[Process]:
    if not starts.keys().isdisjoint(split_markers(os.environ.get(MARKER_VARIABLE, ""))):
        return _carriers(starts, everything.table())
    believed = _MarkedSince(starts, everything)
    survivors = end_tree(believed, ProcessTree(starts), term_grace=term_grace)
    # Those that we may not signal are not waited for, but they live.
    return survivors or ProcessTree(starts).members(believed.table())


def _carriers(starts: Mapping[str, Start], table: Mapping[int, Process]) -> list[Process]:
    return [process for process in table.values() if not starts.keys().isdisjoint(process.markers)]


class _MarkedSince:
    """Processes, with the markers that they can have come by honestly: of CLIs that are not younger than they are."""

    def __init__(self, starts: Mapping[str, Start], everything: Processes) -> None:
        self._starts = starts
        self._everything = everything
        self.now = everything.now
        self.signal = everything.signal

    def table(self) -> dict[int, Process]:
        return {pid: self._believed(process) for pid, process in self._everything.table().items()}

    def _believed(self, process: Process) -> Process:
        if not process.markers:
            return process
        return process._replace(markers=tuple(marker for marker in process.markers if self._fits(process, marker)))

    def _fits(self, process: Process, marker: str) -> bool:
        start = self._starts.get(marker)
        if start is None or start.process_started is None:
            return True
        return process.started >= start.process_started - _CLOCK_SLACK

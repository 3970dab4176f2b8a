"""Tells whether a process of this machine was started by a session: then it must not answer for that session."""

from __future__ import annotations

import os
from collections.abc import Mapping

from handrail.transports.ancestry import descends_from_session
from handrail.transports.process_tree import Process, Processes, system_processes

__all__ = ["started_by_session"]


class _Look:
    """The processes of one moment, so that several questions get answers that fit together."""

    def __init__(self, processes: Processes) -> None:
        self._processes = processes
        self._table = processes.table()

    def table(self) -> Mapping[int, Process]:
        return self._table

    def now(self) -> float:
        return self._processes.now()

    def signal(self, process: Process, signum: int) -> bool:
        return self._processes.signal(process, signum)


def started_by_session(pid: int, processes: Processes | None = None) -> bool:
    """Whether a session started this process, or the process that leads its terminal session.

    Who leaves its parent behind is found by its terminal session, which it can only leave for one of its own.
    """
    try:
        look = _Look(processes or system_processes())
    except OSError:
        return True
    if descends_from_session(pid, look):
        return True
    leader = look.table()[pid].sid
    return leader in look.table() and leader != os.getpid() and descends_from_session(leader, look)

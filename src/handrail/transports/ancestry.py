"""Tells whether a process was started by a session: by Claude, or by anything that Claude runs."""

from __future__ import annotations

import os

from handrail.transports.process_tree import MARKER_VARIABLE, Processes, split_markers, system_processes

__all__ = ["descends_from_session"]


def descends_from_session(pid: int, processes: Processes | None = None) -> bool:
    """Whether a session of any Handrail started this process, directly or not.

    A process that is gone, or that cannot be looked at, counts as started by one: there is no telling.
    """
    try:
        table = (processes or system_processes()).table()
    except OSError:
        return True
    if pid not in table:
        return True
    # What an outer Handrail put around this process says nothing about sessions of ours.
    outer = set(split_markers(os.environ.get(MARKER_VARIABLE, "")))
    seen: set[int] = set()
    while pid in table and pid not in seen and pid != os.getpid():
        seen.add(pid)
        process = table[pid]
        if not outer.issuperset(process.markers):
            return True
        pid = process.ppid
    return False

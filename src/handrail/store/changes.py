"""How those who watch hear of a change of a session, in this process and in others: each change has a number."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from typing import TypeVar

from handrail.store.watching import Changed
from handrail.store.writer import Operation

__all__ = ["Change", "changes_after", "forget_gone", "last_number", "mark_changed", "mark_gone", "next_number"]

T = TypeVar("T")

_MICROSECONDS = 1_000_000


class Change(Operation[T]):
    """One function that changes one session."""

    def __init__(self, session_id: str, function: Callable[[sqlite3.Connection], T]) -> None:
        self._session_id = session_id
        self._function = function
        self._changed: Changed | None = None

    def apply(self, connection: sqlite3.Connection) -> T:
        self._changed = None
        existed = _last_seq(connection, self._session_id) is not None
        result = self._function(connection)
        last_seq = _last_seq(connection, self._session_id)
        if last_seq is not None:
            mark_changed(connection, self._session_id, self.number)
        elif existed:
            mark_gone(connection, self._session_id, self.number)
        else:
            return result
        self._changed = Changed(self._session_id, last_seq or 0, self.number)
        return result

    def woken(self) -> Changed | None:
        return self._changed


def mark_changed(connection: sqlite3.Connection, session_id: str, number: int) -> None:
    connection.execute("UPDATE sessions SET changed = ? WHERE id = ?", (number, session_id))


def mark_gone(connection: sqlite3.Connection, session_id: str, number: int) -> None:
    connection.execute(
        "INSERT INTO gone VALUES (?, ?) ON CONFLICT (session_id) DO UPDATE SET changed = excluded.changed",
        (session_id, number),
    )


def _last_seq(connection: sqlite3.Connection, session_id: str) -> int | None:
    row = connection.execute("SELECT last_seq FROM sessions WHERE id = ?", (session_id,)).fetchone()
    return None if row is None else int(row[0])


def next_number(connection: sqlite3.Connection) -> int:
    """A number for what is changed in this transaction, above those of all changes before.

    It is the time, but not at the mercy of the clock. Only one process writes at a time: whatever has a lower number
    is seen no later.
    """
    return max(time.time_ns() * _MICROSECONDS // 1_000_000_000, last_number(connection) + 1)


def last_number(connection: sqlite3.Connection) -> int:
    """The number of the last change."""
    row = connection.execute("SELECT (SELECT max(changed) FROM sessions), (SELECT max(changed) FROM gone)").fetchone()
    return max(number or 0 for number in row)


def changes_after(connection: sqlite3.Connection, number: int) -> list[Changed]:
    """The sessions whose last change has a higher number, in the order of the changes."""
    rows = connection.execute(
        "SELECT id, last_seq, changed FROM sessions WHERE changed > ? "
        "UNION ALL SELECT session_id, 0, changed FROM gone WHERE changed > ? ORDER BY changed",
        (number, number),
    )
    return [Changed(*row) for row in rows]


def forget_gone(connection: sqlite3.Connection, before: float) -> None:
    """Remove what tells of sessions that were deleted before a time."""
    connection.execute("DELETE FROM gone WHERE changed < ?", (int(before * _MICROSECONDS),))

"""What the tables' rows are in Python: columns in order, and text that SQLite can take."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any

from handrail.store.base import SessionRow

__all__ = ["FOLD", "SESSION_COLUMNS", "encodable", "placeholders", "session_of"]

FOLD = "fold"
"""The function of connections that read which makes small and large letters the same, in every language."""

SESSION_COLUMNS = (
    "id, cwd, created_at, updated_at, title, cli_session_id, status, archived, forked_from, model, cost_usd, settings, "
    "last_seq, fence, owner, lease_until, host"
)


def session_of(row: Sequence[Any]) -> SessionRow:
    """A row of `SESSION_COLUMNS`."""
    return SessionRow(
        id=row[0],
        cwd=row[1],
        created_at=row[2],
        updated_at=row[3],
        title=row[4],
        cli_session_id=row[5],
        status=row[6],
        archived=bool(row[7]),
        forked_from=row[8],
        model=row[9],
        cost_usd=row[10],
        settings=row[11],
        last_seq=row[12],
        fence=row[13],
        owner=row[14],
        lease_until=row[15],
        host=row[16],
    )


def encodable(text: str) -> str:
    """`text` as SQLite can store it: half a surrogate pair, which no encoding has, becomes a question mark."""
    if text.isascii():
        return text
    return text.encode("utf-8", "replace").decode("utf-8")


def placeholders(values: Sequence[Any]) -> str:
    """For `IN (…)`."""
    return ", ".join("?" * len(values))


def exists(connection: sqlite3.Connection, session_id: str) -> bool:
    """Whether there is such a session."""
    return connection.execute("SELECT 1 FROM sessions WHERE id = ?", (session_id,)).fetchone() is not None

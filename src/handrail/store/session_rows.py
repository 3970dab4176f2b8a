"""Sessions: adding, finding, changing and removing them."""

from __future__ import annotations

import sqlite3
from typing import Any

from handrail.errors import SessionNotFound, StoreError
from handrail.store.base import SessionFilter, SessionRow
from handrail.store.journal_writing import remember_cli_session
from handrail.store.rows import FOLD, SESSION_COLUMNS, encodable, exists, placeholders, session_of

__all__ = ["change_session", "count_sessions", "create_session", "find_sessions", "get_session", "list_sessions"]

_CHANGEABLE = frozenset({"title", "archived"})


def create_session(connection: sqlite3.Connection, row: SessionRow) -> None:
    taken = connection.execute("SELECT 1 FROM deletions WHERE session_id = ?", (row.id,)).fetchone()
    if taken or exists(connection, row.id):
        raise StoreError(f"there is a session {row.id} already")
    connection.execute("DELETE FROM gone WHERE session_id = ?", (row.id,))
    connection.execute(
        "INSERT INTO sessions (id, cwd, created_at, updated_at, title, cli_session_id, status, archived, forked_from, "
        "model, cost_usd, settings) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            row.id,
            encodable(row.cwd),
            row.created_at,
            row.updated_at,
            encodable(row.title),
            row.cli_session_id,
            row.status,
            row.archived,
            row.forked_from,
            row.model,
            row.cost_usd,
            row.settings,
        ),
    )
    if row.cli_session_id:
        remember_cli_session(connection, row.id, row.cli_session_id)


def get_session(connection: sqlite3.Connection, session_id: str) -> SessionRow | None:
    row = connection.execute(f"SELECT {SESSION_COLUMNS} FROM sessions WHERE id = ?", (session_id,)).fetchone()  # noqa: S608
    return None if row is None else session_of(row)


def list_sessions(
    connection: sqlite3.Connection, which: SessionFilter, limit: int, before: tuple[float, str] | None
) -> list[SessionRow]:
    conditions, values = _conditions(which)
    if before is not None:
        conditions.append("(updated_at, id) < (?, ?)")
        values += before
    statement = (
        f"SELECT {SESSION_COLUMNS} FROM sessions WHERE {' AND '.join(conditions)} "  # noqa: S608 - no values in it
        "ORDER BY updated_at DESC, id DESC LIMIT ?"
    )
    return [session_of(row) for row in connection.execute(statement, (*values, limit))]


def count_sessions(connection: sqlite3.Connection, which: SessionFilter) -> dict[str, int]:
    conditions, values = _conditions(which)
    statement = f"SELECT status, count(*) FROM sessions WHERE {' AND '.join(conditions)} GROUP BY status"  # noqa: S608
    return dict(connection.execute(statement, values).fetchall())


def _conditions(which: SessionFilter) -> tuple[list[str], list[Any]]:
    conditions = ["TRUE"]
    values: list[Any] = []
    for column in ("archived", "cwd", "cli_session_id", "host"):
        value = getattr(which, column)
        if value is not None:
            conditions.append(f"{column} = ?")
            values.append(value)
    if which.status:
        conditions.append(f"status IN ({placeholders(which.status)})")
        values += which.status
    if text := encodable(which.text).strip().casefold():
        conditions.append(f"(instr({FOLD}(title), ?) OR instr({FOLD}(cwd), ?) OR substr({FOLD}(id), 1, ?) = ?)")
        values += (text, text, len(text), text)
    return conditions, values


def find_sessions(connection: sqlite3.Connection, reference: str, limit: int) -> list[SessionRow]:
    """Those that it names exactly come first."""
    if not reference:
        return []
    begins = (len(reference), reference)
    rows = connection.execute(
        f"SELECT {SESSION_COLUMNS} FROM sessions WHERE substr(id, 1, ?) = ? OR id IN "  # noqa: S608 - our columns
        "(SELECT session_id FROM cli_sessions WHERE substr(cli_session_id, 1, ?) = ?) "
        "ORDER BY CASE WHEN id = ? OR cli_session_id = ? THEN 0 ELSE 1 END, updated_at DESC, id DESC LIMIT ?",
        (*begins, *begins, reference, reference, limit),
    )
    return [session_of(row) for row in rows]


def change_session(connection: sqlite3.Connection, session_id: str, columns: dict[str, Any]) -> None:
    if unknown := columns.keys() - _CHANGEABLE:
        raise StoreError(f"without a lease only title and archived can be changed, not {', '.join(sorted(unknown))}")
    if not exists(connection, session_id):
        raise SessionNotFound(f"there is no session {session_id!r} in the journal")
    for name, value in columns.items():
        stored = encodable(value) if isinstance(value, str) else value
        connection.execute(f"UPDATE sessions SET {name} = ? WHERE id = ?", (stored, session_id))  # noqa: S608

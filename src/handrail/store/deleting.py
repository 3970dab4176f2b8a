"""Removing sessions. They are gone for everybody at once; their rows follow in slices that others need not wait for."""

from __future__ import annotations

import sqlite3

from handrail.store.leases import held
from handrail.store.rows import placeholders
from handrail.store.search import Index

__all__ = ["begin_deletion", "pending_deletions", "remove_some"]

_SLICE = 500
_SMALL_TABLES = ("cli_sessions", "runs", "asks", "messages", "starts", "usage")
_LARGE_TABLES = (("events", "seq"), ("frames", "first"))


def begin_deletion(connection: sqlite3.Connection, session_id: str) -> None:
    """Nobody finds the session any more. Raises `LeaseHeld` while it has a holder; a copy has none here."""
    row = connection.execute("SELECT owner, host FROM sessions WHERE id = ?", (session_id,)).fetchone()
    if row is None:
        return
    owner, host = row
    if owner is not None and not host:
        raise held(session_id, owner)
    connection.execute("INSERT INTO deletions VALUES (?)", (session_id,))
    connection.execute("DELETE FROM sessions WHERE id = ?", (session_id,))
    for table in _SMALL_TABLES:
        connection.execute(f"DELETE FROM {table} WHERE session_id = ?", (session_id,))  # noqa: S608 - a name of ours


def pending_deletions(connection: sqlite3.Connection) -> list[str]:
    """Sessions of which something may be left: somebody is at it, or died over it."""
    return [session_id for (session_id,) in connection.execute("SELECT session_id FROM deletions")]


def remove_some(connection: sqlite3.Connection, session_id: str, index: Index) -> bool:
    """Remove a slice of what is left of a session; returns whether more may be left."""
    if _remove_texts(connection, session_id, index):
        return True
    if any(_remove_rows(connection, table, key, session_id) for table, key in _LARGE_TABLES):
        return True
    _remove_artefacts(connection, session_id)
    connection.execute("DELETE FROM deletions WHERE session_id = ?", (session_id,))
    return False


def _remove_texts(connection: sqlite3.Connection, session_id: str, index: Index) -> bool:
    rows = connection.execute("SELECT id FROM texts WHERE session_id = ? LIMIT ?", (session_id, _SLICE)).fetchall()
    if rows:
        index.remove(connection, [number for (number,) in rows])
    return bool(rows)


def _remove_rows(connection: sqlite3.Connection, table: str, key: str, session_id: str) -> bool:
    rows = connection.execute(
        f"SELECT {key} FROM {table} WHERE session_id = ? ORDER BY {key} LIMIT ?",  # noqa: S608 - names of ours
        (session_id, _SLICE),
    ).fetchall()
    if rows:
        connection.execute(
            f"DELETE FROM {table} WHERE session_id = ? AND {key} <= ?",  # noqa: S608 - names of ours
            (session_id, rows[-1][0]),
        )
    return bool(rows)


def _remove_artefacts(connection: sqlite3.Connection, session_id: str) -> None:
    """Those that no other session uses."""
    used = [
        name for (name,) in connection.execute("SELECT sha256 FROM artefact_uses WHERE session_id = ?", (session_id,))
    ]
    connection.execute("DELETE FROM artefact_uses WHERE session_id = ?", (session_id,))
    for start in range(0, len(used), _SLICE):
        names = used[start : start + _SLICE]
        connection.execute(
            f"DELETE FROM artefacts WHERE sha256 IN ({placeholders(names)}) "  # noqa: S608 - placeholders only
            "AND NOT EXISTS (SELECT 1 FROM artefact_uses WHERE artefact_uses.sha256 = artefacts.sha256)",
            names,
        )

"""The tables and columns that came with hosts: who they are, and what copying sessions between machines needs."""

from __future__ import annotations

import sqlite3

__all__ = ["COPIED_TABLES", "HOST_TABLES", "name_journal", "number_what_is_there"]

COPIED_TABLES = ("asks", "messages", "runs", "usage")
"""Those whose rows are stored again when they change."""

HOST_TABLES = (
    # The host of which a session is a copy; empty for this machine's own.
    "ALTER TABLE sessions ADD COLUMN host TEXT NOT NULL DEFAULT ''",
    # The number of the last change that a copy has of its source; without one, nothing more is copied to it.
    "ALTER TABLE sessions ADD COLUMN source_changed INTEGER",
    # The journal that a copy's revisions are of.
    "ALTER TABLE sessions ADD COLUMN source_journal INTEGER NOT NULL DEFAULT 0",
    # Each change of a row that is copied takes the next revision of its session, so a page can end behind any of them.
    "ALTER TABLE sessions ADD COLUMN last_revision INTEGER NOT NULL DEFAULT 0",
    *(f"ALTER TABLE {table} ADD COLUMN revision INTEGER NOT NULL DEFAULT 0" for table in COPIED_TABLES),
    *(f"CREATE INDEX {table}_by_revision ON {table} (session_id, revision)" for table in COPIED_TABLES),
    # Where a copied message stands among its session's: copies arrive in the order of their last changes.
    "ALTER TABLE messages ADD COLUMN place INTEGER",
    "DROP INDEX texts_of_session",
    "CREATE INDEX texts_of_event ON texts (session_id, seq)",
    # Only of copies: with all sessions in it, SQLite would list by it, and sort.
    "CREATE INDEX copies_of_host ON sessions (host) WHERE host <> ''",
    """
    CREATE TABLE hosts (
        id TEXT NOT NULL PRIMARY KEY,
        name TEXT NOT NULL,
        key_hash TEXT NOT NULL UNIQUE,
        enrolled_at REAL NOT NULL,
        enrolled_by TEXT NOT NULL,
        last_seen_at REAL,
        revoked_at REAL,
        draining INTEGER NOT NULL,
        facts BLOB NOT NULL
    )
    """,
    # How far copies had come that were pruned, so that they are not copied again until their sessions change.
    """
    CREATE TABLE pruned_copies (
        session_id TEXT NOT NULL PRIMARY KEY,
        host TEXT NOT NULL,
        fence INTEGER NOT NULL,
        last_seq INTEGER NOT NULL,
        changed INTEGER NOT NULL,
        revision INTEGER NOT NULL,
        journal INTEGER NOT NULL
    )
    """,
    "CREATE INDEX pruned_copies_of_host ON pruned_copies (host)",
)


def name_journal(connection: sqlite3.Connection) -> None:
    """Give the journal a number that no other has: in the place of an older one, its revisions mean something else."""
    connection.execute(
        "INSERT INTO facts VALUES ('journal', random() & 9223372036854775807) "
        "ON CONFLICT (name) DO UPDATE SET value = excluded.value"
    )


def number_what_is_there(connection: sqlite3.Connection) -> None:
    """Give every session a change and every row a revision, so that what is there already is copied too."""
    connection.execute("UPDATE sessions SET changed = rowid WHERE changed = 0")
    count = len(COPIED_TABLES)
    for place, table in enumerate(COPIED_TABLES):
        # Several tables share the numbers of a session, and none of them may occur twice.
        connection.execute(f"UPDATE {table} SET revision = rowid * {count} + {place}")  # noqa: S608 - names of ours
    highest = (
        f"coalesce((SELECT max(revision) FROM {table} WHERE session_id = sessions.id), 0)"  # noqa: S608 - ours
        for table in COPIED_TABLES
    )
    connection.execute(f"UPDATE sessions SET last_revision = max({', '.join(highest)})")  # noqa: S608 - names of ours

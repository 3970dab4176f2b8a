"""The tables that came with the hub: usage, tokens, the audit log, kept replies; and how processes hear of changes."""

from __future__ import annotations

__all__ = ["HUB_TABLES"]

HUB_TABLES = (
    # The number of a session's last change: higher than those of all changes before, of whichever session.
    "ALTER TABLE sessions ADD COLUMN changed INTEGER NOT NULL DEFAULT 0",
    "CREATE INDEX sessions_by_change ON sessions (changed)",
    "CREATE INDEX sessions_by_update ON sessions (updated_at, id)",
    # The status first: otherwise SQLite would list by it, and sort, where the index above has the order already.
    "CREATE INDEX sessions_by_status ON sessions (status, archived)",
    # Sessions that were deleted lately, so that other processes hear of it.
    """
    CREATE TABLE gone (
        session_id TEXT NOT NULL PRIMARY KEY,
        changed INTEGER NOT NULL
    )
    """,
    "CREATE INDEX gone_by_change ON gone (changed)",
    """
    CREATE TABLE usage (
        session_id TEXT NOT NULL,
        run INTEGER NOT NULL,
        model TEXT NOT NULL,
        at REAL NOT NULL,
        day TEXT NOT NULL,
        input_tokens INTEGER NOT NULL,
        output_tokens INTEGER NOT NULL,
        cache_read_tokens INTEGER NOT NULL,
        cache_write_tokens INTEGER NOT NULL,
        cost_usd REAL NOT NULL,
        PRIMARY KEY (session_id, run, model)
    )
    """,
    "CREATE INDEX usage_by_time ON usage (at)",
    """
    CREATE TABLE tokens (
        id TEXT NOT NULL PRIMARY KEY,
        name TEXT NOT NULL,
        role TEXT NOT NULL,
        kind TEXT NOT NULL,
        secret_hash TEXT NOT NULL UNIQUE,
        created_at REAL NOT NULL,
        last_used_at REAL,
        expires_at REAL,
        revoked_at REAL,
        created_by TEXT NOT NULL
    )
    """,
    """
    CREATE TABLE audit (
        number INTEGER PRIMARY KEY,
        at REAL NOT NULL,
        actor TEXT NOT NULL,
        surface TEXT NOT NULL,
        action TEXT NOT NULL,
        session_id TEXT NOT NULL,
        ask_id TEXT NOT NULL,
        outcome TEXT NOT NULL,
        detail TEXT NOT NULL
    )
    """,
    "CREATE INDEX audit_of_session ON audit (session_id, number)",
    """
    CREATE TABLE replies (
        caller TEXT NOT NULL,
        key TEXT NOT NULL,
        request_hash TEXT NOT NULL,
        at REAL NOT NULL,
        status INTEGER,
        body BLOB NOT NULL,
        headers BLOB NOT NULL,
        PRIMARY KEY (caller, key)
    )
    """,
    "CREATE INDEX replies_by_time ON replies (at)",
)

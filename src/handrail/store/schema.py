"""The tables. Ordinary SQL that PostgreSQL understands too, but for BLOB, which is `bytea` there, and for the
`INTEGER PRIMARY KEY` of texts, messages and starts, which SQLite fills in by itself, in the order of insertion."""

from __future__ import annotations

__all__ = ["APPLICATION_ID", "TABLES"]

APPLICATION_ID = 0x48524A31
"""Marks a file as Handrail's journal."""

TABLES = (
    """
    CREATE TABLE sessions (
        id TEXT NOT NULL PRIMARY KEY,
        cwd TEXT NOT NULL,
        created_at REAL NOT NULL,
        updated_at REAL NOT NULL,
        title TEXT NOT NULL,
        cli_session_id TEXT,
        status TEXT NOT NULL,
        archived INTEGER NOT NULL,
        forked_from TEXT,
        model TEXT NOT NULL,
        cost_usd REAL NOT NULL,
        settings BLOB NOT NULL,
        last_seq INTEGER NOT NULL DEFAULT 0,
        last_frame INTEGER NOT NULL DEFAULT 0,
        fence INTEGER NOT NULL DEFAULT 0,
        owner TEXT,
        lease_until REAL
    )
    """,
    # Every id that the CLI ever had for a session, so that an old resume line finds it.
    """
    CREATE TABLE cli_sessions (
        cli_session_id TEXT NOT NULL,
        session_id TEXT NOT NULL,
        PRIMARY KEY (cli_session_id, session_id)
    )
    """,
    "CREATE INDEX cli_sessions_of_session ON cli_sessions (session_id)",
    # With a rowid: bodies are larger than keys, and without one writing took half as long again.
    """
    CREATE TABLE events (
        session_id TEXT NOT NULL,
        seq INTEGER NOT NULL,
        at REAL NOT NULL,
        type TEXT NOT NULL,
        run INTEGER,
        body BLOB NOT NULL,
        cuts BLOB,
        PRIMARY KEY (session_id, seq)
    )
    """,
    # What is searched, apart from the events: few have any, and reading them does not need it.
    """
    CREATE TABLE texts (
        id INTEGER PRIMARY KEY,
        session_id TEXT NOT NULL,
        seq INTEGER NOT NULL,
        type TEXT NOT NULL,
        text TEXT NOT NULL
    )
    """,
    "CREATE INDEX texts_of_session ON texts (session_id)",
    """
    CREATE TABLE runs (
        session_id TEXT NOT NULL,
        number INTEGER NOT NULL,
        started_seq INTEGER NOT NULL,
        started_at REAL NOT NULL,
        completed_seq INTEGER,
        completed_at REAL,
        ok INTEGER,
        cost_usd REAL NOT NULL,
        PRIMARY KEY (session_id, number)
    )
    """,
    "CREATE INDEX runs_by_completion ON runs (completed_at)",
    """
    CREATE TABLE asks (
        session_id TEXT NOT NULL,
        id TEXT NOT NULL,
        kind TEXT NOT NULL,
        digest TEXT NOT NULL,
        title TEXT NOT NULL,
        body BLOB NOT NULL,
        cuts BLOB,
        opened_at REAL NOT NULL,
        state TEXT NOT NULL,
        answer BLOB,
        decided_by TEXT NOT NULL,
        surface TEXT NOT NULL,
        decided_at REAL,
        closed_at REAL,
        PRIMARY KEY (session_id, id)
    )
    """,
    "CREATE INDEX asks_by_state ON asks (state, opened_at)",
    """
    CREATE TABLE messages (
        id INTEGER PRIMARY KEY,
        session_id TEXT NOT NULL,
        uuid TEXT NOT NULL,
        content BLOB NOT NULL,
        cuts BLOB,
        at REAL NOT NULL,
        state TEXT NOT NULL,
        sent_by TEXT NOT NULL,
        surface TEXT NOT NULL,
        UNIQUE (session_id, uuid)
    )
    """,
    # A block is the frames of one batch, compressed together; `first` is the number of its first frame.
    """
    CREATE TABLE frames (
        session_id TEXT NOT NULL,
        first INTEGER NOT NULL,
        count INTEGER NOT NULL,
        at REAL NOT NULL,
        data BLOB NOT NULL,
        PRIMARY KEY (session_id, first)
    )
    """,
    """
    CREATE TABLE starts (
        id INTEGER PRIMARY KEY,
        session_id TEXT NOT NULL,
        at REAL NOT NULL,
        why TEXT NOT NULL,
        pid INTEGER,
        process_started REAL,
        marker TEXT NOT NULL
    )
    """,
    "CREATE INDEX starts_of_session ON starts (session_id, at)",
    """
    CREATE TABLE artefacts (
        sha256 TEXT NOT NULL PRIMARY KEY,
        size INTEGER NOT NULL,
        data BLOB NOT NULL
    )
    """,
    """
    CREATE TABLE artefact_uses (
        sha256 TEXT NOT NULL,
        session_id TEXT NOT NULL,
        PRIMARY KEY (sha256, session_id)
    )
    """,
    "CREATE INDEX artefact_uses_of_session ON artefact_uses (session_id)",
    # Sessions that are gone for everybody, but whose rows are still being removed.
    "CREATE TABLE deletions (session_id TEXT NOT NULL PRIMARY KEY)",
    "CREATE TABLE facts (name TEXT NOT NULL PRIMARY KEY, value INTEGER NOT NULL)",
)

"""The tables of the bridge's database, and how an older one becomes one of these: named steps, in order."""

from __future__ import annotations

import sqlite3

from handrail.store.migrations import Migration

__all__ = ["APPLICATION_ID", "MIGRATIONS"]

APPLICATION_ID = 0x48525447
"""Marks a file as what a Telegram bridge of Handrail's remembers."""

_TABLES = (
    # What a message is to show (`content`, `attachment` and their digests), and what it shows (`shown_content`, and the
    # digests `shown` and `shown_attachment`).
    # `due` says that these differ and something can be done about it; `number` is the order in which it came to be due.
    """CREATE TABLE messages (
        key TEXT PRIMARY KEY,
        chat INTEGER NOT NULL,
        thread INTEGER NOT NULL,
        message_id INTEGER NOT NULL DEFAULT 0,
        session_id TEXT NOT NULL,
        ask_id TEXT NOT NULL,
        purpose TEXT NOT NULL,
        priority INTEGER NOT NULL,
        after TEXT NOT NULL,
        content BLOB NOT NULL,
        digest BLOB NOT NULL,
        attachment BLOB,
        attachment_digest BLOB NOT NULL,
        shown_content BLOB NOT NULL DEFAULT x'',
        shown BLOB NOT NULL DEFAULT x'',
        shown_attachment BLOB NOT NULL DEFAULT x'',
        due INTEGER NOT NULL,
        number INTEGER NOT NULL,
        due_since REAL NOT NULL,
        problem TEXT NOT NULL DEFAULT '',
        changed_at REAL NOT NULL
    ) WITHOUT ROWID""",
    "CREATE INDEX messages_due ON messages (chat, thread, priority, number) WHERE due",
    "CREATE INDEX messages_by_number ON messages (number)",
    "CREATE INDEX messages_by_id ON messages (chat, message_id) WHERE message_id",
    "CREATE INDEX messages_by_session ON messages (session_id, ask_id) WHERE session_id <> ''",
    "CREATE INDEX messages_by_time ON messages (changed_at)",
    # Chats that take nothing at the moment, because the bot was blocked or removed there.
    "CREATE TABLE resting (chat INTEGER PRIMARY KEY, why TEXT NOT NULL, since REAL NOT NULL)",
    """CREATE TABLE buttons (
        token TEXT PRIMARY KEY,
        key TEXT NOT NULL,
        press BLOB NOT NULL,
        minted_at REAL NOT NULL,
        UNIQUE (key, press)
    ) WITHOUT ROWID""",
    "CREATE INDEX buttons_by_time ON buttons (minted_at)",
    """CREATE TABLE follows (
        session_id TEXT NOT NULL,
        chat INTEGER NOT NULL,
        thread INTEGER NOT NULL,
        mode TEXT NOT NULL,
        cursor INTEGER NOT NULL,
        PRIMARY KEY (session_id, chat, thread)
    ) WITHOUT ROWID""",
    "CREATE INDEX follows_by_place ON follows (chat, thread)",
    """CREATE TABLE chats (
        chat INTEGER NOT NULL,
        thread INTEGER NOT NULL,
        record BLOB NOT NULL,
        PRIMARY KEY (chat, thread)
    ) WITHOUT ROWID""",
    # `body` is emptied when an update is done; that it was there is remembered, because Telegram may repeat it.
    """CREATE TABLE updates (
        arrival INTEGER PRIMARY KEY AUTOINCREMENT,
        update_id INTEGER NOT NULL UNIQUE,
        body BLOB NOT NULL,
        done INTEGER NOT NULL DEFAULT 0,
        kept_at REAL NOT NULL
    )""",
    "CREATE INDEX updates_undone ON updates (arrival) WHERE NOT done",
    """CREATE TABLE drafts (
        ask_id TEXT NOT NULL,
        chat INTEGER NOT NULL,
        thread INTEGER NOT NULL,
        draft BLOB NOT NULL,
        changed_at REAL NOT NULL,
        PRIMARY KEY (ask_id, chat, thread)
    ) WITHOUT ROWID""",
    "CREATE TABLE notes (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
)

_LATER = "strftime('%s', 'now') + 24 * 3600"
_IS_OVER = "json_valid(value) AND json_extract(value, '$.outcome') NOT IN ('lost', 'unsent')"
_NOTES_END = (
    # When a note is forgotten, if ever; and whether messages and buttons under its key stay as long as it does.
    "ALTER TABLE notes ADD COLUMN forget_at REAL",
    "ALTER TABLE notes ADD COLUMN holds INTEGER NOT NULL DEFAULT 0",
    "CREATE INDEX notes_by_end ON notes (forget_at) WHERE forget_at IS NOT NULL",
    "CREATE INDEX notes_holding ON notes (key) WHERE holds",
    # What was noted before ends as if it had been noted now.
    f"UPDATE notes SET forget_at = {_LATER} * 180 WHERE key GLOB 'prompt:*'",  # noqa: S608
    f"UPDATE notes SET forget_at = {_LATER} * 365 WHERE key GLOB 'sent:*'",  # noqa: S608
    f"UPDATE notes SET forget_at = {_LATER} * 365, holds = key NOT GLOB 'ask:digest:*' WHERE key GLOB 'ask:*'",  # noqa: S608
    f"UPDATE notes SET forget_at = {_LATER} * 30, holds = 0 WHERE holds AND {_IS_OVER}",  # noqa: S608
)


def create_tables(connection: sqlite3.Connection) -> None:
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    for statement in _TABLES:
        connection.execute(statement)


def give_notes_an_end(connection: sqlite3.Connection) -> None:
    for statement in _NOTES_END:
        connection.execute(statement)


MIGRATIONS: tuple[Migration, ...] = (create_tables, give_notes_an_end)
"""A step is never changed once it was released; what comes later is a new one at the end."""

"""Looks into the databases of a hub and its hosts: whether the hub has exactly what the host has."""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from handrail.events.codec import decode_event
from handrail.events.model import Event
from handrail.testing.journal_checks import journal_problems

from .machines import eventually

COPIED = {
    "events": "seq",
    "runs": "number",
    "asks": "id",
    "messages": "uuid",
    "texts": "seq",
}
"""What is copied of a session, and by what its rows are told apart."""
OF_EACH_STORE = {"id", "place", "revision"}
"""Columns in which two stores may differ although they hold the same: how they number their rows."""


@contextmanager
def _opened(database: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True, timeout=30)) as connection:
        connection.row_factory = sqlite3.Row
        yield connection


def rows_of(database: Path, table: str, session: str) -> list[dict[str, Any]]:
    """The rows of a session in a table, without what differs from store to store."""
    key = COPIED[table]
    left_out = OF_EACH_STORE - {key}
    with _opened(database) as connection:
        query = f"SELECT * FROM {table} WHERE session_id = ? ORDER BY {key}"  # noqa: S608  a table of ours
        found = connection.execute(query, (session,)).fetchall()
    return [{name: value for name, value in dict(row).items() if name not in left_out} for row in found]


def session_row(database: Path, session: str) -> Mapping[str, Any]:
    """The row of a session; all is empty if there is none."""
    with _opened(database) as connection:
        row = connection.execute("SELECT * FROM sessions WHERE id = ?", (session,)).fetchone()
    return defaultdict(str, dict(row or {}))


def starts_of(database: Path, session: str) -> list[str]:
    """Why Claude Code was started, each time that it was."""
    return [row["why"] for row in _starts(database, session)]


def markers_of(database: Path, session: str) -> list[str]:
    """The marks by which the processes of a session are known."""
    return [row["marker"] for row in _starts(database, session)]


def _starts(database: Path, session: str) -> list[sqlite3.Row]:
    with _opened(database) as connection:
        return connection.execute("SELECT * FROM starts WHERE session_id = ? ORDER BY id", (session,)).fetchall()


def sessions_in(database: Path) -> list[str]:
    with _opened(database) as connection:
        return [row[0] for row in connection.execute("SELECT id FROM sessions ORDER BY id")]


def events_in(database: Path, session: str) -> list[Event]:
    return [decode_event(row["body"]) for row in rows_of(database, "events", session)]


def asks_in(database: Path, session: str) -> list[tuple[str, str]]:
    """The state and the title of each ask that a person or the policy was asked, in their order."""
    rows = sorted(rows_of(database, "asks", session), key=lambda row: float(row["opened_at"]))
    return [(row["state"], row["title"]) for row in rows]


def differences(copy: Path, journal: Path, session: str) -> list[str]:
    """Where the hub's copy is another than the host's journal."""
    found = [
        f"{table}: {len(rows_of(copy, table, session))} rows here, {len(rows_of(journal, table, session))} there"
        for table in COPIED
        if rows_of(copy, table, session) != rows_of(journal, table, session)
    ]
    columns = ("last_seq", "fence", "status", "title", "model", "cost_usd", "cli_session_id", "settings", "updated_at")
    here, there = session_row(copy, session), session_row(journal, session)
    found += [
        f"{name}: {here.get(name)!r}, {there.get(name)!r}" for name in columns if here.get(name) != there.get(name)
    ]
    return found


async def until_equal(copy: Path, journal: Path, session: str) -> None:
    """Wait until the hub has all that the host has, row by row; then see that nothing in it is wrong or doubled."""
    found: list[str] = []

    def are_equal() -> bool:
        found[:] = differences(copy, journal, session)
        return not found

    try:
        await eventually(are_equal)
    except AssertionError:
        raise AssertionError(f"the copy of session {session} is another: {found}") from None
    events = events_in(copy, session)
    assert journal_problems(events, ended=False) == []
    assert [event.seq for event in events] == list(range(1, len(events) + 1))


def unanswered(database: Path) -> int:
    """How many messages of all sessions wait for their answer."""
    with _opened(database) as connection:
        found = connection.execute("SELECT count(*) FROM messages WHERE state <> 'answered'").fetchone()
        return int(found[0])


def event_count(database: Path) -> int:
    """How many events of all sessions there are."""
    with _opened(database) as connection:
        return int(connection.execute("SELECT count(*) FROM events").fetchone()[0])

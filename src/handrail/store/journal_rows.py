"""Reading a session's journal: events, runs, starts, and what was spent."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Sequence
from typing import Any

from handrail.store.artefacts import fetcher, unpack
from handrail.store.base import EventRow, RunRow, StartRow
from handrail.store.reading import snapshot

__all__ = ["RUN_COLUMNS", "digest_at", "event_digest", "read_events", "read_runs", "read_starts", "run_of", "spent"]

RUN_COLUMNS = "number, started_seq, started_at, completed_seq, completed_at, ok, cost_usd"


_EVENTS = "SELECT seq, at, type, run, body, cuts FROM events WHERE session_id = ? AND seq > ?"


def read_events(
    connection: sqlite3.Connection, session_id: str, after: int, before: int | None, limit: int
) -> list[EventRow]:
    with snapshot(connection):
        fetch = fetcher(connection)
        if before is None:
            statement = f"{_EVENTS} ORDER BY seq LIMIT ?"
            rows = connection.execute(statement, (session_id, after, limit)).fetchall()
        else:
            statement = f"{_EVENTS} AND seq < ? ORDER BY seq DESC LIMIT ?"
            rows = connection.execute(statement, (session_id, after, before, limit)).fetchall()[::-1]
        return [
            EventRow(seq=seq, at=at, type=kind, run=run, body=unpack(body, cuts, fetch))
            for seq, at, kind, run, body, cuts in rows
        ]


def event_digest(event: EventRow) -> str:
    """What tells an event from another of the same number."""
    return hashlib.sha256(repr((event.seq, float(event.at), event.type)).encode() + event.body).hexdigest()


def digest_at(connection: sqlite3.Connection, session_id: str, seq: int) -> str:
    """The digest of a stored event; empty if there is none of this number. Inside a transaction."""
    row = connection.execute(f"{_EVENTS} ORDER BY seq LIMIT 1", (session_id, seq - 1)).fetchone()
    if row is None or row[0] != seq:
        return ""
    seq, at, kind, run, body, cuts = row
    return event_digest(EventRow(seq=seq, at=at, type=kind, run=run, body=unpack(body, cuts, fetcher(connection))))


def read_runs(connection: sqlite3.Connection, session_id: str) -> list[RunRow]:
    statement = f"SELECT {RUN_COLUMNS} FROM runs WHERE session_id = ? ORDER BY number"  # noqa: S608 - our columns
    return [run_of(row) for row in connection.execute(statement, (session_id,))]


def run_of(row: Sequence[Any]) -> RunRow:
    """A row of `RUN_COLUMNS`."""
    number, started_seq, started_at, completed_seq, completed_at, ok, cost_usd = row
    return RunRow(
        number=number,
        started_seq=started_seq,
        started_at=started_at,
        completed_seq=completed_seq,
        completed_at=completed_at,
        ok=None if ok is None else bool(ok),
        cost_usd=cost_usd,
    )


def read_starts(connection: sqlite3.Connection, session_id: str, since: float) -> list[StartRow]:
    rows = connection.execute(
        "SELECT at, why, pid, process_started, marker FROM starts WHERE session_id = ? AND at >= ? ORDER BY id",
        (session_id, since),
    )
    return [
        StartRow(at=at, why=why, pid=pid, process_started=process_started, marker=marker)
        for at, why, pid, process_started, marker in rows
    ]


def spent(connection: sqlite3.Connection, since: float, session_id: str | None) -> float:
    statement = "SELECT coalesce(sum(cost_usd), 0) FROM runs WHERE completed_at >= ?"
    if session_id is None:
        own = "session_id NOT IN (SELECT id FROM sessions WHERE host != '')"
        row = connection.execute(f"{statement} AND {own}", (since,)).fetchone()
    else:
        row = connection.execute(f"{statement} AND session_id = ?", (since, session_id)).fetchone()
    return float(row[0])

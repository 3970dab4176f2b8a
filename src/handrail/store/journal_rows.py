"""Reading a session's journal: events, runs, starts, and what was spent."""

from __future__ import annotations

import sqlite3

from handrail.store.artefacts import fetcher, unpack
from handrail.store.base import EventRow, RunRow, StartRow
from handrail.store.reading import snapshot

__all__ = ["read_events", "read_runs", "read_starts", "spent"]


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


def read_runs(connection: sqlite3.Connection, session_id: str) -> list[RunRow]:
    rows = connection.execute(
        "SELECT number, started_seq, started_at, completed_seq, completed_at, ok, cost_usd FROM runs "
        "WHERE session_id = ? ORDER BY number",
        (session_id,),
    )
    return [
        RunRow(
            number=number,
            started_seq=started_seq,
            started_at=started_at,
            completed_seq=completed_seq,
            completed_at=completed_at,
            ok=None if ok is None else bool(ok),
            cost_usd=cost_usd,
        )
        for number, started_seq, started_at, completed_seq, completed_at, ok, cost_usd in rows
    ]


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
        row = connection.execute(statement, (since,)).fetchone()
    else:
        row = connection.execute(f"{statement} AND session_id = ?", (since, session_id)).fetchone()
    return float(row[0])

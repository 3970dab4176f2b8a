"""Writing the rows of a session's journal: events, asks, messages, runs, starts."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from handrail.store.artefacts import Packed
from handrail.store.base import AskRow, EventRow, MessageRow, RunRow, StartRow
from handrail.store.deciding import ASK_COLUMNS, MESSAGE_COLUMNS
from handrail.store.journal_rows import RUN_COLUMNS
from handrail.store.rows import encodable

__all__ = [
    "ADD_ASK",
    "ADD_COPIED_ASK",
    "SEARCHABLE",
    "add_events",
    "add_starts",
    "remember_cli_session",
    "store_asks",
    "store_messages",
    "store_runs",
]

SEARCHABLE = 256 * 1024
"""How many characters of an event can be searched."""

_NEWLY_ANSWERED = "(asks.answer IS NULL OR excluded.state = 'resumed' AND asks.state <> 'resumed')"
"""The first answer stays. Only one that may not have got anywhere is replaced, by the one that resumes the session."""
_ASK = f"""
INSERT INTO asks ({ASK_COLUMNS}, revision) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (session_id, id) DO UPDATE SET
    kind = excluded.kind,
    title = excluded.title,
    body = excluded.body,
    cuts = excluded.cuts,
    state = excluded.state,
    closed_at = excluded.closed_at,
    revision = excluded.revision,
    digest = CASE WHEN {_NEWLY_ANSWERED} THEN excluded.digest ELSE asks.digest END,
    decided_by = CASE WHEN {_NEWLY_ANSWERED} THEN excluded.decided_by ELSE asks.decided_by END,
    surface = CASE WHEN {_NEWLY_ANSWERED} THEN excluded.surface ELSE asks.surface END,
    decided_at = CASE WHEN {_NEWLY_ANSWERED} THEN excluded.decided_at ELSE asks.decided_at END,
    granted_by = CASE WHEN asks.answer IS NULL THEN excluded.granted_by ELSE asks.granted_by END,
    answer = CASE WHEN {_NEWLY_ANSWERED} THEN excluded.answer ELSE asks.answer END
"""  # noqa: S608 - our columns
ADD_ASK = f"{_ASK} WHERE asks.state = 'pending' OR excluded.state <> 'pending'"
"""What closed an ask, closed it for good."""
ADD_COPIED_ASK = f"{_ASK} WHERE asks.answer IS NULL OR excluded.state <> 'pending'"
"""Whether an ask is closed is known where it was asked: a copy that took it for lost may learn better."""

_UPSERT_MESSAGE = f"""
INSERT INTO messages (session_id, {MESSAGE_COLUMNS}, revision, place) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (session_id, uuid) DO UPDATE SET
    content = excluded.content, cuts = excluded.cuts, at = excluded.at, state = excluded.state,
    sent_by = excluded.sent_by, surface = excluded.surface, revision = excluded.revision
"""  # noqa: S608 - our columns

_UPSERT_RUN = f"""
INSERT INTO runs (session_id, {RUN_COLUMNS}, revision) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (session_id, number) DO UPDATE SET
    started_seq = excluded.started_seq, started_at = excluded.started_at, completed_seq = excluded.completed_seq,
    completed_at = excluded.completed_at, ok = excluded.ok, cost_usd = excluded.cost_usd, revision = excluded.revision
"""  # noqa: S608 - our columns

_ADD_START = "INSERT INTO starts (session_id, at, why, pid, process_started, marker) VALUES (?, ?, ?, ?, ?, ?)"


def add_events(
    connection: sqlite3.Connection, session_id: str, rows: Sequence[EventRow], packed: Sequence[Packed]
) -> None:
    connection.executemany(
        "INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?)",
        [
            (session_id, row.seq, row.at, row.type, row.run, one.body, one.cuts)
            for row, one in zip(rows, packed, strict=True)
        ],
    )
    texts = [(session_id, row.seq, row.type, encodable(row.text[:SEARCHABLE])) for row in rows if row.text]
    if texts:
        connection.executemany("INSERT INTO texts (session_id, seq, type, text) VALUES (?, ?, ?, ?)", texts)


def store_asks(
    connection: sqlite3.Connection,
    rows: Sequence[AskRow],
    packed: Sequence[Packed],
    revisions: Iterator[int],
    *,
    statement: str = ADD_ASK,
) -> None:
    values = [(*_ask_values(row, one), next(revisions)) for row, one in zip(rows, packed, strict=True)]
    connection.executemany(statement, values)


def store_messages(
    connection: sqlite3.Connection,
    session_id: str,
    rows: Sequence[MessageRow],
    packed: Sequence[Packed],
    revisions: Iterator[int],
    *,
    places: Iterable[int | None],
) -> None:
    connection.executemany(
        _UPSERT_MESSAGE,
        [
            (session_id, row.uuid, one.body, one.cuts, row.at, row.state, row.by, row.surface, next(revisions), place)
            for row, one, place in zip(rows, packed, places, strict=True)
        ],
    )


def store_runs(
    connection: sqlite3.Connection, session_id: str, rows: Sequence[RunRow], revisions: Iterator[int]
) -> None:
    connection.executemany(_UPSERT_RUN, [(session_id, *_run_values(row), next(revisions)) for row in rows])


def add_starts(connection: sqlite3.Connection, session_id: str, rows: Sequence[StartRow]) -> None:
    connection.executemany(
        _ADD_START, [(session_id, row.at, row.why, row.pid, row.process_started, row.marker) for row in rows]
    )


def remember_cli_session(connection: sqlite3.Connection, session_id: str, cli_session_id: str) -> None:
    """So that the session is found by this id also when it has another one."""
    connection.execute("INSERT INTO cli_sessions VALUES (?, ?) ON CONFLICT DO NOTHING", (cli_session_id, session_id))


def _ask_values(row: AskRow, packed: Packed) -> tuple[Any, ...]:
    return (
        row.session_id,
        row.id,
        row.kind,
        row.digest,
        encodable(row.title),
        packed.body,
        packed.cuts,
        row.opened_at,
        row.state,
        row.answer,
        row.decided_by,
        row.surface,
        row.decided_at,
        row.closed_at,
        row.granted_by,
    )


def _run_values(row: RunRow) -> tuple[Any, ...]:
    times = (row.started_seq, row.started_at, row.completed_seq, row.completed_at)
    return (row.number, *times, row.ok, row.cost_usd)

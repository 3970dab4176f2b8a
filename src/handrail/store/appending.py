"""Appending to a session's journal: a batch, whole or not at all, by the holder of the latest lease."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any

from handrail.errors import StoreError
from handrail.store.artefacts import Packed, pack, store_artefacts
from handrail.store.base import AskRow, Batch, EventRow, Lease, MessageRow, RunRow, StartRow
from handrail.store.frame_blocks import pack_frames, store_frames
from handrail.store.leases import why_not
from handrail.store.rows import encodable
from handrail.store.usage_rows import store_usage
from handrail.store.watching import Changed
from handrail.store.writer import Operation

__all__ = ["Append"]

SEARCHABLE = 256 * 1024
"""How many characters of an event can be searched."""

_SETTABLE = frozenset({"title", "cli_session_id", "status", "model", "cost_usd", "settings", "updated_at"})

_UPSERT_ASK = """
INSERT INTO asks VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (session_id, id) DO UPDATE SET
    kind = excluded.kind,
    title = excluded.title,
    body = excluded.body,
    cuts = excluded.cuts,
    state = excluded.state,
    closed_at = excluded.closed_at,
    digest = CASE WHEN asks.answer IS NULL THEN excluded.digest ELSE asks.digest END,
    decided_by = CASE WHEN asks.answer IS NULL THEN excluded.decided_by ELSE asks.decided_by END,
    surface = CASE WHEN asks.answer IS NULL THEN excluded.surface ELSE asks.surface END,
    decided_at = CASE WHEN asks.answer IS NULL THEN excluded.decided_at ELSE asks.decided_at END,
    answer = coalesce(asks.answer, excluded.answer)
WHERE asks.state = 'pending' OR excluded.state <> 'pending'
"""

_UPSERT_MESSAGE = """
INSERT INTO messages (session_id, uuid, content, cuts, at, state, sent_by, surface) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (session_id, uuid) DO UPDATE SET
    content = excluded.content, cuts = excluded.cuts, at = excluded.at, state = excluded.state,
    sent_by = excluded.sent_by, surface = excluded.surface
"""

_UPSERT_RUN = """
INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (session_id, number) DO UPDATE SET
    started_seq = excluded.started_seq, started_at = excluded.started_at, completed_seq = excluded.completed_seq,
    completed_at = excluded.completed_at, ok = excluded.ok, cost_usd = excluded.cost_usd
"""

_ADD_START = "INSERT INTO starts (session_id, at, why, pid, process_started, marker) VALUES (?, ?, ?, ?, ?, ?)"


class Append(Operation[None]):
    """One batch."""

    def __init__(self, lease: Lease, batch: Batch) -> None:
        self._lease = lease
        self._batch = batch
        self.durable = batch.durable
        self._events: Sequence[Packed] = ()
        self._asks: Sequence[Packed] = ()
        self._messages: Sequence[Packed] = ()
        self._frames = b""
        self._last_seq = 0

    def prepare(self) -> None:
        """Cut out what is large, and compress."""
        batch = self._batch
        _check(batch, self._lease.session_id)
        self._events = [pack(row.body) for row in batch.events]
        self._asks = [pack(row.body) for row in batch.asks]
        self._messages = [pack(row.content) for row in batch.messages]
        if batch.frames:
            self._frames = pack_frames(batch.frames)

    def apply(self, connection: sqlite3.Connection) -> None:
        session_id = self._lease.session_id
        batch = self._batch
        self._advance(connection)
        if batch.events:
            _add_events(connection, session_id, batch.events, self._events)
        if batch.frames:
            store_frames(connection, session_id, batch.frames, self._frames)
        if batch.asks:
            connection.executemany(_UPSERT_ASK, map(_ask_values, batch.asks, self._asks))
        if batch.messages:
            rows = zip(batch.messages, self._messages, strict=True)
            connection.executemany(_UPSERT_MESSAGE, [_message_values(session_id, *row) for row in rows])
        if batch.runs:
            connection.executemany(_UPSERT_RUN, [_run_values(session_id, row) for row in batch.runs])
        if batch.starts:
            connection.executemany(_ADD_START, [_start_values(session_id, row) for row in batch.starts])
        if batch.usage:
            store_usage(connection, session_id, batch.usage)
        store_artefacts(connection, session_id, (*self._events, *self._asks, *self._messages))

    def woken(self) -> Changed:
        return Changed(self._lease.session_id, self._last_seq, self.number)

    def _advance(self, connection: sqlite3.Connection) -> None:
        """Check the lease and the numbers, and take the next ones, in one statement: nothing is written if it fails."""
        batch = self._batch
        lease = self._lease
        changes = ["last_seq = last_seq + ?", "last_frame = last_frame + ?", "changed = ?"]
        changes += [f"{name} = ?" for name in batch.session]
        values: list[Any] = [len(batch.events), len(batch.frames), self.number]
        values += map(_column_value, batch.session.values())
        condition = "id = ? AND fence = ? AND owner = ?"
        values += (lease.session_id, lease.fence, lease.owner)
        if batch.events:
            condition += " AND last_seq = ?"
            values.append(batch.events[0].seq - 1)
        # Only names of our own columns and numbered places go into the statement.
        changed = connection.execute(f"UPDATE sessions SET {', '.join(changes)} WHERE {condition}", values)  # noqa: S608
        if not changed.rowcount:
            raise why_not(connection, lease, batch.events[0].seq if batch.events else None)
        self._last_seq = batch.events[-1].seq if batch.events else _last_seq(connection, lease.session_id)
        if cli_session_id := batch.session.get("cli_session_id"):
            remember_cli_session(connection, lease.session_id, cli_session_id)


def remember_cli_session(connection: sqlite3.Connection, session_id: str, cli_session_id: str) -> None:
    """So that the session is found by this id also when it has another one."""
    connection.execute("INSERT INTO cli_sessions VALUES (?, ?) ON CONFLICT DO NOTHING", (cli_session_id, session_id))


def _check(batch: Batch, session_id: str) -> None:
    if unknown := batch.session.keys() - _SETTABLE:
        raise StoreError(f"a batch cannot set {', '.join(sorted(unknown))} of a session")
    if any(row.session_id != session_id for row in batch.asks):
        raise StoreError("a batch cannot hold asks of another session than its lease's")
    for number, row in enumerate(batch.events, batch.events[0].seq if batch.events else 0):
        if row.seq != number:
            raise StoreError(
                f"the events of a batch must be numbered without gaps: {row.seq} stands where {number} should"
            )


def _last_seq(connection: sqlite3.Connection, session_id: str) -> int:
    (last_seq,) = connection.execute("SELECT last_seq FROM sessions WHERE id = ?", (session_id,)).fetchone()
    return int(last_seq)


def _add_events(
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
    )


def _message_values(session_id: str, row: MessageRow, packed: Packed) -> tuple[Any, ...]:
    return (session_id, row.uuid, packed.body, packed.cuts, row.at, row.state, row.by, row.surface)


def _run_values(session_id: str, row: RunRow) -> tuple[Any, ...]:
    return (
        session_id,
        row.number,
        row.started_seq,
        row.started_at,
        row.completed_seq,
        row.completed_at,
        row.ok,
        row.cost_usd,
    )


def _start_values(session_id: str, row: StartRow) -> tuple[Any, ...]:
    return (session_id, row.at, row.why, row.pid, row.process_started, row.marker)


def _column_value(value: Any) -> Any:
    return encodable(value) if isinstance(value, str) else value

"""Appending to a session's journal: a batch, whole or not at all, by the holder of the latest lease."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from itertools import count, repeat
from typing import Any

from handrail.errors import StoreError
from handrail.store.artefacts import Packed, pack, store_artefacts
from handrail.store.base import Batch, EventRow, Lease
from handrail.store.frame_blocks import pack_frames, store_frames
from handrail.store.journal_writing import (
    add_events,
    add_starts,
    remember_cli_session,
    store_asks,
    store_messages,
    store_runs,
)
from handrail.store.leases import why_not
from handrail.store.rows import encodable
from handrail.store.usage_rows import store_usage
from handrail.store.watching import Changed
from handrail.store.writer import Operation

__all__ = ["Append", "check_numbers"]

_SETTABLE = frozenset({"title", "cli_session_id", "status", "model", "cost_usd", "settings", "updated_at"})


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
        self._revisions = len(batch.asks) + len(batch.messages) + len(batch.runs) + len(batch.usage)
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
            add_events(connection, session_id, batch.events, self._events)
        if batch.frames:
            store_frames(connection, session_id, batch.frames, self._frames)
        if batch.starts:
            add_starts(connection, session_id, batch.starts)
        if self._revisions:
            self._store_rows(connection, session_id, batch)
        store_artefacts(connection, session_id, (*self._events, *self._asks, *self._messages))

    def woken(self) -> Changed:
        return Changed(self._lease.session_id, self._last_seq, self.number)

    def _store_rows(self, connection: sqlite3.Connection, session_id: str, batch: Batch) -> None:
        """What is stored again when it changes. Each takes one of the revisions that the session has counted."""
        revisions = count(_last(connection, "last_revision", session_id) - self._revisions + 1)
        if batch.asks:
            store_asks(connection, batch.asks, self._asks, revisions)
        if batch.messages:
            places = repeat(None, len(batch.messages))
            store_messages(connection, session_id, batch.messages, self._messages, revisions, places=places)
        if batch.runs:
            store_runs(connection, session_id, batch.runs, revisions)
        if batch.usage:
            store_usage(connection, session_id, batch.usage, revisions)

    def _advance(self, connection: sqlite3.Connection) -> None:
        """Check the lease and the numbers, and take the next ones, in one statement: nothing is written if it fails."""
        batch = self._batch
        lease = self._lease
        changes = ["last_seq = last_seq + ?", "last_frame = last_frame + ?", "last_revision = last_revision + ?"]
        changes += ["changed = ?", *(f"{name} = ?" for name in batch.session)]
        values: list[Any] = [len(batch.events), len(batch.frames), self._revisions, self.number]
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
        self._last_seq = batch.events[-1].seq if batch.events else _last(connection, "last_seq", lease.session_id)
        if cli_session_id := batch.session.get("cli_session_id"):
            remember_cli_session(connection, lease.session_id, cli_session_id)


def _check(batch: Batch, session_id: str) -> None:
    if unknown := batch.session.keys() - _SETTABLE:
        raise StoreError(f"a batch cannot set {', '.join(sorted(unknown))} of a session")
    if any(row.session_id != session_id for row in batch.asks):
        raise StoreError("a batch cannot hold asks of another session than its lease's")
    if batch.events:
        check_numbers(batch.events, batch.events[0].seq)


def check_numbers(events: Sequence[EventRow], first: int) -> None:
    """Raises `StoreError` unless the events are numbered from `first` on without gaps."""
    for number, row in enumerate(events, first):
        if row.seq != number:
            raise StoreError(
                f"the events of a batch must be numbered without gaps: {row.seq} stands where {number} should"
            )


def _last(connection: sqlite3.Connection, column: str, session_id: str) -> int:
    (number,) = connection.execute(f"SELECT {column} FROM sessions WHERE id = ?", (session_id,)).fetchone()  # noqa: S608
    return int(number)


def _column_value(value: Any) -> Any:
    return encodable(value) if isinstance(value, str) else value

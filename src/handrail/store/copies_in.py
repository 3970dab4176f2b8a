"""Storing copies of the sessions that other machines run, page by page."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from itertools import repeat
from typing import Any, NamedTuple

from handrail.errors import CopyDiverged, Fenced, SessionNotFound, StoreError
from handrail.store.appending import check_numbers
from handrail.store.artefacts import Packed, pack, store_artefacts
from handrail.store.base import CopyHead, CopyPage, EventRow
from handrail.store.changes import mark_changed, mark_gone
from handrail.store.copies_out import head_of
from handrail.store.host_schema import COPIED_TABLES
from handrail.store.journal_rows import digest_at, event_digest
from handrail.store.journal_writing import (
    ADD_COPIED_ASK,
    add_events,
    remember_cli_session,
    store_asks,
    store_messages,
    store_runs,
)
from handrail.store.leases import owner_of_copy
from handrail.store.rows import encodable, exists
from handrail.store.usage_rows import store_usage
from handrail.store.watching import Changed
from handrail.store.writer import Operation

__all__ = ["SetAside", "TakeCopy", "end_copy", "read_copied", "remember_pruned"]

_TABLES_OF_SESSIONS = (
    "cli_sessions", "events", "texts", "runs", "asks", "messages", "frames", "starts", "artefact_uses", "usage",
)  # fmt: skip

_HEADS = """
SELECT id, fence, last_seq, source_changed, last_revision, source_journal FROM sessions
WHERE host = ? AND host <> '' AND source_changed IS NOT NULL
UNION ALL SELECT session_id, fence, last_seq, changed, revision, journal FROM pruned_copies WHERE host = ?
"""


class _Standing(NamedTuple):
    """How far a copy has come."""

    fence: int = 0
    last_seq: int = 0
    revision: int = 0
    changed: int = 0
    journal: int = 0


class TakeCopy(Operation[int]):
    """One page of a host's session."""

    def __init__(self, host: str, page: CopyPage) -> None:
        self._host = host
        self._page = page
        self._id = page.session.id
        self._events: Sequence[Packed] = ()
        self._asks: Sequence[Packed] = ()
        self._messages: Sequence[Packed] = ()
        self._last_seq = 0

    def prepare(self) -> None:
        """Cut out what is large, and compress."""
        page = self._page
        _check(self._host, page)
        self._events = [pack(row.body) for row in page.events]
        self._asks = [pack(row.body) for row in page.asks]
        self._messages = [pack(row.content) for row in page.messages]

    def apply(self, connection: sqlite3.Connection) -> int:
        page = self._page
        found = _standing(connection, self._id, self._host)
        is_other_journal = found is not None and found.journal != page.journal
        standing = _Standing(journal=page.journal) if found is None else found
        if is_other_journal:
            standing = standing._replace(revision=0, changed=0, journal=page.journal)
        _check_follows(connection, page, standing)
        if found is None:
            _create(connection, self._host, self._id)
        if is_other_journal:
            _forget_rows(connection, self._id)
        if (page.session.fence, page.changed) >= (standing.fence, standing.changed):
            _set_columns(connection, self._host, page)
        if page.revision > standing.revision:
            self._store_rows(connection)
        self._add_events(connection, standing)
        self._advance(connection, standing)
        return self._last_seq

    def woken(self) -> Changed:
        return Changed(self._id, self._last_seq, self.number)

    def _add_events(self, connection: sqlite3.Connection, standing: _Standing) -> None:
        """Those that are not there yet."""
        known = max(standing.last_seq - self._page.after, 0)
        new, packed = self._page.events[known:], self._events[known:]
        if new:
            add_events(connection, self._id, new, packed)
            store_artefacts(connection, self._id, packed)

    def _advance(self, connection: sqlite3.Connection, standing: _Standing) -> None:
        self._last_seq = max(standing.last_seq, self._page.after + len(self._page.events))
        connection.execute(
            "UPDATE sessions SET last_seq = ?, last_revision = ?, source_journal = ?, changed = ? WHERE id = ?",
            (
                self._last_seq,
                max(self._page.revision, standing.revision),
                standing.journal,
                self.number,
                self._id,
            ),
        )

    def _store_rows(self, connection: sqlite3.Connection) -> None:
        page = self._page
        revisions = repeat(page.revision)
        store_asks(connection, page.asks, self._asks, revisions, statement=ADD_COPIED_ASK)
        store_messages(connection, self._id, page.messages, self._messages, revisions, places=page.message_places)
        store_runs(connection, self._id, page.runs, revisions)
        store_usage(connection, self._id, page.usage, revisions)
        store_artefacts(connection, self._id, (*self._asks, *self._messages))


def _check(host: str, page: CopyPage) -> None:
    """Whether the page is one that a store could have given."""
    if not host:
        raise StoreError("a copy needs the id of the host whose session it is of")
    if any(row.session_id != page.session.id for row in page.asks):
        raise StoreError("a page cannot hold asks of another session than its own")
    if len(page.message_places) != len(page.messages):
        raise StoreError("a page must say for each of its messages where it stands")
    check_numbers(page.events, page.after + 1)


def _standing(connection: sqlite3.Connection, session_id: str, host: str) -> _Standing | None:
    """Raises `StoreError` if the session is not to be copied from this host."""
    row = connection.execute(
        "SELECT host, fence, last_seq, last_revision, source_changed, source_journal FROM sessions WHERE id = ?",
        (session_id,),
    ).fetchone()
    if row is None:
        if connection.execute("SELECT 1 FROM deletions WHERE session_id = ?", (session_id,)).fetchone():
            raise StoreError(f"the copy of session {session_id} is still being removed: try again in a moment")
        return None
    if row[0] != host:
        whose = f"a copy from the host {row[0]}" if row[0] else "a session of this machine"
        raise StoreError(f"session {session_id} is {whose}, so it cannot be copied from the host {host}")
    if row[4] is None:
        raise StoreError(f"the copy {session_id} was set aside: nothing is added to it")
    return _Standing(*row[1:])


def _check_follows(connection: sqlite3.Connection, page: CopyPage, standing: _Standing) -> None:
    """Raises a `StoreError` unless the page can be joined to what is there."""
    session_id = page.session.id
    if page.session.fence < standing.fence:
        raise Fenced(
            f"session {session_id} has had another owner since (fence {standing.fence}, not {page.session.fence})"
        )
    if page.after > standing.last_seq:
        raise StoreError(
            f"event {page.after + 1} of session {session_id} does not follow event {standing.last_seq}, the last one "
            "of the copy"
        )
    if page.after_revision > standing.revision:
        raise StoreError(
            f"rows behind revision {page.after_revision} of session {session_id} do not follow revision "
            f"{standing.revision}, the last one of the copy"
        )
    _check_past(connection, page, standing.last_seq)


def _check_past(connection: sqlite3.Connection, page: CopyPage, last_seq: int) -> None:
    """Compare the last event that the page and the copy both know."""
    common: EventRow | None = None
    if page.events and page.after < last_seq:
        common = page.events[min(last_seq - page.after, len(page.events)) - 1]
    seq, digest = (common.seq, event_digest(common)) if common else (page.after, page.tail)
    if not digest or seq > last_seq:
        return
    if digest_at(connection, page.session.id, seq) != digest:
        raise CopyDiverged(
            f"event {seq} of session {page.session.id} is another one on its host than in the copy: the host lost its "
            "journal and went on without it; set the copy aside"
        )


def _create(connection: sqlite3.Connection, host: str, session_id: str) -> None:
    """A row to be filled in."""
    connection.execute("DELETE FROM gone WHERE session_id = ?", (session_id,))
    connection.execute("DELETE FROM pruned_copies WHERE session_id = ?", (session_id,))
    connection.execute(
        "INSERT INTO sessions (id, host, cwd, created_at, updated_at, title, status, archived, model, cost_usd, "
        "settings) VALUES (?, ?, '', 0, 0, '', '', 0, '', 0, '')",
        (session_id, host),
    )


def _forget_rows(connection: sqlite3.Connection, session_id: str) -> None:
    """The journal that comes in the place of another one may never have had them. Its own are copied from the first."""
    for table in COPIED_TABLES:
        connection.execute(f"DELETE FROM {table} WHERE session_id = ?", (session_id,))  # noqa: S608 - a name of ours


def _set_columns(connection: sqlite3.Connection, host: str, page: CopyPage) -> None:
    columns = _columns(host, page)
    changes = ", ".join(f"{name} = ?" for name in columns)
    connection.execute(
        f"UPDATE sessions SET {changes} WHERE id = ?",  # noqa: S608 - our columns
        (*columns.values(), page.session.id),
    )
    for cli_session_id in page.cli_session_ids:
        remember_cli_session(connection, page.session.id, cli_session_id)


def _columns(host: str, page: CopyPage) -> dict[str, Any]:
    row = page.session
    return {
        "cwd": encodable(row.cwd),
        "created_at": row.created_at,
        "updated_at": row.updated_at,
        "title": encodable(row.title),
        "cli_session_id": row.cli_session_id,
        "status": row.status,
        "archived": row.archived,
        "forked_from": row.forked_from,
        "model": row.model,
        "cost_usd": row.cost_usd,
        "settings": row.settings,
        "fence": row.fence,
        "owner": None if row.owner is None else owner_of_copy(host),
        "lease_until": None,
        "source_changed": page.changed,
    }


def read_copied(connection: sqlite3.Connection, host: str) -> list[CopyHead]:
    return [head_of(row) for row in connection.execute(_HEADS, (host, host))]


def remember_pruned(connection: sqlite3.Connection, session_id: str) -> None:
    """Note how far a copy has come that is about to be pruned, if it is one that more would be copied to."""
    connection.execute(
        "INSERT INTO pruned_copies "
        "SELECT id, host, fence, last_seq, source_changed, last_revision, source_journal FROM sessions "
        "WHERE id = ? AND source_changed IS NOT NULL",
        (session_id,),
    )


class SetAside(Operation[None]):
    """Give a copy another id, under which nothing more is copied to it."""

    def __init__(self, session_id: str, as_id: str, title: str) -> None:
        self._id = session_id
        self._as_id = as_id
        self._title = title
        self._last_seq = 0

    def apply(self, connection: sqlite3.Connection) -> None:
        self._last_seq = _copy_to_end(connection, self._id)
        if exists(connection, self._as_id):
            raise StoreError(f"there is a session {self._as_id} already")
        _lose_asks(connection, self._id, None)
        connection.execute(
            "UPDATE sessions SET id = ?, title = ?, archived = 1, owner = NULL, source_changed = NULL WHERE id = ?",
            (self._as_id, encodable(self._title), self._id),
        )
        for table in _TABLES_OF_SESSIONS:
            connection.execute(
                f"UPDATE {table} SET session_id = ? WHERE session_id = ?",  # noqa: S608 - a name of ours
                (self._as_id, self._id),
            )
        mark_gone(connection, self._id, self.number)
        mark_changed(connection, self._as_id, self.number)

    def woken(self) -> Changed:
        return Changed(self._as_id, self._last_seq, self.number)


def end_copy(connection: sqlite3.Connection, session_id: str, status: str, at: float) -> None:
    """Should its host have it again after all, every row is to be copied anew."""
    _copy_to_end(connection, session_id)
    _lose_asks(connection, session_id, at)
    connection.execute(
        "UPDATE sessions SET owner = NULL, status = ?, source_changed = 0, last_revision = 0 WHERE id = ?",
        (status, session_id),
    )


def _copy_to_end(connection: sqlite3.Connection, session_id: str) -> int:
    """The number of the last event of a copy. Raises a `HandrailError` if it is none."""
    row = connection.execute("SELECT source_changed, last_seq FROM sessions WHERE id = ?", (session_id,)).fetchone()
    if row is None:
        raise SessionNotFound(f"there is no session {session_id!r} in the journal")
    if row[0] is None:
        raise StoreError(f"session {session_id} is not a copy that anything is added to")
    return int(row[1])


def _lose_asks(connection: sqlite3.Connection, session_id: str, at: float | None) -> None:
    """Nobody can answer them any more. Without a time, it was when the session was last heard of."""
    connection.execute(
        "UPDATE asks SET state = 'lost', closed_at = coalesce(?, (SELECT updated_at FROM sessions WHERE id = ?)) "
        "WHERE session_id = ? AND state = 'pending'",
        (at, session_id, session_id),
    )

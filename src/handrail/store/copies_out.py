"""Reading what a copy elsewhere lacks of a session: pages that begin where it stands, and end where one likes."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from heapq import merge
from operator import itemgetter
from typing import Any, TypeAlias

from handrail.store.artefacts import fetcher, unpack
from handrail.store.base import AskRow, CopyHead, CopyPage, EventRow, MessageRow, RunRow, RunUsageRow
from handrail.store.deciding import ASK_COLUMNS, MESSAGE_COLUMNS, ask_of, message_of
from handrail.store.journal_rows import RUN_COLUMNS, digest_at, run_of
from handrail.store.reading import snapshot
from handrail.store.rows import SESSION_COLUMNS, session_of
from handrail.store.usage_rows import USAGE_COLUMNS, usage_of

__all__ = ["head_of", "read_heads", "read_page"]

_ROW_OVERHEAD = 200
"""What a row takes on the wire beside its large parts, in bytes."""

_EVENTS = """
SELECT events.seq, events.at, events.type, events.run, events.body, events.cuts, coalesce(texts.text, '') FROM events
LEFT JOIN texts ON texts.session_id = events.session_id AND texts.seq = events.seq
WHERE events.session_id = ? AND events.seq > ? ORDER BY events.seq
"""

_JOURNAL = "(SELECT value FROM facts WHERE name = 'journal')"

_Changed: TypeAlias = tuple[int, int, list[Any], Any]
"""The revision of a row, its size in bytes, where it belongs on the page, and the row."""
_Parse: TypeAlias = Callable[[Sequence[Any]], tuple[int, Any]]
"""Tells from the columns of a row the size of its large parts, and the row."""


def read_heads(connection: sqlite3.Connection, after: int, limit: int) -> list[CopyHead]:
    columns = f"SELECT id, fence, last_seq, changed, last_revision, {_JOURNAL} FROM sessions WHERE host = ''"  # noqa: S608
    with snapshot(connection):
        rows = connection.execute(f"{columns} AND changed > ? ORDER BY changed LIMIT ?", (after, limit)).fetchall()
        if len(rows) == limit:  # those of the last step are read whole: the next page begins behind it
            last = rows[-1][3]
            rows = [row for row in rows if row[3] < last]
            rows += connection.execute(f"{columns} AND changed = ? ORDER BY id", (last,))
    return [head_of(row) for row in rows]


def head_of(row: Sequence[Any]) -> CopyHead:
    """A session's id, fence, last event, last change, last revision, and journal."""
    return CopyHead(session_id=row[0], fence=row[1], last_seq=row[2], changed=row[3], revision=row[4], journal=row[5])


def read_page(
    connection: sqlite3.Connection, session_id: str, after: int, revision: int, limit_bytes: int
) -> CopyPage | None:
    """Rows first: what is shown of a session is never older than its events."""
    with snapshot(connection):
        row = connection.execute(
            f"SELECT {SESSION_COLUMNS}, changed, last_revision, {_JOURNAL} FROM sessions WHERE id = ?",  # noqa: S608 - our columns
            (session_id,),
        ).fetchone()
        if row is None:
            return None
        session, (changed, last_revision, journal) = session_of(row[:-3]), row[-3:]
        rows = _Rows(revision)
        if revision < last_revision:
            rows.read(connection, session_id, last_revision, limit_bytes)
        events = _read_events(connection, session_id, after, limit_bytes - rows.size)
        return CopyPage(
            session=session,
            events=events,
            asks=rows.asks,
            messages=[message for _, message in rows.messages],
            runs=rows.runs,
            usage=rows.usage,
            changed=changed,
            after=after,
            tail=digest_at(connection, session_id, after) if after else "",
            after_revision=revision,
            revision=rows.revision,
            journal=journal,
            message_places=[place for place, _ in rows.messages],
            cli_session_ids=_cli_session_ids(connection, session_id),
            more=rows.revision < last_revision or (events[-1].seq if events else after) < session.last_seq,
        )


def _read_events(connection: sqlite3.Connection, session_id: str, after: int, limit_bytes: int) -> list[EventRow]:
    """At least one, if there is one."""
    fetch = fetcher(connection)
    events: list[EventRow] = []
    size = 0
    for seq, at, kind, run, stored, cuts, text in connection.execute(_EVENTS, (session_id, after)):
        body = unpack(stored, cuts, fetch)
        size += len(body) + len(text) + _ROW_OVERHEAD
        if events and size > limit_bytes:
            break
        events.append(EventRow(seq=seq, at=at, type=kind, run=run, body=body, text=text))
    return events


def _cli_session_ids(connection: sqlite3.Connection, session_id: str) -> list[str]:
    rows = connection.execute("SELECT cli_session_id FROM cli_sessions WHERE session_id = ? ORDER BY 1", (session_id,))
    return [cli_session_id for (cli_session_id,) in rows]


class _Rows:
    """The rows of a page: those with the lowest revisions behind a given one, of all tables."""

    def __init__(self, after: int) -> None:
        self.after = after
        self.revision = after
        """All rows up to this one are here."""
        self.size = 0
        self.asks: list[AskRow] = []
        self.messages: list[tuple[int, MessageRow]] = []
        self.runs: list[RunRow] = []
        self.usage: list[RunUsageRow] = []

    def read(self, connection: sqlite3.Connection, session_id: str, last: int, limit_bytes: int) -> None:
        """At least one, if there is one; `last` is the last revision that was given to any."""
        for revision, size, place, row in merge(*self._sources(connection, session_id), key=itemgetter(0)):
            if self.size and self.size + size > limit_bytes:
                return
            place.append(row)
            self.size += size
            self.revision = revision
        self.revision = last

    def _sources(self, connection: sqlite3.Connection, session_id: str) -> Sequence[Iterator[_Changed]]:
        fetch = fetcher(connection)

        def ask(row: Sequence[Any]) -> tuple[int, AskRow]:
            found = ask_of(row, fetch)
            return len(found.body) + len(found.answer or b""), found

        def message(row: Sequence[Any]) -> tuple[int, tuple[int, MessageRow]]:
            found = message_of(row[1:], fetch)
            return len(found.content), (row[0], found)

        def changed(table: str, columns: str, into: list[Any], parse: _Parse) -> Iterator[_Changed]:
            # One by one along an index: what does not fit on the page is not looked at.
            rows = connection.execute(
                f"SELECT revision, {columns} FROM {table} WHERE session_id = ? AND revision > ? "  # noqa: S608 - ours
                "ORDER BY revision",
                (session_id, self.after),
            )
            for revision, *row in rows:
                size, found = parse(row)
                yield revision, size + _ROW_OVERHEAD, into, found

        return (
            changed("asks", ASK_COLUMNS, self.asks, ask),
            changed("messages", f"coalesce(place, id), {MESSAGE_COLUMNS}", self.messages, message),
            changed("runs", RUN_COLUMNS, self.runs, lambda row: (0, run_of(row))),
            changed("usage", USAGE_COLUMNS, self.usage, lambda row: (0, usage_of(row))),
        )

"""Asks and messages: the one decision that an ask gets, and what is known of them."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any

from handrail.errors import AlreadyDecided, AskClosed, DecisionRefused, StaleDigest, StoreError
from handrail.store.artefacts import fetcher, unpack
from handrail.store.base import AskRow, AskRowState, DecisionRow, MessageRow, MessageState, Waiting
from handrail.store.changes import Change
from handrail.store.reading import snapshot
from handrail.store.rows import SESSION_COLUMNS, placeholders, session_of

__all__ = [
    "ASK_COLUMNS",
    "MESSAGE_COLUMNS",
    "Decide",
    "ask_of",
    "find_asks",
    "get_ask",
    "message_of",
    "read_asks",
    "read_messages",
    "read_waiting",
]

ASK_COLUMNS = (
    "session_id, id, kind, digest, title, body, cuts, opened_at, "
    "state, answer, decided_by, surface, decided_at, closed_at, granted_by"
)
MESSAGE_COLUMNS = "uuid, content, cuts, at, state, sent_by, surface"
_WAIT = """
    state IN ('pending', 'lost', 'unsent') AND (
        state = 'pending'
        OR EXISTS (
            SELECT 1 FROM sessions WHERE id = asks.session_id AND archived = 0 AND owner IS NULL
            AND (host = '' OR source_changed > 0)  -- a copy that was brought to its end cannot be resumed
        )
        AND NOT EXISTS (
            SELECT 1 FROM runs
            WHERE session_id = asks.session_id AND started_at > coalesce(asks.closed_at, asks.opened_at)
        )
    )
"""
_WHY_CLOSED = {
    "cancelled": "Claude Code no longer wants an answer",
    "expired": "nobody answered in time",
    "lost": "the process that asked has ended",
}


class Decide(Change[None]):
    """One decision."""

    durable = True
    # One that its sender gave up before it was stored must not surprise them afterwards.
    revocable = True

    def __init__(self, decision: DecisionRow) -> None:
        super().__init__(decision.session_id, partial(_decide, decision=decision))


def _decide(connection: sqlite3.Connection, decision: DecisionRow) -> None:
    _refuse_copy(connection, decision.session_id)
    _refuse_used(connection, decision)
    changed = connection.execute(
        "UPDATE asks SET state = 'decided', answer = ?, decided_by = ?, surface = ?, decided_at = ?, granted_by = ?, "
        "revision = coalesce((SELECT last_revision + 1 FROM sessions WHERE sessions.id = asks.session_id), 0) "
        "WHERE session_id = ? AND id = ? AND state = 'pending' AND digest = ?",
        (
            decision.answer,
            decision.decided_by,
            decision.surface,
            decision.decided_at,
            decision.granted_by,
            decision.session_id,
            decision.ask_id,
            decision.digest,
        ),
    )
    if not changed.rowcount:
        raise _refusal(connection, decision)
    connection.execute("UPDATE sessions SET last_revision = last_revision + 1 WHERE id = ?", (decision.session_id,))


def _refuse_copy(connection: sqlite3.Connection, session_id: str) -> None:
    row = connection.execute("SELECT host FROM sessions WHERE id = ? AND host <> ''", (session_id,)).fetchone()
    if row is not None:
        raise StoreError(f"session {session_id} is a copy: decide on the host {row[0]}, where it runs")


def _refuse_used(connection: sqlite3.Connection, decision: DecisionRow) -> None:
    """The answer to one ask decides one other ask, whoever remembers that it may."""
    if not decision.granted_by:
        return
    used = connection.execute(
        "SELECT id FROM asks WHERE session_id = ? AND granted_by = ? AND granted_by <> ''",
        (decision.session_id, decision.granted_by),
    ).fetchone()
    if used is not None:
        raise AskClosed(
            f"the answer to {decision.granted_by!r} has let {used[0]!r} pass, and holds once", state="resumed"
        )


def _refusal(connection: sqlite3.Connection, decision: DecisionRow) -> DecisionRefused:
    row = connection.execute(
        "SELECT state, answer, decided_by, surface, decided_at FROM asks WHERE session_id = ? AND id = ?",
        (decision.session_id, decision.ask_id),
    ).fetchone()
    if row is None:
        return AskClosed(f"there is no ask {decision.ask_id!r} in session {decision.session_id}", state="unknown")
    state, answer, decided_by, surface, decided_at = row
    if state == "pending":
        return StaleDigest("the digest is not that of this ask: what was shown is not what is asked; look again")
    if answer is None:
        return AskClosed(f"this ask is closed: {_WHY_CLOSED.get(state, state)}", state=state)
    actor = f"{decided_by} ({surface})" if surface else decided_by
    when = datetime.fromtimestamp(decided_at or 0.0, UTC).isoformat(sep=" ", timespec="seconds")
    return AlreadyDecided(f"already decided by {actor}, {when}", actor=actor, at=decided_at or 0.0)


def read_asks(
    connection: sqlite3.Connection, session_id: str | None, states: Sequence[AskRowState], limit: int | None = None
) -> list[AskRow]:
    conditions = ["TRUE"]
    values: list[str] = []
    if session_id is not None:
        conditions.append("session_id = ?")
        values.append(session_id)
    if states:
        conditions.append(f"state IN ({placeholders(states)})")
        values += states
    return _asks_where(connection, " AND ".join(conditions), values, limit)


def read_waiting(connection: sqlite3.Connection, session_id: str | None) -> list[Waiting]:
    condition, values = (_WAIT, []) if session_id is None else (f"session_id = ? AND {_WAIT}", [session_id])
    statement = (
        f"SELECT {SESSION_COLUMNS} FROM sessions "  # noqa: S608 - placeholders only
        f"WHERE id IN (SELECT session_id FROM asks WHERE {condition})"
    )
    with snapshot(connection):
        asks = _selected(connection, condition, values)
        sessions = {row[0]: session_of(row) for row in connection.execute(statement, values)}
    return [Waiting(ask, sessions[ask.session_id]) for ask in asks if ask.session_id in sessions]


def get_ask(connection: sqlite3.Connection, session_id: str, ask_id: str) -> AskRow | None:
    return next(iter(_asks_where(connection, "session_id = ? AND id = ?", (session_id, ask_id))), None)


def find_asks(connection: sqlite3.Connection, reference: str) -> list[AskRow]:
    return _asks_where(connection, "substr(id, 1, ?) = ?", (len(reference), reference)) if reference else []


def _asks_where(
    connection: sqlite3.Connection, condition: str, values: Sequence[Any], limit: int | None = None
) -> list[AskRow]:
    with snapshot(connection):
        return _selected(connection, condition, values, limit)


def _selected(
    connection: sqlite3.Connection, condition: str, values: Sequence[Any], limit: int | None = None
) -> list[AskRow]:
    """Oldest first; the last ones if there are more than `limit`."""
    statement = (
        f"SELECT {ASK_COLUMNS} FROM asks WHERE {condition} "  # noqa: S608 - placeholders only
        f"ORDER BY opened_at DESC, session_id DESC, id DESC {'' if limit is None else 'LIMIT ?'}"
    )
    rows = connection.execute(statement, values if limit is None else (*values, limit)).fetchall()
    fetch = fetcher(connection)
    return [ask_of(row, fetch) for row in reversed(rows)]


def ask_of(row: Sequence[Any], fetch: Callable[[str], bytes]) -> AskRow:
    """A row of `ASK_COLUMNS`."""
    return AskRow(
        session_id=row[0],
        id=row[1],
        kind=row[2],
        digest=row[3],
        title=row[4],
        body=unpack(row[5], row[6], fetch),
        opened_at=row[7],
        state=row[8],
        answer=row[9],
        decided_by=row[10],
        surface=row[11],
        decided_at=row[12],
        closed_at=row[13],
        granted_by=row[14],
    )


def read_messages(connection: sqlite3.Connection, session_id: str, states: Sequence[MessageState]) -> list[MessageRow]:
    chosen = f"AND state IN ({placeholders(states)})" if states else ""
    statement = (
        f"SELECT {MESSAGE_COLUMNS} FROM messages "  # noqa: S608 - our columns, and placeholders
        f"WHERE session_id = ? {chosen} ORDER BY coalesce(place, id)"
    )
    with snapshot(connection):
        fetch = fetcher(connection)
        return [message_of(row, fetch) for row in connection.execute(statement, (session_id, *states))]


def message_of(row: Sequence[Any], fetch: Callable[[str], bytes]) -> MessageRow:
    """A row of `MESSAGE_COLUMNS`."""
    uuid, content, cuts, at, state, by, surface = row
    return MessageRow(uuid=uuid, content=unpack(content, cuts, fetch), at=at, state=state, by=by, surface=surface)

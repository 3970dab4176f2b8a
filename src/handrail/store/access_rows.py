"""Tokens, the audit log, and kept replies."""

from __future__ import annotations

import sqlite3
from typing import Any

from handrail.errors import StoreError
from handrail.store.access import AuditRow, KeptReply, TokenRow
from handrail.store.rows import encodable

__all__ = [
    "add_audit",
    "add_token",
    "begin_reply",
    "drop_reply",
    "forget_replies",
    "forget_tokens",
    "keep_reply",
    "read_audit",
    "read_tokens",
    "revoke_token",
    "token_by_hash",
    "touch_token",
]

_TOKEN_COLUMNS = "id, name, role, kind, secret_hash, created_at, last_used_at, expires_at, revoked_at, created_by"  # noqa: S105
_AUDIT_COLUMNS = "at, actor, surface, action, session_id, ask_id, outcome, detail"

_UPSERT_REPLY = """
INSERT INTO replies VALUES (?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (caller, key) DO UPDATE SET
    request_hash = excluded.request_hash, at = excluded.at, status = excluded.status, body = excluded.body,
    headers = excluded.headers
"""


# ------------------------------------------------------------ tokens


def add_token(connection: sqlite3.Connection, row: TokenRow) -> None:
    taken = connection.execute(
        "SELECT 1 FROM tokens WHERE id = ? OR secret_hash = ?", (row.id, row.secret_hash)
    ).fetchone()
    if taken:
        raise StoreError(f"there is a token {row.id} already")
    connection.execute(
        f"INSERT INTO tokens ({_TOKEN_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",  # noqa: S608 - our columns
        (
            row.id,
            encodable(row.name),
            row.role,
            row.kind,
            row.secret_hash,
            row.created_at,
            row.last_used_at,
            row.expires_at,
            row.revoked_at,
            encodable(row.created_by),
        ),
    )


def read_tokens(connection: sqlite3.Connection) -> list[TokenRow]:
    rows = connection.execute(f"SELECT {_TOKEN_COLUMNS} FROM tokens ORDER BY created_at, id")  # noqa: S608
    return [_token(row) for row in rows]


def token_by_hash(connection: sqlite3.Connection, secret_hash: str) -> TokenRow | None:
    row = connection.execute(
        f"SELECT {_TOKEN_COLUMNS} FROM tokens WHERE secret_hash = ?",  # noqa: S608 - our columns
        (secret_hash,),
    ).fetchone()
    return None if row is None else _token(row)


def touch_token(connection: sqlite3.Connection, token_id: str, at: float) -> None:
    connection.execute("UPDATE tokens SET last_used_at = ? WHERE id = ?", (at, token_id))


def revoke_token(connection: sqlite3.Connection, token_id: str, at: float) -> bool:
    changed = connection.execute("UPDATE tokens SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL", (at, token_id))
    return changed.rowcount > 0


def forget_tokens(connection: sqlite3.Connection, before: float) -> None:
    """Remove those that have not held since a time."""
    connection.execute("DELETE FROM tokens WHERE revoked_at < ? OR expires_at < ?", (before, before))


def _token(row: tuple[Any, ...]) -> TokenRow:
    return TokenRow(
        id=row[0],
        name=row[1],
        role=row[2],
        kind=row[3],
        secret_hash=row[4],
        created_at=row[5],
        last_used_at=row[6],
        expires_at=row[7],
        revoked_at=row[8],
        created_by=row[9],
    )


# ------------------------------------------------------------ the audit log


def add_audit(connection: sqlite3.Connection, row: AuditRow) -> None:
    texts = (row.actor, row.surface, row.action, row.session_id, row.ask_id, row.outcome, row.detail)
    connection.execute(
        f"INSERT INTO audit ({_AUDIT_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",  # noqa: S608 - our columns
        (row.at, *map(encodable, texts)),
    )


def read_audit(
    connection: sqlite3.Connection, before: int | None, limit: int, session_id: str | None
) -> list[AuditRow]:
    conditions = ["TRUE"]
    values: list[Any] = []
    if before is not None:
        conditions.append("number < ?")
        values.append(before)
    if session_id is not None:
        conditions.append("session_id = ?")
        values.append(session_id)
    statement = (
        f"SELECT {_AUDIT_COLUMNS}, number FROM audit WHERE {' AND '.join(conditions)} "  # noqa: S608 - no values in it
        "ORDER BY number DESC LIMIT ?"
    )
    return [_audit(row) for row in connection.execute(statement, (*values, limit))]


def _audit(row: tuple[Any, ...]) -> AuditRow:
    return AuditRow(
        at=row[0],
        actor=row[1],
        surface=row[2],
        action=row[3],
        session_id=row[4],
        ask_id=row[5],
        outcome=row[6],
        detail=row[7],
        number=row[8],
    )


# ------------------------------------------------------------ kept replies


def begin_reply(connection: sqlite3.Connection, begun: KeptReply, forget_before: float) -> KeptReply | None:
    row = connection.execute(
        "SELECT caller, key, request_hash, at, status, body, headers FROM replies "
        "WHERE caller = ? AND key = ? AND at >= ?",
        (begun.caller, begun.key, forget_before),
    ).fetchone()
    if row is not None:
        return _reply(row)
    connection.execute(_UPSERT_REPLY, (begun.caller, begun.key, begun.request_hash, begun.at, None, b"", b"{}"))
    return None


def keep_reply(connection: sqlite3.Connection, reply: KeptReply) -> None:
    connection.execute(
        _UPSERT_REPLY,
        (reply.caller, reply.key, reply.request_hash, reply.at, reply.status, reply.body, reply.headers),
    )


def drop_reply(connection: sqlite3.Connection, caller: str, key: str) -> None:
    connection.execute("DELETE FROM replies WHERE caller = ? AND key = ? AND status IS NULL", (caller, key))


def forget_replies(connection: sqlite3.Connection, before: float, unfinished_before: float | None) -> int:
    removed = connection.execute("DELETE FROM replies WHERE at < ?", (before,)).rowcount
    if unfinished_before is not None:
        removed += connection.execute(
            "DELETE FROM replies WHERE status IS NULL AND at < ?", (unfinished_before,)
        ).rowcount
    return removed


def _reply(row: tuple[Any, ...]) -> KeptReply:
    return KeptReply(
        caller=row[0],
        key=row[1],
        request_hash=row[2],
        at=row[3],
        status=row[4],
        body=row[5],
        headers=row[6],
    )

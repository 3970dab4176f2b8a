"""The hosts that were let in to run sessions for this hub."""

from __future__ import annotations

import sqlite3
from typing import Any

from handrail.errors import HostNotFound, StoreError
from handrail.store.base import HostRow
from handrail.store.rows import encodable

__all__ = ["add_host", "change_host", "host_by_key", "read_hosts"]

_COLUMNS = "id, name, key_hash, enrolled_at, enrolled_by, last_seen_at, revoked_at, draining, facts"
_CHANGEABLE = frozenset({"last_seen_at", "revoked_at", "draining", "facts", "name"})


def add_host(connection: sqlite3.Connection, row: HostRow) -> None:
    taken = connection.execute("SELECT 1 FROM hosts WHERE id = ? OR key_hash = ?", (row.id, row.key_hash)).fetchone()
    if taken:
        raise StoreError(f"there is a host {row.id} already")
    if row.revoked_at is None:
        _refuse_taken_name(connection, row.name, row.id)
    connection.execute(
        f"INSERT INTO hosts ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",  # noqa: S608 - our columns
        (
            row.id,
            encodable(row.name),
            row.key_hash,
            row.enrolled_at,
            encodable(row.enrolled_by),
            row.last_seen_at,
            row.revoked_at,
            row.draining,
            row.facts,
        ),
    )


def _refuse_taken_name(connection: sqlite3.Connection, name: str, host_id: str) -> None:
    """A revoked host leaves its name to others."""
    taken = connection.execute(
        "SELECT id FROM hosts WHERE name = ? AND revoked_at IS NULL AND id <> ?", (encodable(name), host_id)
    ).fetchone()
    if taken:
        raise StoreError(f"there is a host named {name} already: choose another name, or revoke that one first")


def read_hosts(connection: sqlite3.Connection) -> list[HostRow]:
    rows = connection.execute(f"SELECT {_COLUMNS} FROM hosts ORDER BY name, enrolled_at, id")  # noqa: S608
    return [_host(row) for row in rows]


def host_by_key(connection: sqlite3.Connection, key_hash: str) -> HostRow | None:
    row = connection.execute(f"SELECT {_COLUMNS} FROM hosts WHERE key_hash = ?", (key_hash,)).fetchone()  # noqa: S608
    return None if row is None else _host(row)


def change_host(connection: sqlite3.Connection, host_id: str, columns: dict[str, Any]) -> None:
    if unknown := columns.keys() - _CHANGEABLE:
        raise StoreError(
            f"{', '.join(sorted(unknown))} of a host cannot be changed, only {', '.join(sorted(_CHANGEABLE))}"
        )
    row = connection.execute("SELECT name, revoked_at FROM hosts WHERE id = ?", (host_id,)).fetchone()
    if row is None:
        raise HostNotFound(f"there is no host {host_id!r}")
    if columns.keys() & {"name", "revoked_at"} and columns.get("revoked_at", row[1]) is None:
        _refuse_taken_name(connection, columns.get("name", row[0]), host_id)
    for column, value in columns.items():
        stored = encodable(value) if isinstance(value, str) else value
        connection.execute(f"UPDATE hosts SET {column} = ? WHERE id = ?", (stored, host_id))  # noqa: S608


def _host(row: tuple[Any, ...]) -> HostRow:
    return HostRow(
        id=row[0],
        name=row[1],
        key_hash=row[2],
        enrolled_at=row[3],
        enrolled_by=row[4],
        last_seen_at=row[5],
        revoked_at=row[6],
        draining=bool(row[7]),
        facts=row[8],
    )

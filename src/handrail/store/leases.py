"""Leases: who may append to a session's journal."""

from __future__ import annotations

import sqlite3

from handrail.errors import Fenced, LeaseHeld, SessionNotFound, StoreError
from handrail.store.base import Lease

__all__ = ["acquire", "held", "owner_of_copy", "release", "renew", "why_not"]


def acquire(
    connection: sqlite3.Connection, session_id: str, owner: str, now: float, ttl: float | None, force: bool
) -> Lease:
    row = connection.execute(
        "SELECT owner, lease_until, fence, last_seq, host FROM sessions WHERE id = ?", (session_id,)
    ).fetchone()
    if row is None:
        raise SessionNotFound(f"there is no session {session_id!r} in the journal")
    holder, lease_until, fence, last_seq, host = row
    if host:
        raise LeaseHeld(f"session {session_id} is a copy: it belongs to the host {host}", owner=owner_of_copy(host))
    expired = lease_until is not None and lease_until < now
    if holder is not None and not expired and not force:
        raise held(session_id, holder)
    until = None if ttl is None else now + ttl
    connection.execute(
        "UPDATE sessions SET owner = ?, lease_until = ?, fence = ? WHERE id = ?", (owner, until, fence + 1, session_id)
    )
    return Lease(session_id=session_id, owner=owner, fence=fence + 1, last_seq=last_seq, until=until)


def renew(connection: sqlite3.Connection, lease: Lease, until: float) -> Lease:
    changed = connection.execute(
        "UPDATE sessions SET lease_until = ? WHERE id = ? AND fence = ? AND owner = ?",
        (until, lease.session_id, lease.fence, lease.owner),
    )
    if not changed.rowcount:
        raise why_not(connection, lease, None)
    return Lease(
        session_id=lease.session_id, owner=lease.owner, fence=lease.fence, last_seq=lease.last_seq, until=until
    )


def release(connection: sqlite3.Connection, lease: Lease) -> None:
    connection.execute(
        "UPDATE sessions SET owner = NULL, lease_until = NULL WHERE id = ? AND fence = ? AND owner = ?",
        (lease.session_id, lease.fence, lease.owner),
    )


def owner_of_copy(host: str) -> str:
    """Who owns a copied session that is live: the host where it is."""
    return f"host:{host}"


def held(session_id: str, owner: str) -> LeaseHeld:
    return LeaseHeld(f"session {session_id} is owned by {owner}", owner=owner)


def why_not(connection: sqlite3.Connection, lease: Lease, first: int | None) -> StoreError:
    """Why a lease does not allow to append an event with the number `first`."""
    row = connection.execute("SELECT owner, fence, last_seq FROM sessions WHERE id = ?", (lease.session_id,)).fetchone()
    if row is None:
        return Fenced(f"session {lease.session_id} was deleted")
    owner, fence, last_seq = row
    if (owner, fence) == (lease.owner, lease.fence):
        return StoreError(f"event {first} of session {lease.session_id} does not follow event {last_seq}, its last one")
    if owner is None:
        return Fenced(f"the lease on session {lease.session_id} was given up: acquire it again")
    return Fenced(f"session {lease.session_id} is owned by {owner} now (fence {fence}, not {lease.fence})")

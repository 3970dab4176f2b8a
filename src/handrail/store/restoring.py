"""Putting a backup in the place of the database. What it replaces is kept aside."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing, suppress

from handrail.errors import LeaseHeld, StoreCorrupt, StoreUnavailable
from handrail.store.copying import copy_database, free_name, sync_directory
from handrail.store.database import connect
from handrail.store.faults import explained, is_locked, locked
from handrail.store.host_schema import name_journal
from handrail.store.migrations import SCHEMA_VERSION, WITH_HOSTS, check_version, version_of
from handrail.store.place import SIDE_FILES, OpenLock
from handrail.store.schema import APPLICATION_ID

__all__ = ["restore"]


def restore(backup_path: str, target_path: str, *, force: bool = False, lock_timeout: float = 1.0) -> str | None:
    """Put a backup where the database is; returns where that one was put aside, if there was one.

    Refuses with a `StoreError` if the backup is not sound, while anybody has the database open for longer than
    `lock_timeout` seconds, and while a session is marked as owned, unless `force` says that its owner is gone. Not on
    an event loop: it can take a while.
    """
    target = os.path.abspath(target_path)
    draft = f"{target}.restoring"
    with explained(target):
        os.makedirs(os.path.dirname(target), mode=0o700, exist_ok=True)
    lock = OpenLock(target, timeout=lock_timeout)
    lock.alone()
    try:
        _copy_checked(os.path.abspath(backup_path), draft)
        if not force:
            _refuse_if_owned(target)
        with explained(target):
            aside = _put_aside(target)
            os.rename(draft, target)
            sync_directory(target)
        return aside
    finally:
        _remove(draft)
        lock.release()


def _copy_checked(backup: str, draft: str) -> None:
    """A sound backup, made ready to be used. Its sessions have no owner: whoever had them then is gone.

    Only the hosts know what became of the sessions that were copied from them.
    """
    if not os.path.isfile(backup):
        raise StoreUnavailable(f"there is no backup at {backup}")
    try:
        with closing(connect(backup, timeout=0, mode="ro")) as source:
            _check_backup(source, backup)
            _remove(draft)
            with explained(draft):
                copy_database(source, draft)
    except sqlite3.DatabaseError as error:
        raise _unsound(backup, str(error)) from error
    with explained(draft), closing(connect(draft, timeout=0)) as copy:
        if version_of(copy) >= WITH_HOSTS:
            name_journal(copy)
        copy.execute(f"UPDATE sessions SET owner = NULL, lease_until = NULL WHERE {_of_this_machine(copy)}")  # noqa: S608


def _check_backup(source: sqlite3.Connection, backup: str) -> None:
    (application,) = source.execute("PRAGMA application_id").fetchone()
    if application != APPLICATION_ID:
        raise _unsound(backup, "it is not a database of Handrail's")
    check_version(version_of(source), SCHEMA_VERSION, backup)
    (finding,) = source.execute("PRAGMA integrity_check(1)").fetchone()
    if finding != "ok":
        raise _unsound(backup, finding)


def _unsound(backup: str, why: str) -> StoreCorrupt:
    return StoreCorrupt(f"{backup} cannot be restored ({why}): nothing was changed; take another backup")


def _refuse_if_owned(target: str) -> None:
    """A database that cannot be read does not say who owns what: being damaged, it may be replaced."""
    if not os.path.exists(target):
        return
    try:
        with closing(connect(target, timeout=0, mode="ro")) as connection:
            row = connection.execute(
                f"SELECT id, owner FROM sessions WHERE owner IS NOT NULL AND {_of_this_machine(connection)}"  # noqa: S608
            ).fetchone()
    except sqlite3.DatabaseError as error:
        if is_locked(error):
            raise locked(target) from error
        return
    if row is not None:
        raise LeaseHeld(
            f"session {row[0]} in {target} is owned by {row[1]}: stop it first (`handrail stop {row[0][:8]}`)",
            owner=row[1],
        )


def _of_this_machine(connection: sqlite3.Connection) -> str:
    """A condition that holds for the sessions that are not copies: in an older database, for all."""
    return "host = ''" if version_of(connection) >= WITH_HOSTS else "TRUE"


def _put_aside(target: str) -> str | None:
    """The database first: what is beside it belongs to it, and is not taken for anything else without it."""
    aside = free_name(f"{target}.replaced")
    moved = False
    for side in ("", *SIDE_FILES):
        if os.path.lexists(target + side):
            os.rename(target + side, aside + side)
            moved = True
    return aside if moved else None


def _remove(path: str) -> None:
    with suppress(FileNotFoundError):
        os.unlink(path)

"""What went wrong with the database, as an error of Handrail's that says what to do."""

from __future__ import annotations

import errno
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from handrail.errors import StoreCorrupt, StoreError, StoreFull, StoreLocked, StoreUnavailable

__all__ = ["Damaged", "explained", "is_locked", "store_error"]

_BUSY = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
_DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
_UNAVAILABLE = {sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH}
_NO_SPACE = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_LITTLE = 1024 * 1024
"""With less free than this, a write that failed for no stated reason failed for lack of space."""

HOW_TO_MOVE = "set HANDRAIL_STATE_DIR to a directory on a local disk that is yours, or make this one so"
HOW_TO_RESTORE = (
    "it was left as it is: restore a backup with `handrail backup --restore FILE`, "
    "or move the file away to start afresh"
)


class Damaged(Exception):
    """Something stored is not as it was written: `str()` says what."""


@contextmanager
def explained(path: str) -> Iterator[None]:
    """Whatever SQLite or the system says about the database at `path` becomes a `StoreError`."""
    try:
        yield
    except (sqlite3.Error, OSError, Damaged) as error:
        raise store_error(error, path) from error


def is_locked(error: BaseException) -> bool:
    """Whether another process had the database for too long."""
    return isinstance(error, sqlite3.Error) and _primary_code(error) in _BUSY


def store_error(error: sqlite3.Error | OSError | Damaged, path: str) -> StoreError:
    """The `StoreError` for what went wrong with the database at `path`."""
    if isinstance(error, OSError):
        return _of_system(error, path)
    if isinstance(error, Damaged):
        return corrupt(path, str(error))
    code = _primary_code(error)
    if code in _BUSY:
        return locked(path)
    if code in _DAMAGED:
        return corrupt(path, str(error))
    if code == sqlite3.SQLITE_FULL or (code == sqlite3.SQLITE_IOERR and _is_nearly_full(path)):
        return full(path)
    if code == sqlite3.SQLITE_IOERR:
        return StoreUnavailable(
            f"{path}: the disk reports an error ({_name(error)}): look at the disk and at its quota; "
            "what was stored before is not lost"
        )
    if code in _UNAVAILABLE:
        return unavailable(path, str(error))
    return StoreError(f"{path}: {error}")


def full(path: str) -> StoreFull:
    """There is no space for what should be stored."""
    return StoreFull(
        f"{path} cannot grow: the disk is full or the quota used up. Nothing that was stored is lost; "
        "free some space, and storing goes on"
    )


def locked(path: str) -> StoreLocked:
    """Somebody else writes, and does not come to an end."""
    return StoreLocked(
        f"{path} is locked by another process: wait for it (a backup, an upgrade, a stopped `handrail`), or end it; "
        f"`fuser {path}` names it"
    )


def corrupt(path: str, what: str) -> StoreCorrupt:
    """What is stored is damaged."""
    return StoreCorrupt(f"{path} is damaged ({what}); {HOW_TO_RESTORE}")


def unavailable(path: str, why: str) -> StoreUnavailable:
    """The database cannot be where it is."""
    return StoreUnavailable(f"{path} cannot be used: {why}; {HOW_TO_MOVE}")


def _of_system(error: OSError, path: str) -> StoreError:
    if error.errno in _NO_SPACE:
        return full(path)
    named = error.filename if isinstance(error.filename, str) else path
    return unavailable(named, error.strerror or str(error))


def _primary_code(error: sqlite3.Error) -> int:
    """Without the extension that tells, say, one kind of I/O error from another; 0 if it is Python's own error."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


def _name(error: sqlite3.Error) -> str:
    return getattr(error, "sqlite_errorname", str(error))


def _is_nearly_full(path: str) -> bool:
    try:
        disk = os.statvfs(os.path.dirname(path) or ".")
    except OSError:
        return False
    return disk.f_bavail * disk.f_frsize < _LITTLE

"""Opening the database: made, checked and brought up to date if need be."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from typing import Literal
from urllib.parse import quote

from handrail.store.copying import copy_database, free_name, sync, sync_directory
from handrail.store.faults import explained, unavailable
from handrail.store.migrations import Migration, check_version, migrate, version_of
from handrail.store.place import SIDE_FILES, OpenLock
from handrail.store.rows import FOLD
from handrail.store.schema import APPLICATION_ID

__all__ = ["connect", "connect_reader", "connect_writer", "make_current"]

_CACHE_KIB = 8 * 1024
_BACKSTOP_PAGES = 16_000
"""When the writer itself moves the log into the database, if the checkpoints beside it did not keep up."""
_LARGEST_LOG = 16 * 1024 * 1024
"""What the log is cut down to when it begins anew, in bytes."""


def connect(path: str, *, timeout: float, mode: Literal["ro", "rw"] = "rw") -> sqlite3.Connection:
    """A connection to a database that is there."""
    address = f"file:{quote(path)}?mode={mode}"
    return sqlite3.connect(address, uri=True, timeout=timeout, isolation_level=None, check_same_thread=False)


def connect_writer(path: str, *, timeout: float) -> sqlite3.Connection:
    """A connection that appends; how it waits for the disk is set for each transaction."""
    log = (f"wal_autocheckpoint = {_BACKSTOP_PAGES}", f"journal_size_limit = {_LARGEST_LOG}")
    return _connect_with(path, timeout, f"cache_size = -{_CACHE_KIB}", *log)


def connect_reader(path: str, *, timeout: float) -> sqlite3.Connection:
    """A connection that can read, and move the log into the database, but not write."""
    connection = _connect_with(path, timeout, "query_only = ON", "synchronous = NORMAL")
    connection.create_function(FOLD, 1, str.casefold, deterministic=True)
    return connection


def _connect_with(path: str, timeout: float, *settings: str) -> sqlite3.Connection:
    connection = connect(path, timeout=timeout)
    with _closed_on_failure(connection):
        # On macOS an ordinary fsync does not survive a power cut; elsewhere this means nothing.
        for setting in (*settings, "fullfsync = ON"):
            connection.execute(f"PRAGMA {setting}")
    return connection


def make_current(path: str, lock: OpenLock, steps: Sequence[Migration], *, timeout: float) -> None:
    """Make the database if there is none, or bring it up to date. Needs, and leaves, the lock shared."""
    with explained(path):
        if not _is_current(path, steps, timeout):
            lock.alone()
            try:
                _create_or_upgrade(path, steps, timeout)
            finally:
                lock.share()


def _create_or_upgrade(path: str, steps: Sequence[Migration], timeout: float) -> None:
    """Unless somebody else has just done it."""
    if not os.path.exists(path):
        _create(path, steps)
    elif not _is_current(path, steps, timeout):
        _upgrade(path, steps, timeout)


def _is_current(path: str, steps: Sequence[Migration], timeout: float) -> bool:
    if not os.path.exists(path):
        return False
    # Whoever only reads changes nothing: a database that is damaged, or not ours, is left as it is, with its log.
    with closing(connect(path, timeout=timeout, mode="ro")) as connection:
        (application,) = connection.execute("PRAGMA application_id").fetchone()
        version = version_of(connection)
        (mode,) = connection.execute("PRAGMA journal_mode").fetchone()
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if application != APPLICATION_ID:
        raise unavailable(path, "it is a database, but not one of Handrail's")
    check_version(version, len(steps), path)
    return version == len(steps) and mode == "wal"


def _keep_log(connection: sqlite3.Connection, path: str) -> None:
    """Have a write-ahead log: a backup that was put in the database's place has none."""
    (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
    if mode != "wal":
        raise unavailable(path, "SQLite cannot keep a write-ahead log there")


def _create(path: str, steps: Sequence[Migration]) -> None:
    """Under another name first, so that a database is never seen half made."""
    draft = f"{path}.new"
    for name in (draft, *(draft + side for side in SIDE_FILES)):
        with suppress(FileNotFoundError):
            os.unlink(name)
    os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600))
    with closing(connect(draft, timeout=0)) as connection:
        connection.execute("PRAGMA synchronous = OFF")  # the draft is synced as a whole
        connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
        _keep_log(connection, path)
        migrate(connection, steps, path)
    sync(draft)
    os.rename(draft, path)
    sync_directory(path)


def _upgrade(path: str, steps: Sequence[Migration], timeout: float) -> None:
    with closing(connect(path, timeout=timeout)) as connection:
        _keep_log(connection, path)
        if version_of(connection) < len(steps):
            copy_database(connection, free_name(f"{path}.before-{len(steps)}"))
            migrate(connection, steps, path)


@contextmanager
def _closed_on_failure(connection: sqlite3.Connection) -> Iterator[None]:
    try:
        yield
    except BaseException:
        connection.close()
        raise

"""Consistent copies of a database, while others go on writing to it."""

from __future__ import annotations

import errno
import os
import sqlite3
from contextlib import closing, suppress
from itertools import count

__all__ = ["copy_database", "free_name", "sync", "sync_directory"]

_SLICE_PAGES = 256


def copy_database(source: sqlite3.Connection, path: str) -> None:
    """Write what `source` sees into a new file: whole, or not at all. Raises `FileExistsError`, never replaces."""
    draft = f"{path}.partial"
    with suppress(FileNotFoundError):
        os.unlink(draft)
    try:
        os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600))
        _copy_into(source, draft)
        sync(draft)
        _put_in_place(draft, path)
    finally:
        with suppress(FileNotFoundError):
            os.unlink(draft)
    sync_directory(path)


def _copy_into(source: sqlite3.Connection, path: str) -> None:
    # A transaction of our own keeps one state in view; without it every write of others would start the copy anew.
    source.execute("BEGIN")
    try:
        source.execute("SELECT count(*) FROM sqlite_master").fetchone()
        with closing(sqlite3.connect(path, isolation_level=None)) as target:
            source.backup(target, pages=_SLICE_PAGES)
            target.execute("PRAGMA journal_mode = DELETE")  # one file, with nothing beside it
    finally:
        source.execute("COMMIT")


def _put_in_place(draft: str, path: str) -> None:
    try:
        os.link(draft, path)  # unlike a rename, it refuses to replace a file
    except FileExistsError:
        raise
    except OSError:  # a file system without links, such as that of a memory stick
        if os.path.lexists(path):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), path) from None
        os.rename(draft, path)


def free_name(path: str) -> str:
    """`path`, or the first of `path.2`, `path.3` … that is free."""
    if not os.path.lexists(path):
        return path
    return next(name for number in count(2) if not os.path.lexists(name := f"{path}.{number}"))


def sync(path: str) -> None:
    """Wait until a file is on the disk."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_directory(path: str) -> None:
    """Make sure that the name of the file at `path` survives a power cut."""
    sync(os.path.dirname(path) or ".")

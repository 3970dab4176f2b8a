"""Opening the bridge's database: made, checked and brought up to date if need be."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from urllib.parse import quote

from handrail.errors import StoreCorrupt, StoreError
from handrail.store.copying import copy_database, free_name, sync, sync_directory
from handrail.store.faults import Damaged, store_error, unavailable
from handrail.store.filesystems import filesystem_type
from handrail.store.migrations import Migration, check_version, migrate, version_of
from handrail.store.place import SIDE_FILES, make_private, prepare_place
from handrail.telegram.state.schema import APPLICATION_ID

__all__ = ["connect", "explained", "make_current"]


@contextmanager
def explained(path: str) -> Iterator[None]:
    """Whatever SQLite or the system says about the database becomes a `StoreError` that says what to do."""
    try:
        yield
    except (sqlite3.Error, OSError, Damaged) as error:
        raise _in_words(error, path) from error


def _in_words(error: sqlite3.Error | OSError | Damaged, path: str) -> StoreError:
    """As of the journal, but for what to do about damage: no backup holds what the bridge remembers."""
    why = store_error(error, path)
    if isinstance(why, StoreCorrupt):
        return damaged(path, str(error))
    return why


def damaged(path: str, what: str) -> StoreCorrupt:
    return StoreCorrupt(
        f"{path} is damaged ({what}); it was left as it is: move the file away, and the Telegram bridge starts afresh. "
        "Sessions and their asks are not in it, so none of these is lost"
    )


def make_current(path: str, steps: Sequence[Migration], *, timeout: float) -> None:
    """Make the database if there is none, or bring it up to date."""
    try:
        prepare_place(path, filesystem_type)
    except StoreCorrupt as error:
        raise damaged(path, "the file is empty, or gone without its log") from error
    with explained(path):
        if not os.path.exists(path):
            _create(path, steps)
        else:
            _upgrade(path, steps, timeout)


def connect(path: str, *, timeout: float, can_write: bool) -> sqlite3.Connection:
    """A connection to a database that is there; it may be used in any one thread."""
    address = f"file:{quote(path)}?mode=rw"
    connection = sqlite3.connect(address, uri=True, timeout=timeout, isolation_level=None, check_same_thread=False)
    try:
        # What was kept of an update is acknowledged next, and then nobody else has it: it must survive a power cut.
        for setting in ("synchronous = FULL", "fullfsync = ON", f"query_only = {'OFF' if can_write else 'ON'}"):
            connection.execute(f"PRAGMA {setting}")
        make_private(path)
    except BaseException:
        connection.close()
        raise
    return connection


def _create(path: str, steps: Sequence[Migration]) -> None:
    """Under another name first, so that a database is never seen half made."""
    draft = f"{path}.new"
    for name in (draft, *(draft + side for side in SIDE_FILES)):
        with suppress(FileNotFoundError):
            os.unlink(name)
    os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600))
    with closing(sqlite3.connect(draft, isolation_level=None)) as connection:
        connection.execute("PRAGMA synchronous = OFF")  # the draft is synced as a whole
        connection.execute("PRAGMA journal_mode = WAL")
        migrate(connection, steps, path)
    sync(draft)
    os.rename(draft, path)
    sync_directory(path)


def _upgrade(path: str, steps: Sequence[Migration], timeout: float) -> None:
    with closing(sqlite3.connect(path, timeout=timeout, isolation_level=None)) as connection:
        _check_ours(connection, path)
        check_version(version := version_of(connection), len(steps), path)
        if version < len(steps):
            copy_database(connection, free_name(f"{path}.before-{len(steps)}"))
            migrate(connection, steps, path)


def _check_ours(connection: sqlite3.Connection, path: str) -> None:
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    if application != APPLICATION_ID:
        raise unavailable(path, "it is a database, but not one of Handrail's Telegram bridge")
    (verdict,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    if verdict != "ok":
        raise Damaged(verdict)

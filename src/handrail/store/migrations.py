"""How a database of an older Handrail becomes one of this: named steps, in order. The first makes the tables.

A step is never changed once it was released; what comes later is a new one at the end. A database's version is the
number of steps that it has seen.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from typing import TypeAlias

from handrail.errors import StoreError, StoreTooNew
from handrail.store.faults import store_error
from handrail.store.host_schema import HOST_TABLES, name_journal, number_what_is_there
from handrail.store.hub_schema import HUB_TABLES
from handrail.store.schema import APPLICATION_ID, TABLES
from handrail.store.usage_rows import fill_usage

__all__ = ["MIGRATIONS", "SCHEMA_VERSION", "WITH_HOSTS", "Migration", "check_version", "migrate"]

Migration: TypeAlias = Callable[[sqlite3.Connection], None]
"""Changes tables inside a transaction that is not its own. Its name says what it does."""


def create_tables(connection: sqlite3.Connection) -> None:
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    for statement in TABLES:
        connection.execute(statement)


def add_what_the_hub_keeps(connection: sqlite3.Connection) -> None:
    for statement in HUB_TABLES:
        connection.execute(statement)
    fill_usage(connection)


def add_hosts_and_copies(connection: sqlite3.Connection) -> None:
    for statement in HOST_TABLES:
        connection.execute(statement)
    number_what_is_there(connection)
    name_journal(connection)


def add_whose_answer_an_ask_has(connection: sqlite3.Connection) -> None:
    connection.execute("ALTER TABLE asks ADD COLUMN granted_by TEXT NOT NULL DEFAULT ''")
    # Only of those that have one: it is looked for when such a decision is stored, and few are.
    connection.execute("CREATE INDEX asks_by_grant ON asks (session_id, granted_by) WHERE granted_by <> ''")


MIGRATIONS: tuple[Migration, ...] = (
    create_tables,
    add_what_the_hub_keeps,
    add_hosts_and_copies,
    add_whose_answer_an_ask_has,
)
SCHEMA_VERSION = len(MIGRATIONS)
WITH_HOSTS = 1 + MIGRATIONS.index(add_hosts_and_copies)
"""The first version in which a session can be a copy."""


def check_version(found: int, known: int, path: str) -> None:
    """Raises `StoreTooNew` if this Handrail is too old for the database."""
    if found > known:
        raise StoreTooNew(
            f"{path} was written by a newer Handrail (its version is {found}, this one knows {known}): "
            "upgrade Handrail, or set HANDRAIL_STATE_DIR to another directory"
        )


def migrate(connection: sqlite3.Connection, steps: Sequence[Migration], path: str) -> None:
    """Take the steps that the database has not seen, all or none."""
    connection.execute("BEGIN EXCLUSIVE")
    name = "reading its version"
    try:
        for step in steps[version_of(connection) :]:
            name = step.__name__
            step(connection)
        connection.execute(f"PRAGMA user_version = {len(steps)}")
        connection.execute("COMMIT")
    except BaseException as error:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        if isinstance(error, sqlite3.Error):
            raise _failure(error, name, path) from error
        raise


def _failure(error: sqlite3.Error, name: str, path: str) -> StoreError:
    why = store_error(error, path)
    if type(why) is not StoreError:  # a full disk, say: that has an answer of its own
        return why
    return StoreError(f"{path} could not be brought up to date ({name}: {error}); it is as it was")


def version_of(connection: sqlite3.Connection) -> int:
    """How many steps a database has seen."""
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    return int(version)

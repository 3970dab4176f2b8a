"""The database: where it is, whether it is sound, and whether there is room for more."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Iterator
from contextlib import closing
from typing import Any

from handrail.cli.checkup.finding import Finding, attention, broken, good
from handrail.cli.checkup.surroundings import Surroundings, nearest_existing
from handrail.cli.showing.amounts import count
from handrail.errors import StoreError

__all__ = ["check_database", "check_disk"]

MEGABYTE = 1024 * 1024
LITTLE = 500 * MEGABYTE
NEXT_TO_NOTHING = 50 * MEGABYTE
ELSEWHERE = "export HANDRAIL_STATE_DIR=DIRECTORY"


def check_database(around: Surroundings) -> Iterator[Finding]:
    """Whether what is stored can be read, and is as it was written."""
    from handrail.store.place import store_path

    path = store_path(around.places)
    if not os.path.lexists(path):
        yield good("database", f"none yet: the first session makes {path}")
        return
    try:
        if older := _older_schema(path):
            yield attention("database", f"{path} has schema {older}: the next session upgrades it, after a backup")
            return
        wrong, figures = asyncio.run(_examine(path))
    except StoreError as error:
        yield broken("database", str(error))
        return
    rows = figures.get("rows", {})
    yield good(
        "database",
        f"{path}, {_megabytes(figures.get('bytes', 0))}, schema {figures.get('version')}, "
        f"{count(rows.get('sessions', 0), 'session')}, {count(rows.get('events', 0), 'event')}",
    )
    for each in wrong:
        yield broken("database", each, "handrail backup --restore FILE")


def _older_schema(path: str) -> int | None:
    """The version of a database that is to be upgraded: a look at it must not do that."""
    from handrail.store.database import connect_reader
    from handrail.store.faults import explained
    from handrail.store.migrations import SCHEMA_VERSION, version_of

    with explained(path), closing(connect_reader(path, timeout=2.0)) as connection:
        version = version_of(connection)
    return version if 0 < version < SCHEMA_VERSION else None


async def _examine(path: str) -> tuple[list[str], dict[str, Any]]:
    from handrail.store.sqlite import SqliteStore

    store = SqliteStore(path)
    await store.open()
    try:
        return await store.check(), await store.statistics()
    finally:
        await store.close()


def check_disk(around: Surroundings) -> Iterator[Finding]:
    """Whether the directory can be written, is on this machine, and has room."""
    from handrail.store.filesystems import filesystem_type, is_network

    directory = nearest_existing(around.places.state)
    if not os.path.isdir(directory) or not os.access(directory, os.W_OK | os.X_OK):
        yield broken("disk", f"{directory} is not a directory that you may write in", ELSEWHERE)
        return
    kind = filesystem_type(directory)
    if is_network(kind):
        yield broken("disk", f"{directory} is on a network ({kind}), where a database gets damaged", ELSEWHERE)
        return
    free = shutil.disk_usage(directory).free
    where = f"{_megabytes(free)} free for {around.places.state}" + (f" ({kind})" if kind else "")
    if free < LITTLE:
        state = broken if free < NEXT_TO_NOTHING else attention
        yield state("disk", where, "handrail prune, or make room on the disk")
    else:
        yield good("disk", where)


def _megabytes(count: int) -> str:
    if count >= 1024 * MEGABYTE:
        return f"{count / (1024 * MEGABYTE):.1f} GB"
    return f"{count / MEGABYTE:.1f} MB"

"""What the tests of the SQLite store share."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, closing, contextmanager
from pathlib import Path
from typing import Any

from handrail.store import SqliteStore

DEADLINE = 60
NOBODY = 65534


@asynccontextmanager
async def opened(path: Path, **settings: Any) -> AsyncIterator[SqliteStore]:
    store = SqliteStore(str(path), **settings)
    await store.open()
    try:
        yield store
    finally:
        await store.close()


async def numbers(store: SqliteStore, session_id: str = "s1") -> list[int]:
    return [row.seq for row in await store.read(session_id, limit=1_000_000)]


def names(directory: Path, pattern: str = "*") -> list[str]:
    """The files in a directory."""
    return sorted(file.name for file in directory.glob(pattern))


def query(path: Path, statement: str) -> Any:
    """The first column of the first row."""
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(statement).fetchone()[0]


def python(program: str, *arguments: object) -> subprocess.Popen[str]:
    """A Python process that runs a program."""
    return run([sys.executable, "-c", program, *map(str, arguments)])


def run(argv: Sequence[str], **settings: Any) -> subprocess.Popen[str]:
    pipe = subprocess.PIPE
    return subprocess.Popen(argv, stdin=pipe, stdout=pipe, stderr=pipe, text=True, **settings)


def finished(process: subprocess.Popen[str]) -> str:
    """What a process said that ended well."""
    output, errors = process.communicate(timeout=DEADLINE)
    assert process.returncode == 0, errors
    return output


@contextmanager
def ordinary_user() -> Iterator[Path]:
    """A directory of an ordinary user, as that user: permissions mean nothing to root."""
    directory = Path(tempfile.mkdtemp(prefix="handrail-store-"))
    was_root = os.geteuid() == 0
    try:
        if was_root:
            os.chown(directory, NOBODY, NOBODY)
            os.seteuid(NOBODY)
        yield directory
    finally:
        if was_root:
            os.seteuid(0)
        shutil.rmtree(directory)

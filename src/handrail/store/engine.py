"""The running parts of an SQLite store: its lock, its writer, its readers, and its look at others."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import threading
from collections.abc import Callable, Sequence
from typing import TypeVar

from handrail.store.changes import next_number
from handrail.store.database import connect_reader, connect_writer, make_current
from handrail.store.migrations import Migration
from handrail.store.neighbours import Neighbours
from handrail.store.place import OpenLock, make_private, prepare_place
from handrail.store.reading import Readers
from handrail.store.search import Index
from handrail.store.watching import Watchers
from handrail.store.writer import Call, Operation, Writer

__all__ = ["Engine"]

T = TypeVar("T")

_COMMITS_PER_CHECKPOINT = 150

_log = logging.getLogger("handrail.store")


class Engine:
    """Opens and closes a database, and runs what is given to it where it belongs."""

    def __init__(
        self,
        path: str,
        *,
        lock_timeout: float,
        migrations: Sequence[Migration],
        filesystem_of: Callable[[str], str],
        full_text: bool,
        between_looks: float,
        durable: bool,
    ) -> None:
        self.path = path
        self.watchers = Watchers()
        self.index = Index(wanted=full_text)
        self._timeout = lock_timeout
        self._migrations = migrations
        self._filesystem_of = filesystem_of
        self._lock = OpenLock(path, timeout=lock_timeout)
        self._neighbours = Neighbours(self.connect_reader, self.watchers, between_looks=between_looks)
        self._writer = Writer(
            path,
            self._connect_writer,
            self.watchers,
            durable=durable,
            next_number=next_number,
            before_commit=self._neighbours.made,
            after_commit=self._count_commit,
        )
        self._readers = Readers(path, self.connect_reader)
        self._state_lock = threading.Lock()
        self._is_open = False
        self._commits = 0

    async def open(self) -> None:
        await asyncio.to_thread(self._open)

    async def close(self) -> None:
        await asyncio.to_thread(self._close)

    async def run(self, operation: Operation[T]) -> T:
        """Have the writer do something."""
        return await self._writer.submit(operation)

    async def write(self, function: Callable[[sqlite3.Connection], T]) -> T:
        """Have the writer call a function inside a transaction."""
        return await self._writer.submit(Call(function))

    async def read(self, query: Callable[[sqlite3.Connection], T]) -> T:
        """Run a query beside the writer."""
        return await self._readers.run(query)

    def connect_reader(self) -> sqlite3.Connection:
        """A connection of one's own, which cannot write."""
        return connect_reader(self.path, timeout=self._timeout)

    def _open(self) -> None:
        with self._state_lock:
            if self._is_open:
                return
            prepare_place(self.path, self._filesystem_of)
            self._lock.share()
            try:
                make_current(self.path, self._lock, self._migrations, timeout=self._timeout)
                self._writer.start()
                make_private(self.path)
            except BaseException:
                self._writer.stop()
                self._lock.release()
                raise
            self._readers.start()
            self._neighbours.open()
            self._is_open = True

    def _close(self) -> None:
        with self._state_lock:
            self._is_open = False
            self._neighbours.close()
            self._readers.stop()
            self._writer.stop()
            self._lock.release()

    def _connect_writer(self) -> sqlite3.Connection:
        connection = connect_writer(self.path, timeout=self._timeout)
        try:
            if self.index.wants_work(connection):
                connection.execute("BEGIN IMMEDIATE")
                self.index.make(connection)
                connection.execute("COMMIT")
            self._neighbours.remember(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _count_commit(self) -> None:
        """Now and then the log is moved into the database, by a reader: the writer need not wait for the disk."""
        self._commits += 1
        if self._commits >= _COMMITS_PER_CHECKPOINT:
            self._commits = 0
            self._readers.soon(checkpoint)


def checkpoint(connection: sqlite3.Connection) -> None:
    """Move what can be moved without anybody waiting. What fails now succeeds next time."""
    try:
        connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
    except sqlite3.Error as error:
        _log.debug("a checkpoint failed: %s", error)

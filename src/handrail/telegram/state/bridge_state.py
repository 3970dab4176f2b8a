"""The bridge's memory: transactions on its tables, off the event loop."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from types import TracebackType
from typing import Self, TypeVar

from handrail.errors import StoreUnavailable
from handrail.store.migrations import Migration
from handrail.telegram.state.database import connect, explained, make_current
from handrail.telegram.state.schema import MIGRATIONS
from handrail.telegram.state.tables import Tables

__all__ = ["BridgeState"]

T = TypeVar("T")

_LOCK_TIMEOUT = 5.0


class BridgeState:
    """What the bridge remembers, in one SQLite file. Use it with `async with`.

    One thread writes and one reads. A function given to `write` runs in one transaction: all that it does happens, or,
    if it raises, nothing of it. Whatever is wrong with the database is raised as a `StoreError`.
    """

    def __init__(
        self,
        path: str,
        *,
        clock: Callable[[], float] = time.time,
        lock_timeout: float = _LOCK_TIMEOUT,
        migrations: Sequence[Migration] = MIGRATIONS,
    ) -> None:
        self.path = os.path.abspath(path)
        self._clock = clock
        self._timeout = lock_timeout
        self._migrations = migrations
        self._writer: _Worker | None = None
        self._reader: _Worker | None = None
        self._listeners: list[Callable[[], None]] = []

    async def __aenter__(self) -> Self:
        await asyncio.to_thread(make_current, self.path, self._migrations, timeout=self._timeout)
        self._writer = _Worker(self.path, self._timeout, can_write=True)
        self._reader = _Worker(self.path, self._timeout, can_write=False)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        writer, self._writer = self._writer, None
        reader, self._reader = self._reader, None
        for worker in (reader, writer):
            if worker is not None:
                await asyncio.to_thread(worker.close)

    async def write(self, function: Callable[[Tables], T]) -> T:
        """Have `function` work on the tables, in one transaction. It is seen through once it was begun."""
        loop = asyncio.get_running_loop()
        return await self._opened(self._writer).run(lambda connection: self._written(connection, function, loop))

    async def read(self, function: Callable[[Tables], T]) -> T:
        """Have `function` look at the tables. It sees everything that was written before, and nothing half."""
        return await self._opened(self._reader).run(lambda connection: self._seen(connection, function))

    def on_want(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Have `listener` called after something new was wanted of a message; returns what stops that."""
        self._listeners.append(listener)

        def stop() -> None:
            with suppress(ValueError):
                self._listeners.remove(listener)

        return stop

    def _tell(self) -> None:
        for listener in tuple(self._listeners):
            listener()

    def _opened(self, worker: _Worker | None) -> _Worker:
        if worker is None:
            raise StoreUnavailable(f"{self.path} is not open: use the bridge's state inside `async with`")
        return worker

    # ------------------------------------------------------------ in the threads

    def _written(
        self, connection: sqlite3.Connection, function: Callable[[Tables], T], loop: asyncio.AbstractEventLoop
    ) -> T:
        connection.execute("BEGIN IMMEDIATE")
        try:
            tables = Tables(connection, self._clock())
            result = function(tables)
            connection.execute("COMMIT")
        except BaseException:
            _undo(connection)
            raise
        if tables.wants:  # said from here, because whoever wrote it may not wait for it any more
            with suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(self._tell)
        return result

    def _seen(self, connection: sqlite3.Connection, function: Callable[[Tables], T]) -> T:
        connection.execute("BEGIN")
        try:
            return function(Tables(connection, self._clock()))
        finally:
            _undo(connection)


class _Worker:
    """A thread and its connection."""

    def __init__(self, path: str, timeout: float, *, can_write: bool) -> None:
        self._path = path
        self._timeout = timeout
        self._can_write = can_write
        self._connection: sqlite3.Connection | None = None
        name = "handrail-telegram-writer" if can_write else "handrail-telegram-reader"
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=name)

    async def run(self, function: Callable[[sqlite3.Connection], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._run, function)

    def close(self) -> None:
        """Let what was begun come to an end. Not on an event loop."""
        self._thread.shutdown()
        if self._connection is not None:
            self._connection.close()

    def _run(self, function: Callable[[sqlite3.Connection], T]) -> T:
        with explained(self._path):
            if self._connection is None:
                self._connection = connect(self._path, timeout=self._timeout, can_write=self._can_write)
            return function(self._connection)


def _undo(connection: sqlite3.Connection) -> None:
    """SQLite has undone the transaction already for some errors. What fails here fails again, and says so, at BEGIN."""
    if connection.in_transaction:
        with suppress(sqlite3.Error):
            connection.execute("ROLLBACK")

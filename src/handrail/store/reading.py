"""Reading off the event loop: a few threads, each with a connection of its own."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import TypeVar

from handrail.errors import StoreUnavailable
from handrail.store.faults import explained

__all__ = ["Readers", "snapshot"]

T = TypeVar("T")

_THREADS = 3


class Readers:
    """Runs queries. In WAL mode they neither wait for the writer nor keep it waiting."""

    def __init__(self, path: str, connect: Callable[[], sqlite3.Connection]) -> None:
        self._path = path
        self._connect = connect
        self._own = threading.local()
        self._connections: list[sqlite3.Connection] = []
        self._pool: ThreadPoolExecutor | None = None

    def start(self) -> None:
        self._own = threading.local()
        self._pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="handrail-reader")

    async def run(self, query: Callable[[sqlite3.Connection], T]) -> T:
        """The result of `query`, which gets a connection that cannot write."""
        pool = self._pool
        if pool is None:
            raise self._not_open()
        try:
            future = asyncio.get_running_loop().run_in_executor(pool, self._run, query)
        except RuntimeError:  # it was shut down a moment ago
            raise self._not_open() from None
        return await future

    def soon(self, task: Callable[[sqlite3.Connection], None]) -> None:
        """Have `task`, which handles its own errors, run when a thread is free. Thread-safe."""
        pool = self._pool
        if pool is not None:
            with suppress(RuntimeError):  # it was shut down a moment ago
                pool.submit(self._run, task)

    def stop(self) -> None:
        """Let the queries that run come to an end. Not on an event loop."""
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.shutdown()
        while self._connections:
            self._connections.pop().close()

    def _not_open(self) -> StoreUnavailable:
        return StoreUnavailable(f"{self._path} is not open: use the store between `open` and `close`")

    def _run(self, query: Callable[[sqlite3.Connection], T]) -> T:
        with explained(self._path):
            return query(self._connection())

    def _connection(self) -> sqlite3.Connection:
        connection: sqlite3.Connection | None = getattr(self._own, "connection", None)
        if connection is None:
            connection = self._own.connection = self._connect()
            self._connections.append(connection)
        return connection


@contextmanager
def snapshot(connection: sqlite3.Connection) -> Iterator[None]:
    """All queries inside see the same state."""
    connection.execute("BEGIN")
    try:
        yield
    finally:
        connection.execute("COMMIT")

"""The one thread that writes: whatever was asked for while it committed goes into its next transaction."""

from __future__ import annotations

import asyncio
import queue
import sqlite3
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Generic, TypeAlias, TypeVar

from handrail.errors import HandrailError, StoreError, StoreUnavailable
from handrail.store.faults import Damaged, explained, is_locked, store_error
from handrail.store.watching import Changed, Watchers

__all__ = ["Call", "Operation", "Writer"]

T = TypeVar("T")

_LARGEST_GROUP = 1_000
"""So that the first of many does not wait for all of them."""

Outcome: TypeAlias = Any
"""What an operation returned, or the exception that it raised."""


class Operation(ABC, Generic[T]):
    """Something to be done inside a transaction that it may share with others.

    An operation that refuses raises before it has written anything: then nothing needs to be undone. Any other error
    undoes the transaction, and each of its operations is tried again in one of its own.
    """

    durable = False
    """Whether it must survive a power cut."""
    revocable = False
    """Whether it is left undone if whoever submitted it went away before it began."""
    number = 0
    """The number of its transaction, for what it changes: above those of all transactions before."""

    def prepare(self) -> None:
        """What can be done before the transaction, and should not keep others waiting inside it."""

    @abstractmethod
    def apply(self, connection: sqlite3.Connection) -> T:
        """Do it. May happen again if the transaction was undone."""

    def woken(self) -> Changed | None:
        """The session that those who watch should look at again once it is stored. Known once it was applied."""
        return None


class Call(Operation[T]):
    """An operation that is one function."""

    def __init__(
        self, function: Callable[[sqlite3.Connection], T], *, durable: bool = False, revocable: bool = False
    ) -> None:
        self._function = function
        self.durable = durable
        self.revocable = revocable

    def apply(self, connection: sqlite3.Connection) -> T:
        return self._function(connection)


class _Waiting:
    """An operation, and who waits for its outcome."""

    __slots__ = ("future", "loop", "operation")

    def __init__(self, operation: Operation[Any], loop: asyncio.AbstractEventLoop) -> None:
        self.operation = operation
        self.loop = loop
        self.future: asyncio.Future[Any] = loop.create_future()


class Writer:
    """Runs operations in the order in which they were submitted, off every event loop."""

    def __init__(
        self,
        path: str,
        connect: Callable[[], sqlite3.Connection],
        watchers: Watchers,
        *,
        durable: bool = False,
        next_number: Callable[[sqlite3.Connection], int] = lambda connection: 0,
        before_commit: Callable[[Changed], None] = lambda change: None,
        after_commit: Callable[[], None] = lambda: None,
    ) -> None:
        self._path = path
        self._connect = connect
        self._watchers = watchers
        self._durable = durable
        self._next_number = next_number
        self._before_commit = before_commit
        self._after_commit = after_commit
        self._queue: queue.SimpleQueue[_Waiting | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._accepts = False
        self._accepting = threading.Lock()
        self._full_sync: bool | None = None

    def start(self) -> None:
        """Connect, and begin. Not on an event loop: it can take a while."""
        with explained(self._path):
            connection = self._connect()
        self._full_sync = None
        self._thread = threading.Thread(target=self._run, args=(connection,), name="handrail-writer", daemon=True)
        self._thread.start()
        self._accepts = True

    def stop(self) -> None:
        """Do what was submitted, then end. Not on an event loop."""
        thread, self._thread = self._thread, None
        if thread is not None:
            with self._accepting:  # nothing may come behind the end
                self._accepts = False
                self._queue.put(None)
            thread.join()

    def submit(self, operation: Operation[T]) -> asyncio.Future[T]:
        """Have it done next; the future gets its outcome. It is seen through also if nobody waits for that any more."""
        waiting = _Waiting(operation, asyncio.get_running_loop())
        with self._accepting:
            if not self._accepts:
                raise StoreUnavailable(f"{self._path} is not open: use the store between `open` and `close`")
            self._queue.put(waiting)
        return waiting.future

    # ------------------------------------------------------------ in the thread

    def _run(self, connection: sqlite3.Connection) -> None:
        try:
            going_on = True
            while going_on:
                group, going_on = self._next_group()
                if group:
                    self._deliver(group, self._outcomes(connection, group))
                    self._after_commit()
        finally:
            connection.close()

    def _next_group(self) -> tuple[list[_Waiting], bool]:
        """Everything that waits, and whether more may come."""
        group: list[_Waiting] = []
        waiting = self._queue.get()
        while waiting is not None:
            group.append(waiting)
            if len(group) == _LARGEST_GROUP:
                return group, True
            try:
                waiting = self._queue.get_nowait()
            except queue.Empty:
                return group, True
        return group, False

    def _outcomes(self, connection: sqlite3.Connection, group: Sequence[_Waiting]) -> list[Outcome]:
        outcomes = [_prepared(waiting) for waiting in group]
        ready = [waiting.operation for waiting, error in zip(group, outcomes, strict=True) if error is None]
        results = iter(self._committed(connection, ready) if ready else ())
        return [next(results) if error is None else error for error in outcomes]

    def _committed(self, connection: sqlite3.Connection, operations: Sequence[Operation[Any]]) -> list[Outcome]:
        """The outcomes of operations, in one transaction if possible, else in one for each."""
        try:
            return self._in_one_transaction(connection, operations)
        except Exception as error:  # noqa: BLE001 - whatever it is, whoever waits must hear of it
            _undo(connection)
            if len(operations) == 1 or is_locked(error):
                return [self._failure(error) for _ in operations]
        return [self._committed(connection, [operation])[0] for operation in operations]

    def _in_one_transaction(
        self, connection: sqlite3.Connection, operations: Sequence[Operation[Any]]
    ) -> list[Outcome]:
        self._set_sync(connection, self._durable or any(operation.durable for operation in operations))
        connection.execute("BEGIN IMMEDIATE")
        number = self._next_number(connection)
        outcomes = [_applied(operation, connection, number) for operation in operations]
        for operation, outcome in zip(operations, outcomes, strict=True):
            if change := _change(operation, outcome):
                self._before_commit(change)
        connection.execute("COMMIT")
        return outcomes

    def _set_sync(self, connection: sqlite3.Connection, full: bool) -> None:
        """A commit with FULL also makes durable whatever was committed before it."""
        if full is not self._full_sync:
            connection.execute(f"PRAGMA synchronous = {'FULL' if full else 'NORMAL'}")
            self._full_sync = full

    def _failure(self, error: Exception) -> Exception:
        if isinstance(error, OverflowError):  # a number of another machine's, say
            return StoreError(f"{self._path} cannot hold a number that large")
        return store_error(error, self._path) if isinstance(error, (sqlite3.Error, OSError, Damaged)) else error

    def _deliver(self, group: Sequence[_Waiting], outcomes: Sequence[Outcome]) -> None:
        """One call into each event loop that is concerned, however large the group."""
        wakes: dict[str, int] = {}
        results: dict[asyncio.AbstractEventLoop, list[tuple[asyncio.Future[Any], Outcome]]] = {}
        for waiting, outcome in zip(group, outcomes, strict=True):
            results.setdefault(waiting.loop, []).append((waiting.future, outcome))
            if change := _change(waiting.operation, outcome):
                wakes[change.session_id] = change.last_seq
        loops = {**results, **dict.fromkeys(self._watchers.loops(), ())} if wakes else results
        for loop in loops:
            try:
                loop.call_soon_threadsafe(self._arrive, loop, wakes, results.get(loop, ()))
            except RuntimeError:  # the loop is closed: nobody waits there any more
                continue

    def _arrive(
        self,
        loop: asyncio.AbstractEventLoop,
        wakes: dict[str, int],
        results: Sequence[tuple[asyncio.Future[Any], Outcome]],
    ) -> None:
        """On an event loop: those who watch first, so that they know of it when the append returns."""
        self._watchers.call(loop, wakes)
        for future, outcome in results:
            if future.done():
                continue
            if isinstance(outcome, Exception):
                future.set_exception(outcome)
            else:
                future.set_result(outcome)


def _prepared(waiting: _Waiting) -> Exception | None:
    """Why it cannot be done, if it cannot."""
    if waiting.operation.revocable and waiting.future.cancelled():
        return StoreError("nobody waits for it any more")
    try:
        waiting.operation.prepare()
    except Exception as error:  # noqa: BLE001 - it belongs to whoever submitted the operation
        return error
    return None


def _change(operation: Operation[Any], outcome: Outcome) -> Changed | None:
    return None if isinstance(outcome, Exception) else operation.woken()


def _applied(operation: Operation[Any], connection: sqlite3.Connection, number: int) -> Outcome:
    operation.number = number
    try:
        return operation.apply(connection)
    except HandrailError as refusal:
        return refusal


def _undo(connection: sqlite3.Connection) -> None:
    """SQLite has undone the transaction already for some errors. What fails here fails again, and says so, at BEGIN."""
    if connection.in_transaction:
        with suppress(sqlite3.Error):
            connection.execute("ROLLBACK")

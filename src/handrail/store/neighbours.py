"""Hearing of what other processes do with the database: a look now and then, while somebody watches."""

from __future__ import annotations

import logging
import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing

from handrail.store.changes import changes_after, last_number
from handrail.store.watching import Changed, Watchers

__all__ = ["Neighbours"]

_log = logging.getLogger("handrail.store")


class Neighbours:
    """Looks whether others have written, in a thread that lives while somebody watches; tells those who watch.

    A look costs one number that SQLite keeps in shared memory. Only when that is another one than before are changed
    sessions read, by the numbers of their changes.
    """

    def __init__(self, connect: Callable[[], sqlite3.Connection], watchers: Watchers, *, between_looks: float) -> None:
        self._connect = connect
        self._between_looks = between_looks
        self._watchers = watchers
        watchers.on_watched = self._be_watched
        self._lock = threading.Lock()
        self._is_open = self._is_watched = False
        self._enough: threading.Event | None = None
        self._threads: list[threading.Thread] = []
        self._looking = threading.Lock()
        self._seen = 0
        self._own: dict[str, int] = {}

    def remember(self, connection: sqlite3.Connection) -> None:
        """What changes from now on will be told, whenever somebody begins to watch."""
        self._seen = last_number(connection)

    def open(self) -> None:
        """Look from now on, if somebody watches."""
        with self._lock:
            self._is_open = True
            self._begin_or_end()

    def close(self) -> None:
        """Look no more. Not on an event loop: it waits for the last look."""
        with self._lock:
            self._is_open = False
            self._begin_or_end()
            threads, self._threads = self._threads, []
        for thread in threads:
            thread.join()

    def made(self, change: Changed) -> None:
        """This store is about to commit a change: those who watch hear of it from the writer."""
        self._own[change.session_id] = change.number

    def _be_watched(self, watched: bool) -> None:
        with self._lock:
            self._is_watched = watched
            self._begin_or_end()

    def _begin_or_end(self) -> None:
        if self._is_open and self._is_watched and self._enough is None:
            self._enough = threading.Event()
            self._threads = [thread for thread in self._threads if thread.is_alive()]
            self._threads.append(
                threading.Thread(target=self._run, args=(self._enough,), name="handrail-neighbours", daemon=True)
            )
            self._threads[-1].start()
        elif not (self._is_open and self._is_watched) and self._enough is not None:
            self._enough.set()
            self._enough = None

    # ------------------------------------------------------------ in the thread

    def _run(self, enough: threading.Event) -> None:
        version: int | None = None
        while not enough.is_set():
            try:
                with closing(self._connect()) as connection:
                    while not enough.is_set():
                        version = self._look(connection, version)
                        enough.wait(self._between_looks)
            except sqlite3.Error as error:  # what cannot be seen now can be seen later
                _log.debug("no look at what others store: %s", error)
                version = None
                enough.wait(self._between_looks)

    def _look(self, connection: sqlite3.Connection, known: int | None) -> int:
        (version,) = connection.execute("PRAGMA data_version").fetchone()
        if version != known:
            self._tell(connection)
        return int(version)

    def _tell(self, connection: sqlite3.Connection) -> None:
        with self._looking:  # the thread before may still be at its last look
            changes = changes_after(connection, self._seen)
            self._seen = changes[-1].number if changes else self._seen
        others = {change.session_id: change.last_seq for change in changes if not self._is_own(change)}
        if others:
            self._watchers.tell(others)

    def _is_own(self, change: Changed) -> bool:
        return self._own.get(change.session_id) == change.number

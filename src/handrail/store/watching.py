"""Who is called when something was stored."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from handrail.store.base import Watcher

__all__ = ["Changed", "Watchers"]

_log = logging.getLogger("handrail.store")


class Changed(NamedTuple):
    """A session that changed, its last event (0 if it is gone), and the number of the change."""

    session_id: str
    last_seq: int
    number: int


class _Watch:
    """One watcher; `session_id` is None if it watches all sessions."""

    __slots__ = ("session_id", "watcher")

    def __init__(self, watcher: Watcher, session_id: str | None) -> None:
        self.watcher = watcher
        self.session_id = session_id


class Watchers:
    """Watchers by the event loop on which they are called. Thread-safe."""

    def __init__(self) -> None:
        self.on_watched: Callable[[bool], None] = lambda watched: None
        """Called when the first begins to watch, and when nobody does any more. Must not wait, nor call back."""
        self._lock = threading.Lock()
        self._watches: dict[asyncio.AbstractEventLoop, tuple[_Watch, ...]] = {}

    def add(self, watcher: Watcher, session_id: str | None) -> Callable[[], None]:
        """Watch from the running event loop; returns what ends it."""
        loop = asyncio.get_running_loop()
        watch = _Watch(watcher, session_id)
        with self._lock:
            self._forget_closed_loops()
            if not self._watches:
                self.on_watched(True)
            self._watches[loop] = (*self._watches.get(loop, ()), watch)
        return lambda: self._remove(loop, watch)

    def loops(self) -> Iterable[asyncio.AbstractEventLoop]:
        """Where somebody watches."""
        with self._lock:
            return tuple(self._watches)

    def tell(self, wakes: Mapping[str, int]) -> None:
        """Tell everybody, each on its own loop, the last events of sessions."""
        for loop in self.loops():
            try:
                loop.call_soon_threadsafe(self.call, loop, wakes)
            except RuntimeError:  # the loop is closed: nobody watches there any more
                continue

    def call(self, loop: asyncio.AbstractEventLoop, wakes: Mapping[str, int]) -> None:
        """Tell those on `loop`, which is the running one, the last events of sessions."""
        for watch in self._watches.get(loop, ()):
            if watch.session_id is None:
                for session_id, last_seq in wakes.items():
                    _call(watch.watcher, session_id, last_seq)
            elif watch.session_id in wakes:
                _call(watch.watcher, watch.session_id, wakes[watch.session_id])

    def _remove(self, loop: asyncio.AbstractEventLoop, watch: _Watch) -> None:
        with self._lock:
            watches = self._watches.pop(loop, ())
            remaining = tuple(other for other in watches if other is not watch)
            if remaining:
                self._watches[loop] = remaining
            elif watches and not self._watches:
                self.on_watched(False)

    def _forget_closed_loops(self) -> None:
        """Whoever watched there never said that they do no more."""
        for loop in [loop for loop in self._watches if loop.is_closed()]:
            del self._watches[loop]


def _call(watcher: Watcher, session_id: str, last_seq: int) -> None:
    try:
        watcher(session_id, last_seq)
    except Exception:  # noqa: BLE001 - a watcher's mistake must not keep others from hearing of it
        _log.exception("a watcher of the store failed")

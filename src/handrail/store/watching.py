"""Who is called when something was stored."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Iterable, Mapping

from handrail.store.base import Watcher

__all__ = ["Watchers"]

_log = logging.getLogger("handrail.store")


class _Watch:
    """One watcher; `session_id` is None if it watches all sessions."""

    __slots__ = ("session_id", "watcher")

    def __init__(self, watcher: Watcher, session_id: str | None) -> None:
        self.watcher = watcher
        self.session_id = session_id


class Watchers:
    """Watchers by the event loop on which they are called. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._watches: dict[asyncio.AbstractEventLoop, tuple[_Watch, ...]] = {}

    def add(self, watcher: Watcher, session_id: str | None) -> Callable[[], None]:
        """Watch from the running event loop; returns what ends it."""
        loop = asyncio.get_running_loop()
        watch = _Watch(watcher, session_id)
        with self._lock:
            self._watches[loop] = (*self._watches.get(loop, ()), watch)
        return lambda: self._remove(loop, watch)

    def loops(self) -> Iterable[asyncio.AbstractEventLoop]:
        """Where somebody watches."""
        with self._lock:
            return tuple(self._watches)

    def call(self, loop: asyncio.AbstractEventLoop, wakes: Mapping[str, int]) -> None:
        """Tell those on `loop`, which is the running one, the last events of sessions."""
        for watch in self._watches.get(loop, ()):
            for session_id, last_seq in wakes.items():
                if watch.session_id in (None, session_id):
                    _call(watch.watcher, session_id, last_seq)

    def _remove(self, loop: asyncio.AbstractEventLoop, watch: _Watch) -> None:
        with self._lock:
            remaining = tuple(other for other in self._watches.get(loop, ()) if other is not watch)
            if remaining:
                self._watches[loop] = remaining
            else:
                self._watches.pop(loop, None)


def _call(watcher: Watcher, session_id: str, last_seq: int) -> None:
    try:
        watcher(session_id, last_seq)
    except Exception:  # noqa: BLE001 - a watcher's mistake must not keep others from hearing of it
        _log.exception("a watcher of the store failed")

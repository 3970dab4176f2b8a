"""The timelines of sessions that somebody looks at, and of those that somebody looked at lately."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from weakref import WeakValueDictionary

from handrail.server.live.timeline import Timeline
from handrail.store.base import EventRow, Store

__all__ = ["Timelines"]

PAGE = 1_000
AT_ONCE = 200
"""Events that are taken in without letting anybody else run."""
KEPT_ROWS = 100_000
"""How many rows of sessions that nobody follows are kept: a few hundred bytes each."""


class Timelines:
    """Timelines by session. Those that are held are kept; the others as long as there is room."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._kept: OrderedDict[str, Timeline] = OrderedDict()
        self._held: dict[str, int] = {}
        self._busy: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def get(self, session_id: str, *, at_least: int = 0) -> Timeline:
        """The timeline of a session, with every event that is stored, or with `at_least` this many."""
        lock = self._busy.setdefault(session_id, asyncio.Lock())
        async with lock:
            timeline = self._kept.get(session_id)
            if timeline is None:
                timeline = await self._built(session_id)
            elif not at_least or timeline.seq < at_least:
                await self._catch_up(session_id, timeline)
            self._keep(session_id, timeline)
            return timeline

    @contextmanager
    def held(self, session_id: str) -> Iterator[None]:
        """Keep the timeline of a session, once it is there, until the end of this."""
        self._held[session_id] = self._held.get(session_id, 0) + 1
        try:
            yield
        finally:
            self._held[session_id] -= 1
            if not self._held[session_id]:
                del self._held[session_id]
            self._make_room()

    def forget(self, session_id: str) -> None:
        """The session is gone."""
        self._kept.pop(session_id, None)

    @property
    def rows(self) -> int:
        """How many rows are in memory."""
        return sum(len(timeline) for timeline in self._kept.values())

    async def _built(self, session_id: str) -> Timeline:
        """Made in a thread, page by page, since nobody else has it yet; each page while the next one is read."""
        timeline = Timeline()
        page = await self._store.read(session_id, limit=PAGE)
        while len(page) == PAGE:
            taking = asyncio.to_thread(_take, timeline, page)
            _, page = await asyncio.gather(taking, self._store.read(session_id, after=page[-1].seq, limit=PAGE))
        if len(page) <= AT_ONCE:
            _take(timeline, page)
        else:
            await asyncio.to_thread(_take, timeline, page)
        return timeline

    async def _catch_up(self, session_id: str, timeline: Timeline) -> None:
        """On the event loop, since others read it there; a little at a time."""
        while page := await self._store.read(session_id, after=timeline.seq, limit=AT_ONCE):
            _take(timeline, page)
            if len(page) < AT_ONCE:
                break

    def _keep(self, session_id: str, timeline: Timeline) -> None:
        self._kept[session_id] = timeline
        self._kept.move_to_end(session_id)
        self._make_room()

    def _make_room(self) -> None:
        free = [name for name in self._kept if name not in self._held]
        rows = sum(len(self._kept[name]) for name in free)
        for name in free[:-1]:  # the latest may be as long as it is
            if rows <= KEPT_ROWS:
                return
            rows -= len(self._kept.pop(name))


def _take(timeline: Timeline, page: list[EventRow]) -> None:
    timeline.take_all(row.body for row in page)

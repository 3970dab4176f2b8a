"""Following a session for good: while it lives in this process, nowhere, or in another one, and back again."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from typing import Protocol

from handrail.errors import SessionNotFound, SessionNotLive
from handrail.events.model import Event
from handrail.sessions.feed import Feed, Item

__all__ = ["Pursuit"]


class Source(Protocol):
    """What a session is followed at, in another process."""

    def subscribe(
        self, after: int, *, deltas: bool, follow: bool, until_given_up: bool
    ) -> AsyncGenerator[Item, None]: ...


class Pursuit:
    """One reader that follows a session wherever it goes.

    `elsewhere` finds the other process that has the session, if one has. `watch` says when that may have changed,
    until what it returns is called; it is needed only while the session does not live here.
    """

    def __init__(
        self,
        feed: Feed,
        *,
        elsewhere: Callable[[], Awaitable[Source | None]],
        watch: Callable[[], Callable[[], None]],
    ) -> None:
        self._feed = feed
        self._elsewhere = elsewhere
        self._watch = watch
        self._unwatch: Callable[[], None] | None = None
        self._cursor = 0

    async def read(self, after: int, *, deltas: bool) -> AsyncGenerator[Item, None]:
        """Every event behind number `after`, and what comes, until the session is deleted or the feed is closed."""
        self._cursor = after
        try:
            while not self._feed.is_closed:
                self._watch_unless_here()
                moves = self._feed.moves  # before looking: a move that comes while we look is not missed
                async with aclosing(self._from_elsewhere(deltas=deltas)) as items:
                    async for item in items:
                        yield self._seen(item)
                async with aclosing(self._feed.read(self._cursor, deltas=deltas, until_move_after=moves)) as items:
                    async for item in items:
                        yield self._seen(item)
                if self._feed.moves == moves:
                    return  # deleted
        except SessionNotFound:
            return
        finally:
            self._stop_watching()

    async def _from_elsewhere(self, *, deltas: bool) -> AsyncGenerator[Item, None]:
        """What the other process says for as long as it has the session. The journal has the rest."""
        source = await self._elsewhere()
        if source is None:
            return
        stream = source.subscribe(self._cursor, deltas=deltas, follow=True, until_given_up=True)
        try:
            async with aclosing(stream) as items:
                async for item in items:
                    yield item
        except SessionNotLive:
            return

    def _seen(self, item: Item) -> Item:
        if isinstance(item, Event):
            self._cursor = item.seq
        return item

    def _watch_unless_here(self) -> None:
        if self._feed.is_live:
            self._stop_watching()
        elif self._unwatch is None:
            self._unwatch = self._watch()

    def _stop_watching(self) -> None:
        unwatch, self._unwatch = self._unwatch, None
        if unwatch is not None:
            unwatch()

"""Handrail's live stream over a feed and a journal in memory: what viewers cost, and nothing else."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any, cast

import msgspec
from starlette.websockets import WebSocket

from bench.contenders.halls import served
from handrail.events.codec import encode_event
from handrail.events.model import Delta, Event
from handrail.server.calls import Caller
from handrail.server.live import Live
from handrail.server.metrics import Metrics
from handrail.sessions.feed import Feed, Item
from handrail.sessions.manager import Manager
from handrail.store.base import EventRow, SessionRow, Store

ID = "0" * 32


class Journal:
    """A store of one session, in memory, and its handle."""

    def __init__(self) -> None:
        self.id = ID
        self.store = self
        self.rows: list[EventRow] = []
        self._stored: dict[int, EventRow] = {}
        self.feed = Feed(ID, cast(Store, self))
        self.feed.begin(0)

    def session(self, session_id: str) -> Journal:
        return self

    async def row(self) -> SessionRow:
        return SessionRow(id=ID, cwd="/", created_at=0.0, updated_at=0.0, last_seq=len(self.rows))

    async def get_session(self, session_id: str) -> SessionRow:
        return await self.row()

    async def read(self, session_id: str, *, after: int = 0, limit: int = 1000) -> list[EventRow]:
        return self.rows[after : after + limit]

    def watch(self, watcher: Any, *, session_id: str | None = None) -> Callable[[], None]:
        return lambda: None

    async def is_live(self) -> bool:
        return True

    async def subscribe(self, after: int = 0) -> AsyncGenerator[Item, None]:
        async for item in self.feed.read(after):
            yield item

    def publish(self, items: Sequence[Event | Delta]) -> None:
        self.rows += [self._stored[item.seq] for item in items if isinstance(item, Event)]
        self.feed.publish([(item, 200) for item in items])

    def prepare(self, items: Sequence[Event | Delta]) -> None:
        """What a journal stores: that costs the same without viewers."""
        for item in items:
            if isinstance(item, Event):
                self._stored[item.seq] = EventRow(seq=item.seq, at=0.0, type="", body=encode_event(item))


class LiveHall:
    def __init__(self, url: str, journal: Journal, form: str) -> None:
        self.url = url
        self.first = msgspec.json.encode({"type": "follow", "session": ID, "as": form}).decode()
        self._journal = journal

    def prepare(self, items: Sequence[Event | Delta]) -> None:
        self._journal.prepare(items)

    async def show(self, items: Sequence[Event | Delta]) -> None:
        self._journal.publish(items)
        await asyncio.sleep(0)


@asynccontextmanager
async def hall(look: str) -> AsyncIterator[LiveHall]:
    journal = Journal()
    caller = Caller(name="viewer", role="viewer", surface="api")
    async with Live(cast(Manager, journal), metrics=Metrics()) as live:

        async def endpoint(socket: WebSocket) -> None:
            await live.serve(socket, caller)

        async with served(endpoint) as url:
            yield LiveHall(url, journal, look)
            await live.stop()

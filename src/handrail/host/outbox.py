"""What waits to be sent to the hub: messages, put together to parcels, and a bound on how much may wait.

Whatever is put in during one turn of the event loop leaves as one parcel. Pages and deltas wait their turn before they
are even read, in the order in which they came, so that no session gets ahead of the others.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Final

from handrail.link import wire
from handrail.link.wire import Deltas, FromHost

__all__ = ["Outbox"]

PARCEL: Final = 256 * 1024
"""From how many bytes on a parcel takes no further message."""
FULL: Final = 1024 * 1024
"""How many bytes of pages and deltas may wait; what else is said is small, and never waits."""


class Outbox:
    """The messages of one connection, in order."""

    def __init__(self) -> None:
        self._messages: deque[bytes | _OpenDeltas] = deque()
        self._open: dict[str, _OpenDeltas] = {}
        self._filled = asyncio.Event()
        self._waiting: deque[tuple[asyncio.Future[None], int]] = deque()
        self._queued = 0
        self._reserved = 0

    def put(self, message: FromHost) -> None:
        """Send a message when its turn comes. Never waits."""
        encoded = wire.encode(message)
        if isinstance(message, wire.Page):
            self._open.pop(message.page.session.id, None)  # what is written from now on comes behind the page
        self._queued += len(encoded)
        self._messages.append(encoded)
        self._filled.set()

    def put_delta(self, session_id: str, delta: bytes) -> None:
        """Send a delta, together with those of its session that have not left yet."""
        deltas = self._open.get(session_id)
        if deltas is None:
            deltas = self._open[session_id] = _OpenDeltas(session_id)
            self._messages.append(deltas)
        deltas.items.append(delta)
        self._queued += len(delta)
        self._filled.set()

    @asynccontextmanager
    async def turn(self, size: int) -> AsyncGenerator[None, None]:
        """Wait until there is room for about `size` bytes, which are put in inside the block."""
        await self._admitted(size)
        try:
            yield
        finally:
            self._reserved -= size
            self._admit()

    async def _admitted(self, size: int) -> None:
        """Whoever came first is let in first. The room is kept from then on."""
        ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((ready, size))
        self._admit()
        try:
            await ready
        except asyncio.CancelledError:
            if not ready.cancelled():  # it was let in, and does not come
                self._reserved -= size
                self._admit()
            raise

    def _admit(self) -> None:
        while self._waiting and self._queued + self._reserved < FULL:
            ready, size = self._waiting.popleft()
            if not ready.done():
                self._reserved += size
                ready.set_result(None)

    async def run(self, send: Callable[[bytes], Awaitable[None]]) -> None:
        """Send what there is, for ever. `send` waits while the socket takes no more."""
        while True:
            await self._filled.wait()
            encoded = self._take()
            parcel = wire.parcel_of(encoded)
            await send(parcel)
            self._queued = max(0, self._queued - sum(map(len, encoded)))
            if not self._messages:
                self._queued = 0  # deltas are counted before they are put together
            self._admit()

    def _take(self) -> list[bytes]:
        taken: list[bytes] = []
        size = 0
        while self._messages and size < PARCEL:
            message = self._messages.popleft()
            if isinstance(message, _OpenDeltas):
                if self._open.get(message.session_id) is message:
                    del self._open[message.session_id]
                message = wire.encode(Deltas(session=message.session_id, items=message.items))
            taken.append(message)
            size += len(message)
        if not self._messages:
            self._filled.clear()
        return taken


class _OpenDeltas:
    """Deltas of a session that wait together."""

    __slots__ = ("items", "session_id")

    def __init__(self, session_id: str) -> None:
        self.session_id = session_id
        self.items: list[bytes] = []

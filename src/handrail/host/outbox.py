"""What waits to be sent to the hub: messages, put together to parcels, and a bound on how much may wait.

Whatever is put in during one turn of the event loop leaves as one parcel. Pages and deltas wait their turn before they
are even read, in the order in which they came, so that no session gets ahead of the others. Turns come at once after a
silence, and then some milliseconds apart: what happened in all sessions meanwhile is read, sent and stored together.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Final

from handrail.link import wire
from handrail.link.wire import Deltas, FromHost

__all__ = ["Outbox"]

PARCEL: Final = 256 * 1024
"""From how many bytes on a parcel takes no further message."""
FULL: Final = 1024 * 1024
"""How many bytes of pages and deltas may wait; what else is said is small, and never waits."""
BETWEEN_TURNS: Final = 0.01
"""In seconds: shorter than anybody sees, and long enough for some of many sessions to have something new."""
MUCH: Final = 64 * 1024
"""In bytes: behind a parcel of this size turns are given at once, so that what is behind is soon sent."""
TOGETHER: Final = 0.005
"""How long a parcel waits at most for those whose turn it is, in seconds."""


class Outbox:
    """The messages of one connection, in order."""

    def __init__(self) -> None:
        self._messages: deque[bytes | _OpenDeltas] = deque()
        self._open: dict[str, _OpenDeltas] = {}
        self._filled = asyncio.Event()
        self._complete = asyncio.Event()
        """Whether a parcel need not wait for more."""
        self._complete.set()
        self._waiting: deque[tuple[asyncio.Future[None], int]] = deque()
        self._queued = 0
        self._reserved = 0
        self._next_turn = 0.0
        self._were_turns = False
        """Whether some were given since the last parcel."""
        self._timer: asyncio.TimerHandle | None = None

    def put(self, message: FromHost) -> None:
        """Send a message when its turn comes. Never waits."""
        encoded = wire.encode(message)
        if isinstance(message, wire.Page):
            self._open.pop(message.page.session.id, None)  # what is written from now on comes behind the page
        else:
            self._complete.set()  # somebody waits for it
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
        """Wait until it is time, and there is room for about `size` bytes, which are put in inside the block."""
        await self._admitted(size)
        try:
            yield
        finally:
            self._give_back(size)

    async def _admitted(self, size: int) -> None:
        """Whoever came first is let in first. The room is kept from then on."""
        if not self._waiting and self._has_room():
            self._let_in(size)
            return
        ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((ready, size))
        try:
            await ready
        except asyncio.CancelledError:
            if not ready.cancelled():  # it was let in, and does not come
                self._give_back(size)
            raise

    def _give_back(self, size: int) -> None:
        self._reserved -= size
        if not self._reserved:
            self._complete.set()
        self._admit()

    def _admit(self) -> None:
        while self._waiting and self._has_room():
            ready, size = self._waiting.popleft()
            if not ready.done():
                self._let_in(size)
                ready.set_result(None)

    def _let_in(self, size: int) -> None:
        self._reserved += size
        self._were_turns = True
        self._complete.clear()

    def _has_room(self) -> bool:
        return self._queued + self._reserved < FULL and self._is_time()

    def _is_time(self) -> bool:
        """Whether turns are given now; if not, they will be."""
        loop = asyncio.get_running_loop()
        if loop.time() >= self._next_turn:
            return True
        if self._timer is None:
            self._timer = loop.call_at(self._next_turn, self._on_time)
        return False

    def _on_time(self) -> None:
        self._timer = None
        self._next_turn = 0.0
        self._admit()

    async def run(self, send: Callable[[bytes], Awaitable[None]]) -> None:
        """Send what there is, for ever. `send` waits while the socket takes no more."""
        while True:
            await self._filled.wait()
            await self._all_in()
            encoded = self._take()
            size = sum(map(len, encoded))
            self._space_turns(size)
            await send(wire.parcel_of(encoded))
            self._queued = max(0, self._queued - size)
            if not self._messages:
                self._queued = 0  # deltas are counted before they are put together
            self._admit()

    def _space_turns(self, size: int) -> None:
        if self._were_turns and size < MUCH:
            self._next_turn = asyncio.get_running_loop().time() + BETWEEN_TURNS
        self._were_turns = False

    async def _all_in(self) -> None:
        """Wait a moment for those whose turn it is, so that what they have leaves together."""
        if not self._complete.is_set() and self._queued < PARCEL:
            with suppress(TimeoutError):
                async with asyncio.timeout(TOGETHER):
                    await self._complete.wait()

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

"""One reader of a session that a hub streams: what has come and was not read yet, and where to go on.

Sans-I/O: whoever has the socket puts messages in; the reader says where the stream must go on for it. So nothing is
missing and nothing comes twice, however often the socket is lost.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Final

import msgspec

from handrail.errors import HandrailError
from handrail.events.codec import decode_event
from handrail.events.model import Completed, Delta, ProcessExited
from handrail.sessions.feed import Item

__all__ = ["LiveReader"]

MOST_BYTES: Final = 4 * 1024 * 1024
MOST_ITEMS: Final = 4_000
"""What may wait to be read. Beyond it the session is not followed until that was read: then it goes on from there."""


class LiveReader:
    """Somebody who follows a session, from behind event number `after` on."""

    def __init__(self, session_id: str, after: int, *, deltas: bool) -> None:
        self.session_id = session_id
        self.deltas = deltas
        self.cursor = after
        """The number of the last event that came."""
        self.paused = False
        """Whether too much waits to be read: nothing more is to be sent for now."""
        self._items: deque[tuple[Item, int]] = deque()
        self._bytes = 0
        self._over = False
        self._error: HandrailError | None = None
        self._wake = asyncio.Event()
        self._written: dict[str, int] = {}
        """How much of each open block was passed on."""
        self._repeated: set[str] = set()
        """Blocks that will come again from their beginning, because the session is followed anew."""

    # ------------------------------------------------------------ called by whoever has the socket

    def follows_anew(self) -> None:
        """The stream begins again behind `cursor`: what is being written then comes from its beginning."""
        self.paused = False
        self._repeated = set(self._written)

    def take_event(self, body: bytes) -> bool:
        """An event came. False if one before it is missing: then the session must be followed anew."""
        event = decode_event(body)
        if event.seq <= self.cursor:
            return True
        if event.seq > self.cursor + 1:
            return False
        self.cursor = event.seq
        if isinstance(event, Completed | ProcessExited):
            self._written.clear()
        self._put(event, len(body))
        return True

    def take_delta(self, delta: Delta) -> None:
        """A piece of what is being written came. What was passed on before is cut off."""
        known = self._written.get(delta.block, 0)
        if delta.offset == 0 and delta.block in self._repeated and known <= len(delta.text):
            self._repeated.discard(delta.block)
            delta = msgspec.structs.replace(delta, offset=known, text=delta.text[known:])
        if delta.text:
            self._written[delta.block] = delta.offset + len(delta.text)
            self._put(delta, len(delta.text))

    @property
    def is_full(self) -> bool:
        return self._bytes > MOST_BYTES or len(self._items) > MOST_ITEMS

    def end(self, error: HandrailError | None = None) -> None:
        """Nothing more will come."""
        self._over = True
        self._error = error
        self._wake.set()

    def _put(self, item: Item, size: int) -> None:
        self._items.append((item, size))
        self._bytes += size
        self._wake.set()

    # ------------------------------------------------------------ called by the reader

    async def next(self, go_on: Callable[[], None]) -> Item | None:
        """What comes next; None at the end. `go_on` has a paused session followed again. Raises what ended it."""
        while not self._items:
            if self._over:
                if self._error is not None:
                    raise self._error
                return None
            self._wake.clear()
            if self.paused:
                go_on()
            await self._wake.wait()
        item, size = self._items.popleft()
        self._bytes -= size
        return item

"""What is being written in a session that somebody watches at the hub: its deltas, each behind the event before it.

The journal goes its own way, in pages. A delta whose event was sent meanwhile is not sent any more: the event says it
all. One of a block that is still being written moves behind the events that came in between.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import aclosing
from typing import Final, Protocol

import msgspec

from handrail.errors import HandrailError
from handrail.events.codec import encode_event
from handrail.events.model import Delta
from handrail.host.outbox import Outbox
from handrail.sessions.feed import Item, ends_block
from handrail.sessions.manager import Manager

__all__ = ["DeltaFollower", "Track"]

logger = logging.getLogger("handrail.host")

DELTA: Final = 4 * 1024
"""About what a delta takes, with those that wait with it."""


class Track(Protocol):
    """How far the journal of a session was sent."""

    session_id: str
    cursor: int

    async def reached(self, seq: int) -> None:
        """Wait until the event with this number was sent."""


class DeltaFollower:
    """Sends the deltas of one session for as long as it runs.

    Nothing is queued: what waits for its turn is joined to one piece for each block that is being written.
    """

    def __init__(self, manager: Manager, track: Track, outbox: Outbox) -> None:
        self._session = manager.session(track.session_id)
        self._track = track
        self._outbox = outbox
        self._after = 0
        """The last event that was seen."""
        self._written: dict[str, Delta] = {}
        """What was written since, and not sent yet, by block."""
        self._news = asyncio.Event()

    async def run(self) -> None:
        """Follow the session until it is deleted, or nobody watches any more."""
        async with asyncio.TaskGroup() as group:
            sending = group.create_task(self._send())
            try:
                await self._follow()
            except HandrailError as error:
                logger.info("nothing is shown live of session %s: %s", self._track.session_id[:8], error)
            sending.cancel()

    async def _follow(self) -> None:
        self._after = (await self._session.row()).last_seq
        async with aclosing(self._session.subscribe(self._after)) as items:
            async for item in items:
                self._take(item)

    def _take(self, item: Item) -> None:
        if isinstance(item, Delta):
            before = self._written.get(item.block)
            self._written[item.block] = item if before is None else _joined(before, item)
        else:
            self._after = item.seq
            self._written = {name: delta for name, delta in self._written.items() if not ends_block(item, name)}
        if self._written:
            self._news.set()

    async def _send(self) -> None:
        while True:
            await self._news.wait()
            self._news.clear()
            await self._track.reached(self._after)
            async with self._outbox.turn(DELTA):
                self._put()

    def _put(self) -> None:
        """Send what was written behind the last event, unless that is not the last one that was sent.

        Then the next event, or the turn after it, is not far.
        """
        if self._track.cursor != self._after:
            return
        for delta in self._written.values():
            placed = msgspec.structs.replace(delta, after=self._after)
            self._outbox.put_delta(self._track.session_id, encode_event(placed))
        self._written.clear()


def _joined(before: Delta, delta: Delta) -> Delta:
    """Two pieces of a block as one; only the second if it does not follow on the first."""
    if delta.offset != before.offset + len(before.text):
        return delta
    return msgspec.structs.replace(before, text=before.text + delta.text)

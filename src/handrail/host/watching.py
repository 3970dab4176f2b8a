"""What is being written in a session that somebody watches at the hub: its deltas, each behind the event before it.

The journal goes its own way, in pages. So that no delta overtakes an event, or comes behind the one that takes its
place, the pages of a watched session go no further than what this follower has seen of it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import aclosing
from typing import Final, Protocol

from handrail.errors import HandrailError
from handrail.events.codec import encode_event
from handrail.events.model import Delta
from handrail.host.outbox import Outbox
from handrail.sessions.manager import Manager

__all__ = ["DeltaFollower", "Track"]

logger = logging.getLogger("handrail.host")

DELTA: Final = 4 * 1024
"""About what a delta takes, with those that wait with it."""
PAUSE: Final = 0.05


class Track(Protocol):
    """How far the journal of a session was sent, and how far it may be."""

    session_id: str
    cursor: int
    limit: int | None

    async def reached(self, seq: int) -> None:
        """Wait until the event with this number was sent."""


class DeltaFollower:
    """Sends the deltas of one session for as long as it runs. `moved` hears that further events may be sent.

    Nothing is queued: what cannot be sent now stays with the session's feed, which forgets it in time, and then says
    all that was written so far in one piece.
    """

    def __init__(self, manager: Manager, track: Track, outbox: Outbox, *, moved: Callable[[], None]) -> None:
        self._session = manager.session(track.session_id)
        self._track = track
        self._outbox = outbox
        self._moved = moved

    async def run(self) -> None:
        """Follow the session until it is deleted, or nobody watches any more."""
        try:
            while await self._follow():
                await asyncio.sleep(PAUSE)
        except HandrailError as error:
            logger.info("nothing is shown live of session %s: %s", self._track.session_id[:8], error)
        finally:
            self._track.limit = None
            self._moved()

    async def _follow(self) -> bool:
        """Follow it from here; returns whether to begin again, because a delta came too late for its place."""
        begin = (await self._session.row()).last_seq
        self._track.limit = begin
        self._moved()
        async with aclosing(self._session.subscribe(begin)) as items:
            async for item in items:
                if not isinstance(item, Delta):
                    self._allow(item.seq)
                elif not await self._sent(item):
                    return True
        return False

    def _allow(self, seq: int) -> None:
        if self._track.limit is None or seq > self._track.limit:
            self._track.limit = seq
            self._moved()

    async def _sent(self, delta: Delta) -> bool:
        await self._track.reached(delta.after)
        async with self._outbox.turn(DELTA):
            if self._track.cursor > delta.after:
                return False
            self._outbox.put_delta(self._track.session_id, encode_event(delta))
            return True

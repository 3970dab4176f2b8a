"""What one viewer gets of one session, and how far it is: a cursor, and no queue.

Each step gives the next few messages, or none if there is nothing to tell. What a viewer is too slow for stays in the
journal, and what was being written meanwhile is not told at all.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Protocol

from handrail.server.live.blocks import Read
from handrail.server.live.channels import Shared
from handrail.server.live.protocol import CaughtUp, Follow, encode
from handrail.server.live.view import Cursor

__all__ = ["EventFollow", "Following", "ViewFollow", "begin"]

BATCH = 100


class Following(Protocol):
    """A session that a viewer follows."""

    shared: Shared

    def messages(self) -> AsyncGenerator[tuple[int, str], None]:
        """What is in the journal and the viewer lacks, some of it: with the event that each takes the viewer to."""

    @property
    def is_current(self) -> bool:
        """Whether the viewer has everything up to now, so that what is being written follows it."""

    def deltas(self) -> list[str]:
        """What is being written and the viewer lacks."""

    def notes(self) -> list[str]:
        """What else it is to be told now."""


def begin(request: Follow, shared: Shared) -> Following:
    """Follow a session as it was asked for."""
    return ViewFollow(request, shared) if request.form == "view" else EventFollow(request, shared)


class EventFollow:
    """Every event behind a number, each once."""

    def __init__(self, request: Follow, shared: Shared) -> None:
        self.shared = shared
        self._channel = shared.channel
        self._cursor = request.after or 0
        self._is_checked = self._cursor <= shared.channel.seq
        self._told_current = False
        self._wants_deltas = request.deltas
        self._read: Read = {}

    @property
    def is_current(self) -> bool:
        return self._cursor == self._channel.seq

    async def messages(self) -> AsyncGenerator[tuple[int, str], None]:
        await self._check()
        if self._cursor >= self._channel.seq:
            return
        events = self._channel.recent(self._cursor, BATCH)
        if events is None:
            self._told_current = False  # it is so far behind that it will be told when it is not any more
            events = await self._channel.stored(self._cursor)
        for event in events:
            self._cursor = event.seq
            yield event.seq, event.text

    async def _check(self) -> None:
        """The reader may have read further than the channel, but not further than the journal.

        A number that the journal has not reached cannot have come from it: whoever names it gets what comes.
        """
        if not self._is_checked:
            self._cursor = min(self._cursor, await self._channel.last_stored())
            self._is_checked = True

    def notes(self) -> list[str]:
        if self._told_current or not self.is_current:
            return []
        self._told_current = True
        return [encode(CaughtUp(session=self._channel.session_id, seq=self._cursor))]

    def deltas(self) -> list[str]:
        if not self._wants_deltas or not self.is_current:
            return []
        return self._channel.deltas(self._read)


class ViewFollow:
    """The rows and the state of a session, and what changes of them."""

    def __init__(self, request: Follow, shared: Shared) -> None:
        self.shared = shared
        self._channel = shared.channel
        self._cursor = None if request.after is None else Cursor(request.after)
        self._wants_deltas = request.deltas
        self._read: Read = {}

    @property
    def is_current(self) -> bool:
        """A view may be ahead of the channel for a moment: then what the channel has open may be whole in it."""
        return self._cursor is not None and self._cursor.seq == self._channel.seq

    async def messages(self) -> AsyncGenerator[tuple[int, str], None]:
        made = await self.shared.view.message(self._cursor)
        if made is not None:
            self._cursor = made.cursor
            yield made.cursor.seq, made.text

    def notes(self) -> list[str]:
        return []

    def deltas(self) -> list[str]:
        if not self._wants_deltas or not self.is_current:
            return []
        return self._channel.deltas(self._read, self.shared.view.row_of_action)

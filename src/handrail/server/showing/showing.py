"""What the page shows, made by one object that keeps what it has made."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from handrail.events.model import Event
from handrail.events.view import AskItem, PromptItem
from handrail.server.showing.cards import card, card_of_item
from handrail.server.showing.details import row_details
from handrail.server.showing.pieces import KEPT_BYTES, Pieces
from handrail.server.showing.prompts import prompt_row
from handrail.store.base import AskRow, SessionRow

__all__ = ["Showing"]

T = TypeVar("T")

QUICK = 4 * 1024
"""What is no larger is rendered at once: it takes some milliseconds."""


class Showing:
    """Renders asks and rows. It may be used from several threads."""

    def __init__(self, *, kept_bytes: int = KEPT_BYTES) -> None:
        self.pieces = Pieces(kept_bytes)
        self._one_at_a_time = asyncio.Semaphore(1)

    def card(self, row: AskRow, *, session: SessionRow) -> dict[str, Any]:
        """The card of a stored ask."""
        return card(row, session=session, pieces=self.pieces)

    def card_of_item(self, item: AskItem, *, session: SessionRow) -> dict[str, Any]:
        """The card of an ask in a session's timeline."""
        return card_of_item(item, session=session, pieces=self.pieces)

    def text(self, text: str) -> str:
        """What Claude said or thought, as HTML."""
        return self.pieces.prose(text)

    def prompt(self, item: PromptItem, *, session_id: str) -> dict[str, Any]:
        """The row of a message to Claude, but for its key and parent."""
        return prompt_row(item, session_id=session_id, pieces=self.pieces)

    def row_details(self, events: Sequence[Event], *, session_id: str, key: str = "") -> dict[str, Any]:
        """All of one row."""
        return row_details(events, session_id=session_id, key=key, pieces=self.pieces)

    async def aside(self, work: Callable[[], T], *, size: int) -> T:
        """Do `work`: at once if it is about little text (`size`), else beside the loop, one after the other."""
        if size <= QUICK:
            return work()
        async with self._one_at_a_time:
            return await asyncio.to_thread(work)

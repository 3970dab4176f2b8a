"""How many bytes of one session's pages may be under way: those that are sent and not acknowledged.

Each session has a window of its own, so one whose pages are slow to be stored holds up no other. Pages are numbered
from 1; a refusal or a new connection begins anew.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from handrail.errors import LocalProtocolError
from handrail.store.base import CopyPage

__all__ = ["Window", "page_size"]

ROW = 64
"""About what a row takes beside its texts."""


class Window:
    """The pages of one session that are under way.

    A page may be sent while less than `limit` is; so what is under way exceeds it by one page at most, and no page is
    too large to be sent.
    """

    def __init__(self, limit: int) -> None:
        if limit < 1:
            raise LocalProtocolError(f"a window holds at least one byte, not {limit}")
        self.limit = limit
        self.in_flight = 0
        """In bytes."""
        self.acknowledged = 0
        """The number of the last page that is stored."""
        self._sizes: deque[int] = deque()

    @property
    def pages(self) -> int:
        """How many are under way."""
        return len(self._sizes)

    @property
    def room(self) -> int:
        """How much more may be sent, in bytes: nothing while this is 0."""
        return max(0, self.limit - self.in_flight)

    def sent(self, size: int) -> int:
        """A page is sent; returns its number."""
        if not self.room:
            raise LocalProtocolError(f"{self.in_flight} bytes are under way, and no more than {self.limit} may be")
        self._sizes.append(size)
        self.in_flight += size
        return self.acknowledged + len(self._sizes)

    def acknowledge(self, number: int) -> None:
        """Every page up to this number is stored. One that was acknowledged before changes nothing."""
        if number > self.acknowledged + len(self._sizes):
            raise LocalProtocolError(f"page {number} was acknowledged, and never sent")
        while self.acknowledged < number:
            self.in_flight -= self._sizes.popleft()
            self.acknowledged += 1

    def reset(self) -> None:
        """Nothing is under way any more: the next page is number 1."""
        self._sizes.clear()
        self.in_flight = 0
        self.acknowledged = 0


def page_size(page: CopyPage) -> int:
    """About how many bytes a page takes: at least 1."""
    rows: tuple[Sequence[object], ...] = (page.events, page.asks, page.messages, page.runs, page.usage)
    texts = (
        sum(len(event.body) + len(event.text) for event in page.events)
        + sum(len(ask.body) + len(ask.answer or b"") for ask in page.asks)
        + sum(len(message.content) for message in page.messages)
    )
    return texts + ROW * (1 + sum(map(len, rows))) + len(page.session.settings)

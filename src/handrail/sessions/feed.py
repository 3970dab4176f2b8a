"""What readers of a session follow: the events that are stored, and the deltas that come between them.

There is one feed per session, however many readers it has. Each reader has a cursor and no queue: it takes what was
published lately from memory, and what it missed from the store. So a slow reader costs nobody anything, and one that
comes back with the number of the last event it saw gets every event after it, once.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import msgspec

from handrail.events.codec import decode_event
from handrail.events.model import Action, Completed, Delta, Event, ProcessExited, Text, Thinking
from handrail.store.base import EventRow, Store

__all__ = ["Feed", "Item", "ends_block"]

Item: TypeAlias = Event | Delta

REMEMBERED_ITEMS = 2_000
REMEMBERED_BYTES = 8 * 1024 * 1024
PAGE = 500


@dataclass(slots=True)
class _OpenBlock:
    """A block that is being written, as far as it was published."""

    kind: Literal["text", "thinking", "input"]
    parent: str | None
    parts: list[str] = field(default_factory=list)
    length: int = 0

    def grow(self, delta: Delta) -> None:
        if delta.offset != self.length:  # begun anew, or some of it never came
            self.parts, self.length = ([], 0) if delta.offset == 0 else (self.parts, self.length)
        if delta.offset == self.length:
            self.parts.append(delta.text)
            self.length += len(delta.text)


class Feed:
    """The published items of one session. `publish` is called from the event loop, with events that are stored.

    `on_event` hears of each event, once, and must not raise.
    """

    def __init__(
        self, session_id: str, store: Store, *, on_event: Callable[[str, Event], None] = lambda session_id, event: None
    ) -> None:
        self.session_id = session_id
        self._on_event = on_event
        self.seq = 0
        """The number of the last event that was published here."""
        self.moves = 0
        """How often the session may have come to live elsewhere."""
        self.on_readers: Callable[[str, int], None] = lambda session_id, readers: None
        """Hears how many follow what is being written, each time that changes. Must not raise."""
        self.readers = 0
        """How many that are."""
        self._store = store
        self._recent: deque[tuple[Item, int]] = deque()
        self._recent_bytes = 0
        self._begin = 0
        self._blocks: dict[str, _OpenBlock] = {}
        self._waiting: set[asyncio.Future[None]] = set()
        self._closed = False
        self._live = False

    def publish(self, items: Sequence[tuple[Item, int]]) -> None:
        """Show items to readers, each with about how many bytes it takes. Their events can be read from the store."""
        for item, size in _joined(items):
            self._recent.append((item, size))
            self._recent_bytes += size
            if isinstance(item, Delta):
                self._grow(item)
            else:
                self.seq = item.seq
                self._settle(item)
                self._on_event(self.session_id, item)
        self._forget_the_oldest()
        self._wake()

    def begin(self, seq: int) -> None:
        """Somebody writes the journal in this process now; `seq` is its last event so far."""
        self._live = True
        if seq > self.seq:
            self.seq = seq
            self._send_to_the_store()

    def rest(self) -> None:
        """Nothing is published for now: what was is in the store, and need not be remembered."""
        self._live = False
        self._forget()
        self.move()

    def move(self) -> None:
        """The session may live elsewhere now: whoever follows it is to look."""
        self.moves += 1
        self._wake()

    def close(self) -> None:
        """Nothing more will be published: readers end once they have read what there is."""
        self._closed = True
        self._wake()

    @property
    def is_live(self) -> bool:
        """Whether somebody writes the journal in this process."""
        return self._live

    @property
    def is_closed(self) -> bool:
        return self._closed

    async def read(
        self, after: int = 0, *, deltas: bool = True, follow: bool = True, until_move_after: int | None = None
    ) -> AsyncGenerator[Item, None]:
        """Every event behind number `after`, and then what comes, with deltas between; to the last one, or for good.

        With a number of `moves`, only until there is another one.
        """
        watches = deltas and follow
        if watches:
            self._readers_are(self.readers + 1)
        try:
            cursor = after
            while True:
                published = self.seq
                while page := [row for row in await self._page(cursor) if self._may_show(row)]:
                    for row in page:
                        cursor = row.seq
                        yield decode_event(row.body)
                if cursor < published:
                    return  # the session was deleted: otherwise what was published can be read
                if cursor < self.seq:
                    continue
                position = self._end
                if not follow:
                    return
                if deltas:
                    for delta in self._written_so_far():
                        yield delta
                while position >= self._begin:
                    if position == self._end:
                        if self._closed or until_move_after not in (None, self.moves):
                            return
                        await self._more()
                        continue
                    item = self._recent[position - self._begin][0]
                    position += 1
                    if isinstance(item, Delta):
                        if deltas:
                            yield item
                    elif item.seq > cursor:
                        cursor = item.seq
                        yield item
        finally:
            if watches:
                self._readers_are(self.readers - 1)

    def _readers_are(self, number: int) -> None:
        self.readers = number
        self.on_readers(self.session_id, number)

    @property
    def remembered(self) -> tuple[int, int]:
        """How many items are in memory, and about how many bytes they take."""
        return len(self._recent), self._recent_bytes

    async def _page(self, cursor: int) -> list[EventRow]:
        return await self._store.read(self.session_id, after=cursor, limit=PAGE)

    def _may_show(self, row: EventRow) -> bool:
        """What is stored but not published yet comes in its place, behind the deltas before it."""
        return not self._live or row.seq <= self.seq

    @property
    def _end(self) -> int:
        return self._begin + len(self._recent)

    def _written_so_far(self) -> list[Delta]:
        """The blocks that are being written, for somebody who joins now."""
        return [
            Delta(block=name, kind=block.kind, offset=0, text="".join(block.parts), after=self.seq, parent=block.parent)
            for name, block in self._blocks.items()
            if block.length
        ]

    def _grow(self, delta: Delta) -> None:
        block = self._blocks.get(delta.block)
        if block is None:
            block = self._blocks[delta.block] = _OpenBlock(delta.kind, delta.parent)
        block.grow(delta)

    def _settle(self, event: Event) -> None:
        for name in [name for name in self._blocks if ends_block(event, name)]:
            del self._blocks[name]

    def _forget_the_oldest(self) -> None:
        while len(self._recent) > REMEMBERED_ITEMS or (self._recent_bytes > REMEMBERED_BYTES and self._recent):
            _, size = self._recent.popleft()
            self._recent_bytes -= size
            self._begin += 1

    def _forget(self) -> None:
        self._begin += len(self._recent)
        self._recent.clear()
        self._recent_bytes = 0

    def _send_to_the_store(self) -> None:
        """Have every reader look there, also one that has seen all there was: what is new was not published here.

        Another process wrote it, or it was on its way to the store when this one gave the session up.
        """
        self._forget()
        self._begin += 1
        self._blocks.clear()
        self._wake()

    async def _more(self) -> None:
        future = asyncio.get_running_loop().create_future()
        self._waiting.add(future)
        try:
            await future
        finally:
            self._waiting.discard(future)

    def _wake(self) -> None:
        for future in self._waiting:
            if not future.done():
                future.set_result(None)


def ends_block(event: Event, block: str) -> bool:
    """Whether a block is not written any more once an event is there: it says all of it, or nothing more will come."""
    if isinstance(event, Text | Thinking):
        return event.block == block
    if isinstance(event, Action):
        return bool(event.detail.get("block", "") == block)
    return isinstance(event, Completed | ProcessExited)


def _joined(items: Sequence[tuple[Item, int]]) -> Iterator[tuple[Item, int]]:
    """`items`, with deltas that follow each other in one block as one: what is shown at once needs one waking."""
    run: list[Delta] = []
    taken = 0
    for item, size in items:
        if run and not _continues(run, item):
            yield _one(run), taken
            run, taken = [], 0
        if isinstance(item, Delta):
            run.append(item)
            taken += size
        else:
            yield item, size
    if run:
        yield _one(run), taken


def _continues(run: Sequence[Delta], item: Item) -> bool:
    last = run[-1]
    return isinstance(item, Delta) and item.block == last.block and item.offset == last.offset + len(last.text)


def _one(run: Sequence[Delta]) -> Delta:
    if len(run) == 1:
        return run[0]
    return msgspec.structs.replace(run[0], text="".join([delta.text for delta in run]))

"""The blocks that are being written, once for all viewers: each viewer only knows how much of them it has.

So deltas never queue. A viewer that looks seldom, or did not look for a while, gets what it lacks as one piece, and
one that did not look while a block was written gets nothing but the event that carries it whole.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Literal, NamedTuple, TypeAlias

from handrail.events.model import Action, Completed, Delta, Event, ProcessExited, Text, Thinking
from handrail.server.live.protocol import DeltaPiece

__all__ = ["Blocks", "Gap", "Read"]

REMEMBERED = 1_024
LARGEST = 4 * 1024 * 1024
"""How many characters of blocks are kept; beyond it the event has to do."""

Read: TypeAlias = dict[str, tuple[int, int]]
"""How many characters of each block a viewer has, and of which writing of it."""


class Gap(NamedTuple):
    """A part of a block that a viewer lacks."""

    block: str
    start: int
    end: int


class _Block:
    __slots__ = ("kind", "length", "parent", "parts", "writing")

    def __init__(self, kind: Literal["text", "thinking", "input"], parent: str | None) -> None:
        self.kind = kind
        self.parent = parent
        self.parts: list[str] = []
        self.length = 0
        self.writing = 0
        """How often some of it was written anew."""

    def grow(self, delta: Delta) -> None:
        if delta.offset > self.length:
            return  # some of it never came: the event will have it all
        if delta.offset < self.length:
            self.parts = [self.text[: delta.offset]]
            self.writing += 1
        self.parts.append(delta.text)
        self.length = delta.offset + len(delta.text)

    @property
    def text(self) -> str:
        if len(self.parts) > 1:
            self.parts = ["".join(self.parts)]
        return self.parts[0] if self.parts else ""


class Blocks:
    """The open blocks of one session."""

    def __init__(self) -> None:
        self._open: dict[str, _Block] = {}
        self._settled: OrderedDict[str, None] = OrderedDict()
        self._size = 0

    def __bool__(self) -> bool:
        return bool(self._open)

    def grow(self, delta: Delta) -> None:
        """A piece was written. What belongs to a block that came whole already says nothing new."""
        if delta.block in self._settled or self._size + len(delta.text) > LARGEST:
            return
        block = self._open.get(delta.block)
        if block is None:
            block = self._open[delta.block] = _Block(delta.kind, delta.parent)
        before = block.length
        block.grow(delta)
        self._size += block.length - before

    def settle(self, event: Event) -> None:
        """An event takes the place of the block that it carries, or ends all of them."""
        if isinstance(event, Text | Thinking):
            self._close(event.block)
        elif isinstance(event, Action):
            name = event.detail.get("block")
            if isinstance(name, str):
                self._close(name)
        elif isinstance(event, Completed):
            # Subagents in the background go on writing after the run.
            for name in [name for name, block in self._open.items() if block.parent is None]:
                self._close(name)
        elif isinstance(event, ProcessExited):
            self.clear()

    def clear(self) -> None:
        """Nothing is being written any more."""
        self._open.clear()
        self._size = 0

    def lacking(self, read: Read) -> list[Gap]:
        """What a viewer lacks that has read this much. It counts as read from now on."""
        for name in [name for name in read if name not in self._open]:
            del read[name]
        gaps: list[Gap] = []
        for name, block in self._open.items():
            start, writing = read.get(name, (0, block.writing))
            if writing != block.writing:
                start = 0
            if start < block.length:
                read[name] = block.length, block.writing
                gaps.append(Gap(name, start, block.length))
        return gaps

    def piece(self, gap: Gap, after: int) -> DeltaPiece:
        """The piece that fills a gap, behind event number `after`."""
        block = self._open[gap.block]
        text = block.text[gap.start : gap.end]
        return DeltaPiece(
            block=gap.block, kind=block.kind, offset=gap.start, text=text, after=after, parent=block.parent
        )

    def _close(self, name: str) -> None:
        block = self._open.pop(name, None)
        if block is not None:
            self._size -= block.length
        self._settled[name] = None
        if len(self._settled) > REMEMBERED:
            self._settled.popitem(last=False)

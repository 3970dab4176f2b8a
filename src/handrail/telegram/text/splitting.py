"""Long texts cut into messages: between paragraphs, lines or words, and what is cut goes on looking as it did."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from handrail.rendering.amounts import count
from handrail.telegram.text.building import tidied
from handrail.telegram.text.rich import EMPTY, Entity, RichText, utf16_length
from handrail.telegram.text.units import Units

__all__ = [
    "LONGEST_CAPTION",
    "LONGEST_MESSAGE",
    "MOST_ENTITIES",
    "beginning",
    "entity_bytes",
    "fits",
    "left_out",
    "shortened",
    "split",
]

LONGEST_MESSAGE = 4096
LONGEST_CAPTION = 1024
"""Of the text that belongs to a file."""
MOST_ENTITIES = 100
MOST_ENTITY_BYTES = 9_000
"""Telegram refuses a message whose entities take more than about 9,500 bytes: a few dozen long links."""

_BYTES_OF_ANY = 12
_LEAST_ROOM = 2
_LEAST_FILLED = 2
"""A message is cut where it reads best, but not before one part in so many of it is full."""
_LEAST_BEFORE_CODE = 8
"""As much for a block of code that can be kept whole by beginning another message with it."""


def split(rich: RichText, limit: int = LONGEST_MESSAGE, most_entities: int = MOST_ENTITIES) -> list[RichText]:
    """The text as messages, each of at most `limit` units. The white space at a cut is left out."""
    return list(_Cutter(rich, limit, most_entities).parts())


def beginning(rich: RichText, limit: int, most_entities: int = MOST_ENTITIES) -> RichText:
    """As much of the text as fits."""
    return next(_Cutter(rich, limit, most_entities).parts(), EMPTY)


def fits(rich: RichText, limit: int = LONGEST_MESSAGE, most_entities: int = MOST_ENTITIES) -> bool:
    """Whether a text is one message."""
    if rich.length > limit or len(rich.entities) > most_entities:
        return False
    return sum(map(entity_bytes, rich.entities)) <= MOST_ENTITY_BYTES


def entity_bytes(entity: Entity) -> int:
    """What an entity takes of the room that a message has for them."""
    return _BYTES_OF_ANY + len(entity.url.encode("utf-8", "replace")) + len(entity.language)


def shortened(rich: RichText, limit: int, mark: str = "…", most_entities: int = MOST_ENTITIES) -> RichText:
    """The text, or as much of it as fits with a `mark` behind it that says that there is more."""
    if fits(rich, limit, most_entities):
        return rich
    room = limit - utf16_length(mark)
    return (beginning(rich, room, most_entities) if room >= _LEAST_ROOM else EMPTY) + mark


def left_out(rich: RichText, limit: int, most_entities: int = MOST_ENTITIES) -> RichText:
    """The text, or as much of it as fits, and on a line of its own how much more there is."""
    if fits(rich, limit, most_entities):
        return rich
    whole = rich.text.rstrip()
    room = limit - max(utf16_length(_lines(whole.count("\n"))), utf16_length(_characters(len(whole))))
    shown = beginning(rich, max(_LEAST_ROOM, room), most_entities)
    lines = whole.count("\n") - shown.text.count("\n")
    return shown + (_lines(lines) if lines > 0 else _characters(len(whole) - len(shown.text)))


def _lines(number: int) -> str:
    return f"\n… {count(number, 'more line')}"


def _characters(number: int) -> str:
    """For a text of which every line is seen, but not the whole last one."""
    return f"\n… {count(number, 'more character')}"


class _Cutter:
    """Cuts one text."""

    def __init__(self, rich: RichText, limit: int, most_entities: int) -> None:
        if limit < _LEAST_ROOM:
            raise ValueError(f"a message has room for one character at least, that is {_LEAST_ROOM} units, not {limit}")
        self._units = Units(rich.text)
        self._entities = sorted(rich.entities, key=lambda entity: (entity.offset, -entity.length))
        self._limit = limit
        self._most = most_entities
        self._next = 0
        """The first entity that begins behind what was cut off."""
        self._carried: list[Entity] = []
        """Entities that began earlier and go on."""

    def parts(self) -> Iterator[RichText]:
        start = 0
        while (start := self._skip_empty_lines(start)) < self._units.length:
            near, end = self._entities_near(start)
            cut = self._cut(start, end, near)
            part = self._part(start, cut, near)
            if part.text.strip():
                yield part
            self._pass(cut)
            start = cut

    def _skip_empty_lines(self, start: int) -> int:
        """Where the next message begins: at the first line that has something on it; its indentation stays."""
        while start < self._units.length:
            window = self._units.slice(start, start + self._limit)
            if text := window.lstrip():
                empty = window[: len(window) - len(text)]
                return start + empty.rfind("\n") + 1
            start += self._limit
        return self._units.length

    # ------------------------------------------------------------ entities

    def _entities_near(self, start: int) -> tuple[list[Entity], int]:
        """Those that the next part may have, and where it ends at the latest: before the one that is too many."""
        end = min(start + self._limit, self._units.length)
        near: list[Entity] = []
        size = 0
        for entity in self._from(start):
            if entity.offset >= end:
                break
            fits = len(near) < self._most and size + entity_bytes(entity) <= MOST_ENTITY_BYTES
            if fits:
                near.append(entity)
                size += entity_bytes(entity)
            elif entity.offset > start:
                return near, entity.offset
        return near, end

    def _from(self, start: int) -> Iterator[Entity]:
        """The entities behind `start`, and those that go on there."""
        yield from (entity for entity in self._carried if entity.offset + entity.length > start)
        yield from (self._entities[number] for number in range(self._next, len(self._entities)))

    def _pass(self, end: int) -> None:
        """Everything up to `end` is cut off."""
        while self._next < len(self._entities) and self._entities[self._next].offset < end:
            self._carried.append(self._entities[self._next])
            self._next += 1
        self._carried = [entity for entity in self._carried if entity.offset + entity.length > end]

    def _part(self, start: int, end: int, near: Sequence[Entity]) -> RichText:
        """What is between two cuts, without white space at its end."""
        text = self._units.slice(start, end).rstrip()
        stop = start + utf16_length(text)
        inside = [clipped for entity in near if (clipped := _clipped(entity, start, stop)) is not None]
        return tidied(text, inside)

    # ------------------------------------------------------------ where to cut

    def _cut(self, start: int, end: int, near: Sequence[Entity]) -> int:
        if end == self._units.length:
            return end
        low = start + (end - start) // _LEAST_FILLED
        blocks = [entity for entity in near if entity.kind == "pre"]
        return (
            self._before_code(start, end, blocks)
            or self._line_end("\n\n", low, end, blocks)
            or self._line_end("\n", low, end, blocks)
            or self._behind_last("\n", low, end)
            or self._behind_last(" ", low, end)
            or self._behind_last("\n", start, end)
            or self._units.safe_cut(end, start)
        )

    def _before_code(self, start: int, end: int, blocks: Sequence[Entity]) -> int:
        """Before a block of code that would be cut, if a message of its own can hold it."""
        low = start + max(1, self._limit // _LEAST_BEFORE_CODE)
        for block in blocks:
            behind = block.offset + block.length
            if low <= block.offset < end < behind and block.length <= self._limit:
                return block.offset
        return 0

    def _line_end(self, what: str, low: int, end: int, blocks: Sequence[Entity]) -> int:
        """Behind the last such line end that is in no block of code."""
        while cut := self._behind_last(what, low, end):
            around = next((block for block in blocks if block.offset < cut < block.offset + block.length), None)
            if around is None:
                return cut
            end = around.offset
        return 0

    def _behind_last(self, what: str, low: int, end: int) -> int:
        found = self._units.find_last(what, low, end) if end > low else -1
        return found + len(what) if found >= 0 else 0


def _clipped(entity: Entity, start: int, end: int) -> Entity | None:
    """What of an entity is in a part, counted from the part's beginning."""
    first, last = max(entity.offset, start), min(entity.offset + entity.length, end)
    if first >= last:
        return None
    return replace(entity, offset=first - start, length=last - first)

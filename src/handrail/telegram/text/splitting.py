"""Long texts cut into messages: between paragraphs, lines or words, and what is cut goes on looking as it did."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from handrail.rendering.amounts import count
from handrail.telegram.text.building import tidied
from handrail.telegram.text.rich import EMPTY, Entity, RichText, utf16_length
from handrail.telegram.text.units import Units

__all__ = ["LONGEST_MESSAGE", "MOST_ENTITIES", "beginning", "left_out", "shortened", "split"]

LONGEST_MESSAGE = 4096
MOST_ENTITIES = 100

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


def shortened(rich: RichText, limit: int, mark: str = "…", most_entities: int = MOST_ENTITIES) -> RichText:
    """The text, or as much of it as fits with a `mark` behind it that says that there is more."""
    if rich.length <= limit and len(rich.entities) <= most_entities:
        return rich
    room = limit - utf16_length(mark)
    return (beginning(rich, room, most_entities) if room >= _LEAST_ROOM else EMPTY) + mark


def left_out(rich: RichText, limit: int, most_entities: int = MOST_ENTITIES) -> RichText:
    """The text, or as much of it as fits, and on a line of its own how much more there is."""
    if rich.length <= limit and len(rich.entities) <= most_entities:
        return rich
    whole = rich.text.rstrip()
    room = limit - utf16_length(_more(whole, ""))
    shown = beginning(rich, max(_LEAST_ROOM, room), most_entities)
    return shown + _more(whole, shown.text)


def _more(whole: str, shown: str) -> str:
    """How much of a text is missing: in lines, or in characters if its lines are all there is of it."""
    lines = whole.count("\n") - shown.count("\n")
    if lines > 0:
        return f"\n… {count(lines, 'more line')}"
    return f"\n… {count(len(whole) - len(shown), 'more character')}"


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
            near = self._entities_near(start)
            end = self._cut(start, near)
            part = self._part(start, end, near)
            if part.text.strip():
                yield part
            self._pass(end)
            start = end

    def _skip_empty_lines(self, start: int) -> int:
        """Where the next message begins: at the first line that has something on it; its indentation stays."""
        at = start
        while at < self._units.length and self._units.is_space(at):
            at += 1
            if self._units.unit(at - 1) == ord("\n"):
                start = at
        return start if at < self._units.length else at

    # ------------------------------------------------------------ entities

    def _entities_near(self, start: int) -> list[Entity]:
        """Those that may be in the next part: no more than it may have, and the one that would be too many."""
        near = [entity for entity in self._carried if entity.offset + entity.length > start]
        behind = start + self._limit
        for number in range(self._next, len(self._entities)):
            entity = self._entities[number]
            if entity.offset >= behind or len(near) > self._most:
                break
            near.append(entity)
        return near

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
        return tidied(text, inside[: self._most])

    # ------------------------------------------------------------ where to cut

    def _cut(self, start: int, near: Sequence[Entity]) -> int:
        end = min(start + self._limit, self._units.length)
        if len(near) > self._most and near[self._most].offset > start:
            end = min(end, near[self._most].offset)
        if end == self._units.length:
            return end
        return self._best_cut(start, end, near)

    def _best_cut(self, start: int, end: int, near: Sequence[Entity]) -> int:
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
    return Entity(entity.kind, first - start, last - first, entity.url, entity.language)

"""Text with entities, written piece by piece: lines and what they begin with, looks that are opened and closed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from msgspec.structs import replace

from handrail.telegram.text.rich import Entity, EntityKind, RichText, utf16_length
from handrail.telegram.text.units import Units

__all__ = ["RichTextBuilder", "tidied"]

_MAY_BEGIN_INDENTED: tuple[EntityKind, ...] = ("pre", "blockquote", "expandable_blockquote")
"""Code, and what may begin with code."""
_OUTERMOST_FIRST: tuple[EntityKind, ...] = ("blockquote", "expandable_blockquote", "text_link", "bold", "italic")


@dataclass(slots=True)
class _Level:
    """What stands before each line: `first` once, `rest` from then on."""

    first: str
    rest: str


@dataclass(slots=True)
class _Look:
    kind: EntityKind
    start: int
    url: str = ""
    depth: int = 1


class RichTextBuilder:
    """Writes one text. Lines end by `end_line`, which counts only once something follows."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._length = 0
        self._entities: list[Entity] = []
        self._looks: dict[EntityKind, _Look] = {}
        self._levels: list[_Level] = []
        self._line_ends = 0
        self._in_line = False

    # ------------------------------------------------------------ writing

    def write(self, text: str) -> None:
        """Text with the looks that are open; each of its lines gets what stands before lines."""
        for number, line in enumerate(text.split("\n")):
            if number:
                self.end_line()
            if line:
                self._begin_line()
                self._put(line)

    def write_code(self, text: str) -> None:
        """Text as code. Inside a link it is the link that counts: Telegram does not have both."""
        if "text_link" in self._looks or not text.strip():
            self.write(text)
            return
        self._begin_line()
        suspended = self._close_looks()
        self._put_as(text, Entity("code", self._length, utf16_length(text)))
        for look in suspended:
            self._looks[look.kind] = _Look(look.kind, self._length, look.url, look.depth)

    def write_block(self, text: str, language: str = "") -> None:
        """A block of code: its lines stand at the very left."""
        body = text.strip("\n").rstrip()
        if not body:
            return
        if any(level.first != level.rest for level in self._levels):
            self._begin_line()  # the mark of a list's item has a line to itself
        self.end_line()
        self.close_up()
        self._put("\n" * self._line_ends if self._length else "")
        self._line_ends, self._in_line = 0, True
        self._put_as(body, Entity("pre", self._length, utf16_length(body), language=language))
        self.end_line()

    def end_line(self, times: int = 1) -> None:
        """Whatever comes next is on another line; two ends leave an empty line."""
        self._in_line = False
        self._line_ends = max(self._line_ends, times)

    def close_up(self) -> None:
        """What comes next follows without an empty line: it stands out by itself."""
        self._line_ends = min(self._line_ends, 1)

    # ------------------------------------------------------------ around it

    def open(self, kind: EntityKind, url: str = "") -> None:
        """From here on it looks so. What looks so already does once."""
        look = self._looks.get(kind)
        if look is not None:
            look.depth += 1
            return
        self._begin_line()
        self._looks[kind] = _Look(kind, self._length, url)

    def close(self, kind: EntityKind) -> None:
        look = self._looks.get(kind)
        if look is None:
            return
        look.depth -= 1
        if not look.depth:
            self._end_look(self._looks.pop(kind))

    def indent(self, first: str, rest: str) -> None:
        """Lines begin with this too, behind what they begin with already."""
        self._levels.append(_Level(first, rest))

    def outdent(self) -> None:
        """No longer. A first mark without anything behind it is shown all the same."""
        level = self._levels[-1]
        if level.first != level.rest:
            self._begin_line()
        self._levels.pop()

    def built(self) -> RichText:
        """All of it."""
        self._close_looks()
        return tidied("".join(self._pieces).rstrip(), self._entities)

    # ------------------------------------------------------------ inside

    def _begin_line(self) -> None:
        if self._in_line:
            return
        if self._length:
            self._put("\n" * self._line_ends)
        self._line_ends, self._in_line = 0, True
        for level in self._levels:
            self._put(level.first)
            level.first = level.rest

    def _put(self, text: str) -> None:
        self._pieces.append(text)
        self._length += utf16_length(text)

    def _put_as(self, text: str, entity: Entity) -> None:
        self._entities.append(entity)
        self._put(text)

    def _close_looks(self) -> list[_Look]:
        """End every look but quotes, which have anything inside of them."""
        ended = [look for look in self._looks.values() if look.kind != "blockquote"]
        for look in ended:
            self._end_look(self._looks.pop(look.kind))
        return ended

    def _end_look(self, look: _Look) -> None:
        if self._length > look.start:
            self._entities.append(Entity(look.kind, look.start, self._length - look.start, look.url))


def tidied(text: str, entities: Iterable[Entity]) -> RichText:
    """The text with its entities in order, none of them empty or with white space at its ends."""
    units = Units(text)
    trimmed = (_trimmed(entity, units) for entity in entities)
    return RichText(text, tuple(sorted((entity for entity in trimmed if entity.length > 0), key=_place)))


def _trimmed(entity: Entity, units: Units) -> Entity:
    start, end = units.trimmed(entity.offset, min(entity.offset + entity.length, units.length))
    if entity.kind in _MAY_BEGIN_INDENTED and start < end:
        start = entity.offset
    if (start, end - start) == (entity.offset, entity.length):
        return entity
    return replace(entity, offset=start, length=end - start)


def _place(entity: Entity) -> tuple[int, int, int]:
    """Entities that have others inside of them come first."""
    rank = _OUTERMOST_FIRST.index(entity.kind) if entity.kind in _OUTERMOST_FIRST else len(_OUTERMOST_FIRST)
    return entity.offset, -entity.length, rank

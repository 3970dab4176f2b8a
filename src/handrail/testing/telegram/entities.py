"""Entities: where a text is bold, code, a link. Counted in UTF-16 code units, checked and tidied as the server does."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from handrail.testing.telegram.api_errors import bad_request

__all__ = ["MOST_CAPTION", "MOST_ENTITIES", "MOST_TEXT", "Entity", "nested", "part_of", "tidied", "units"]

MOST_TEXT = 4096
MOST_CAPTION = 1024
MOST_ENTITIES = 100

_SPLITTABLE = ("bold", "italic", "underline", "strikethrough", "spoiler")
"""May overlap each other and everything but code: where they cross something, the server cuts them."""
_QUOTES = ("blockquote", "expandable_blockquote")
_CODE = ("code", "pre")
_FARTHEST = 1_000_000


class Entity(msgspec.Struct, frozen=True, omit_defaults=True):
    """A stretch of text that is more than text."""

    type: str
    offset: int
    length: int
    url: str = ""
    language: str = ""
    user: dict[str, Any] = {}
    custom_emoji_id: str = ""
    unix_time: int = 0
    date_time_format: str = ""

    @property
    def end(self) -> int:
        """Where it ends."""
        return self.offset + self.length

    def between(self, start: int, end: int) -> Entity:
        """The same over another stretch."""
        return msgspec.structs.replace(self, offset=start, length=end - start)

    def as_json(self) -> dict[str, Any]:
        """As the API describes it."""
        described: dict[str, Any] = msgspec.to_builtins(self)
        return described


def units(text: str) -> int:
    """How long a text is as Telegram counts: in UTF-16 code units."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def part_of(text: str, entity: Entity) -> str:
    """The stretch of text that an entity covers."""
    whole = text.encode("utf-16-le", "surrogatepass")
    return whole[entity.offset * 2 : entity.end * 2].decode("utf-16-le", "replace")


def tidied(text: str, entities: Sequence[Entity]) -> tuple[str, list[Entity]]:
    """A text without what Telegram takes out, its whitespace trimmed, its entities nested and moved along.

    Raises `ApiError` for entities that lie outside of the text or cut a character in two.
    """
    for entity in entities:
        if not 0 <= entity.offset <= _FARTHEST:
            raise bad_request(f"receive an entity with incorrect offset {entity.offset}")
        if not 0 <= entity.length <= _FARTHEST:
            raise bad_request(f"receive an entity with incorrect length {entity.length}")
    cleaned, moved = _cleaned(text, nested(entities))
    return _trimmed(cleaned, moved)


def nested(entities: Iterable[Entity]) -> list[Entity]:
    """Entities in order, such that each lies wholly inside or outside of each other.

    What must not overlap gives way to what comes first; what may be cut is cut; styles within code are dropped.
    """
    ordered = _in_order(entity for entity in entities if entity.length > 0)
    quotes = _apart([entity for entity in ordered if entity.type in _QUOTES])
    rest = [entity for entity in ordered if entity.type not in (*_QUOTES, *_SPLITTABLE)]
    kept = [entity for entity in _apart(rest) if not any(_crosses(entity, quote) for quote in quotes)]
    result = [*quotes, *(entity for entity in kept if not any(_covers(entity, quote) for quote in quotes))]
    for style in _SPLITTABLE:
        stretches = _joined([entity for entity in ordered if entity.type == style])
        result += [piece for stretch in stretches for piece in _cut(stretch, result)]
    return _in_order(result)


def _in_order(entities: Iterable[Entity]) -> list[Entity]:
    return sorted(entities, key=lambda entity: (entity.offset, -entity.length, _rank(entity)))


def _rank(entity: Entity) -> int:
    """Of entities that cover the same stretch, which one is outside."""
    if entity.type in _QUOTES:
        return 0
    return 1 + _SPLITTABLE.index(entity.type) if entity.type in _SPLITTABLE else 9


def _apart(ordered: Sequence[Entity]) -> list[Entity]:
    """Without those that begin before the one before them ends."""
    kept: list[Entity] = []
    for entity in ordered:
        if not kept or entity.offset >= kept[-1].end:
            kept.append(entity)
    return kept


def _joined(ordered: Sequence[Entity]) -> list[Entity]:
    """Those that touch or overlap are one."""
    kept: list[Entity] = []
    for entity in ordered:
        if kept and entity.offset <= kept[-1].end:
            kept[-1] = kept[-1].between(kept[-1].offset, max(kept[-1].end, entity.end))
        else:
            kept.append(entity)
    return kept


def _cut(stretch: Entity, others: Sequence[Entity]) -> list[Entity]:
    """A style, cut where it crosses something else, and left out of code."""
    pieces = [stretch]
    for other in others:
        pieces = [part for piece in pieces for part in _cut_by(piece, other)]
    return pieces


def _cut_by(piece: Entity, other: Entity) -> list[Entity]:
    if other.type in _CODE and _overlap(piece, other):
        outside = ((piece.offset, min(piece.end, other.offset)), (max(piece.offset, other.end), piece.end))
        return [piece.between(start, end) for start, end in outside if start < end]
    if not _crosses(piece, other):
        return [piece]
    at = other.offset if piece.offset < other.offset else other.end
    return [piece.between(piece.offset, at), piece.between(at, piece.end)]


def _overlap(one: Entity, other: Entity) -> bool:
    return one.offset < other.end and other.offset < one.end


def _covers(one: Entity, other: Entity) -> bool:
    return one.offset <= other.offset and other.end <= one.end and one.length > other.length


def _crosses(one: Entity, other: Entity) -> bool:
    inside = one.offset >= other.offset and one.end <= other.end
    outside = other.offset >= one.offset and other.end <= one.end
    return _overlap(one, other) and not inside and not outside


def _cleaned(text: str, entities: Sequence[Entity]) -> tuple[str, list[Entity]]:
    """Control characters become spaces; what would turn the writing around or stack lines on it goes."""
    kept: list[str] = []
    moves: dict[int, int] = {}
    before = after = 0
    for character in text:
        moves[before] = after
        instead = _clean(character)
        kept.append(instead)
        width = 2 if character > "\uffff" else 1
        before += width
        after += width if instead else 0
    moves[before] = after
    return "".join(kept), [_moved(entity, moves, before, text) for entity in entities]


def _clean(character: str) -> str:
    if character == "\r" or "\u2028" <= character <= "\u202e" or character in "\u0333\u033f\u030a":
        return ""
    return " " if character < " " and character != "\n" else character


def _moved(entity: Entity, moves: dict[int, int], length: int, text: str) -> Entity:
    if entity.offset > length:
        raise bad_request(f"entity begins after the end of the text at UTF-16 offset {entity.offset}")
    begins = f"entity beginning at UTF-16 offset {entity.offset}"
    if entity.end > length:
        raise bad_request(f"{begins} ends after the end of the text at UTF-16 offset {entity.end}")
    if entity.offset not in moves:
        raise bad_request(f"entity begins in a middle of a UTF-16 symbol at byte offset {_byte(text, entity.offset)}")
    if entity.end not in moves:
        raise bad_request(f"{begins} ends in a middle of a UTF-16 symbol at byte offset {_byte(text, entity.end)}")
    return entity.between(moves[entity.offset], moves[entity.end])


def _byte(text: str, unit: int) -> int:
    """Where in UTF-8 the character after the one that this unit is in the middle of begins."""
    whole = text.encode("utf-16-le", "surrogatepass")
    return len(whole[: (unit + 1) * 2].decode("utf-16-le").encode())


def _trimmed(text: str, entities: Sequence[Entity]) -> tuple[str, list[Entity]]:
    """Without spaces and line breaks at the end; and at the beginning, as far as no entity covers them."""
    shorter = text.rstrip(" \n")
    end = units(shorter)
    kept = nested(entity.between(entity.offset, min(entity.end, end)) for entity in entities if entity.offset < end)
    first = kept[0].offset if kept else end
    leading = min(len(shorter) - len(shorter.lstrip(" \n")), first)
    return shorter[leading:], [entity.between(entity.offset - leading, entity.end - leading) for entity in kept]

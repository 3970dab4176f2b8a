"""Making a text fit a message: what is too long keeps its beginning and its end, and says how much is left out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from handrail.rendering.amounts import count
from handrail.telegram.text.rich import Entity, RichText, italic, plain, utf16_length

__all__ = [
    "LIMIT",
    "MOST_ENTITIES",
    "folded",
    "has_room_for",
    "paragraphs",
    "shared_out",
    "sliced",
    "with_few_entities",
]

LIMIT = 4096
MOST_ENTITIES = 100
LEAST_ROOM = 160
"""Below that, a shortened text would say nothing but that it is shortened."""
NEAR = 5
"""A text is cut at the end of a line if that loses less than a fifth of it."""


def has_room_for(rich: RichText, limit: int = LIMIT) -> bool:
    """Whether one message can hold this."""
    return rich.length <= limit and len(rich.entities) <= MOST_ENTITIES


def paragraphs(blocks: Iterable[RichText]) -> RichText:
    """Texts with an empty line between them; those that are empty are left out."""
    return stacked(blocks, "\n\n")


def stacked(blocks: Iterable[RichText], between: str = "\n") -> RichText:
    """Texts below each other; those that are empty are left out. It measures each only once, however many there are."""
    texts: list[str] = []
    entities: list[Entity] = []
    shift = 0
    for block in blocks:
        if not block:
            continue
        shift += len(between) if texts else 0
        entities += [msgspec.structs.replace(entity, offset=entity.offset + shift) for entity in block.entities]
        texts.append(block.text)
        shift += block.length
    return RichText(between.join(texts), tuple(entities))


def shared_out(blocks: Sequence[RichText], room: int) -> list[RichText]:
    """The blocks, so shortened that they fit `room` units together: the longest ones give way first."""
    lengths = sorted(block.length for block in blocks)
    cap = _cap(lengths, room)
    return [folded(block, cap) for block in blocks]


def _cap(lengths: Sequence[int], room: int) -> int:
    """The length to which the longest are cut so that all fit."""
    left = room
    for position, length in enumerate(lengths):
        share = left // (len(lengths) - position)
        if length > share:
            return max(share, LEAST_ROOM)
        left -= length
    return max(lengths, default=0)


def folded(rich: RichText, room: int) -> RichText:
    """The text if it fits; else its beginning and its end, and between them how much is not there."""
    if rich.length <= room:
        return rich
    units = rich.text.encode("utf-16-le", "surrogatepass")
    mark = _mark(len(units) // 2, rich.text.count("\n"))  # as long as it can become: the true one counts less
    for_both = max(0, room - mark.length)
    head_end = _before_cut(units, for_both - for_both // 3)
    tail_start = _after_cut(units, for_both // 3)
    left_out = _text(units, head_end, tail_start)
    return (
        sliced(rich, 0, head_end)
        + _mark(utf16_length(left_out), left_out.count("\n"))
        + sliced(rich, tail_start, len(units) // 2)
    )


def _mark(characters: int, lines: int) -> RichText:
    amount = count(characters, "character") + (f" in {count(lines + 1, 'line')}" if lines else "")
    return plain("\n") + italic(f"⋯ {amount} left out here ⋯") + "\n"


def _before_cut(units: bytes, most: int) -> int:
    """Where the beginning ends: behind a line if one ends near, never inside a character."""
    end = most - (1 if _is_second_half(units, most) else 0)
    line_end = _text(units, 0, end).rfind("\n")
    line_units = utf16_length(_text(units, 0, end)[:line_end]) if line_end >= 0 else 0
    return line_units if line_units > end - end // NEAR else end


def _after_cut(units: bytes, most: int) -> int:
    """Where the end begins."""
    whole = len(units) // 2
    start = whole - most
    start += 1 if _is_second_half(units, start) else 0
    tail = _text(units, start, whole)
    line_end = tail.find("\n")
    skipped = utf16_length(tail[: line_end + 1]) if line_end >= 0 else most
    return start + skipped if skipped < most // NEAR else start


def _is_second_half(units: bytes, position: int) -> bool:
    """Whether a character that takes two units would be cut there."""
    return 0 < position < len(units) // 2 and 0xDC <= units[2 * position + 1] <= 0xDF


def _text(units: bytes, start: int, end: int) -> str:
    return units[2 * start : 2 * end].decode("utf-16-le", "replace")


def sliced(rich: RichText, start: int, end: int) -> RichText:
    """A part of a text, by UTF-16 units; what an entity covers of it still looks the same."""
    units = rich.text.encode("utf-16-le", "surrogatepass")
    entities = (_clipped(entity, start, end) for entity in rich.entities)
    return RichText(_text(units, start, end), tuple(entity for entity in entities if entity is not None))


def _clipped(entity: Entity, start: int, end: int) -> Entity | None:
    begin, stop = max(entity.offset, start), min(entity.offset + entity.length, end)
    return msgspec.structs.replace(entity, offset=begin - start, length=stop - begin) if stop > begin else None


def with_few_entities(rich: RichText) -> RichText:
    """The text with as many entities as a message may have: no word is lost with the others."""
    if len(rich.entities) <= MOST_ENTITIES:
        return rich
    by_weight = sorted(rich.entities, key=lambda entity: (entity.kind not in ("pre", "code"), entity.offset))
    kept = sorted(by_weight[:MOST_ENTITIES], key=lambda entity: (entity.offset, -entity.length))
    return RichText(rich.text, tuple(kept))

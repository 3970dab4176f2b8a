"""Making a text fit a message: what is too long keeps its beginning and its end, and says how much is left out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from handrail.rendering.amounts import count
from handrail.telegram.text.rich import Entity, RichText, italic, plain, utf16_length
from handrail.telegram.text.splitting import MOST_ENTITIES
from handrail.telegram.text.units import Units

__all__ = ["folded", "paragraphs", "shared_out", "stacked", "with_few_entities"]

LEAST_ROOM = 160
"""Below that, a shortened text would say nothing but that it is shortened."""
NEAR = 5
"""A text is cut at the end of a line if that loses less than a fifth of it."""


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
    units = Units(rich.text)
    longest_mark = _mark(units.length, rich.text.count("\n"))  # what is left out is less than everything
    for_both = max(0, room - longest_mark.length)
    head_end = _end_of_head(units, for_both - for_both // 3)
    tail_start = _start_of_tail(units, for_both // 3)
    left_out = units.slice(head_end, tail_start)
    mark = _mark(tail_start - head_end, left_out.count("\n"))
    return _sliced(rich, units, 0, head_end) + mark + _sliced(rich, units, tail_start, units.length)


def _mark(characters: int, lines: int) -> RichText:
    amount = count(characters, "character") + (f" in {count(lines + 1, 'line')}" if lines else "")
    return plain("\n") + italic(f"⋯ {amount} left out here ⋯") + "\n"


def _end_of_head(units: Units, most: int) -> int:
    """Behind a line if one ends near, never inside a character."""
    line_end = units.find_last("\n", most - most // NEAR, most)
    return line_end if line_end > 0 else units.safe_cut(most, 0)


def _start_of_tail(units: Units, most: int) -> int:
    """At a line if one begins near; else at a character."""
    start = units.length - most
    begun = units.slice(start, start + most // NEAR).find("\n")
    if begun >= 0:
        return start + utf16_length(units.slice(start, start + most // NEAR)[: begun + 1])
    return _next_cut(units, start)


def _next_cut(units: Units, at: int) -> int:
    """The first place from `at` on where no character is cut in two."""
    return next((place for place in range(at, units.length) if units.safe_cut(place, 0) == place), units.length)


def _sliced(rich: RichText, units: Units, start: int, end: int) -> RichText:
    """A part of a text; what an entity covers of it still looks the same."""
    entities = (_clipped(entity, start, end) for entity in rich.entities)
    return RichText(units.slice(start, end), tuple(entity for entity in entities if entity is not None))


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

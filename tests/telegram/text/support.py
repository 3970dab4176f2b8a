"""What holds for every text that is sent to Telegram."""

from __future__ import annotations

from itertools import combinations

import msgspec

from handrail.telegram.text.markdown import is_link
from handrail.telegram.text.rich import Entity, RichText, utf16_length
from handrail.testing.telegram.formatting import formatted

QUOTES = ("blockquote", "expandable_blockquote")
ALONE = ("code", "pre", "text_link")


def covered(rich: RichText, entity: Entity) -> str:
    """The part of the text that an entity is about."""
    units = rich.text.encode("utf-16-le")
    return units[2 * entity.offset : 2 * (entity.offset + entity.length)].decode("utf-16-le")


def looks(rich: RichText) -> list[tuple[str, str]]:
    """Each entity's kind and text, in order."""
    return [(entity.kind, covered(rich, entity)) for entity in rich.entities]


def check(rich: RichText, *, longest: int | None = None, most_entities: int | None = None) -> None:
    """What Telegram demands of a text, and takes without changing it."""
    length = utf16_length(rich.text)
    assert longest is None or length <= longest
    assert most_entities is None or len(rich.entities) <= most_entities
    for entity in rich.entities:
        _check_entity(rich, entity, length)
    places = [(entity.offset, -entity.length) for entity in rich.entities]
    assert places == sorted(places)
    if len(rich.entities) <= 200:
        for first, second in combinations(rich.entities, 2):
            _check_pair(first, second)


def check_sendable(rich: RichText) -> None:
    """What the emulated server takes as one message that looks as it was meant to."""
    check(rich, longest=4096, most_entities=100)
    raw = [{"type": entity.kind, **msgspec.to_builtins(entity)} for entity in rich.entities]
    taken = formatted(rich.text, "", raw)
    moved = utf16_length(rich.text) - utf16_length(taken.text)
    assert taken.text == rich.text[moved:], "only what stands before everything else is left out"
    assert taken.dropped == 0
    meant = {(each.kind, at) for each in rich.entities for at in range(each.offset, each.offset + each.length)}
    shown = {(each.type, at + moved) for each in taken.entities for at in range(each.offset, each.end)}
    assert not meant - shown


def _check_entity(rich: RichText, entity: Entity, length: int) -> None:
    assert entity.offset >= 0
    assert entity.length > 0
    assert entity.offset + entity.length <= length
    inside = covered(rich, entity)  # fails inside of a surrogate pair
    assert inside == inside.rstrip()
    assert entity.kind in ("pre", *QUOTES) or inside == inside.lstrip()
    assert bool(entity.url) == (entity.kind == "text_link")
    assert not entity.url or is_link(entity.url)
    assert not entity.language or entity.kind == "pre"


def _check_pair(first: Entity, second: Entity) -> None:
    """Of two entities in order: apart, or the second inside the first, if the two may be."""
    end = first.offset + first.length
    if second.offset >= end:
        return
    assert second.offset + second.length <= end, f"{first} and {second} overlap"
    assert first.kind != second.kind
    assert not (first.kind in QUOTES and second.kind in QUOTES)
    assert not (first.kind in ALONE and second.kind in (*ALONE, *QUOTES))
    for one, other in ((first, second), (second, first)):
        assert one.kind not in ("code", "pre") or other.kind in QUOTES, f"{one} has looks beside {other}"

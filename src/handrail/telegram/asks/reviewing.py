"""Markdown that somebody is to approve: rendered, with nothing of what was written left out.

Rendering leaves things out of sight: where a link leads, its title, what a character is written as. Here addresses are
shown; a text of which anything else would not be seen is followed by its source, and one that would hide something is
shown as its source only.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from html import unescape
from itertools import accumulate, pairwise, zip_longest

import msgspec

from handrail.policy.describing.visible import hiding
from handrail.telegram.asks.fitting import paragraphs
from handrail.telegram.asks.words import exact, words
from handrail.telegram.text.markdown import from_markdown
from handrail.telegram.text.rich import Entity, RichText, italic, pre, utf16_length
from handrail.telegram.text.units import Units

__all__ = ["reviewed"]

SOURCE_FOLLOWS = "Not all of this is seen when it is rendered. As it was written:"
_SIGNS = re.compile(r"[\W_]+")
_MARKERS = re.compile(r"^[\s>*+-]*(?:\d+[.)]\s+)?(?:\[[ xX]\]\s)?", re.MULTILINE)
"""What begins an item of a list; it is counted anew, or drawn."""


def reviewed(text: str) -> RichText:
    """The text as it is to be read."""
    source = words(text)
    rendered = _with_addresses(from_markdown(source))
    written = pre(exact(text.strip()), "markdown")
    if any(hiding(rendered.text)) or not rendered.text.strip():
        return written
    if _is_all_there(source, rendered):
        return rendered
    return paragraphs([rendered, italic(SOURCE_FOLLOWS), written])


def _with_addresses(rich: RichText) -> RichText:
    """The text with the address of each link behind it."""
    links = sorted((entity for entity in rich.entities if entity.kind == "text_link"), key=_end)
    if not links:
        return rich
    units = Units(rich.text)
    places = [_end(link) for link in links]
    addresses = [f" ({exact(link.url)})" for link in links]
    pieces = (units.slice(start, end) for start, end in pairwise([0, *places, units.length]))
    text = "".join(part for pair in zip_longest(pieces, addresses, fillvalue="") for part in pair)
    grown = [0, *accumulate(map(utf16_length, addresses))]
    return RichText(text, tuple(_moved(entity, places, grown) for entity in rich.entities))


def _moved(entity: Entity, places: Sequence[int], grown: Sequence[int]) -> Entity:
    """An entity after the insertions: what stands behind one moves on, and what holds one grows."""
    start = entity.offset + grown[bisect_right(places, entity.offset)]
    end = _end(entity) + grown[bisect_left(places, _end(entity))]
    return msgspec.structs.replace(entity, offset=start, length=end - start)


def _end(entity: Entity) -> int:
    return entity.offset + entity.length


def _is_all_there(source: str, rendered: RichText) -> bool:
    """Whether every letter and digit that was written is to be seen, in its order."""
    seen = iter(_letters(_with_languages(rendered)))
    return all(letter in seen for letter in _letters(unescape(source)))


def _letters(text: str) -> str:
    return _SIGNS.sub("", _MARKERS.sub("", text))


def _with_languages(rich: RichText) -> str:
    """The text with the language of each block of code before it, where Telegram draws it."""
    units = Units(rich.text)
    pieces, position = [], 0
    for entity in rich.entities:
        if entity.kind == "pre" and entity.language:
            pieces += [units.slice(position, entity.offset), f" {entity.language} "]
            position = entity.offset
    return "".join([*pieces, units.slice(position, units.length)])

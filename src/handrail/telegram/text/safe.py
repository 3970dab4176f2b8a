"""Text from elsewhere among our own words: nothing hidden, nothing turned around, and no longer than it may be."""

from __future__ import annotations

import unicodedata

from handrail.policy.describing.visible import legible, one_line, visible
from handrail.telegram.text.rich import utf16_length
from handrail.telegram.text.units import Units

__all__ = ["exact", "isolated", "line", "path_line", "safe", "within"]

_LONGEST_NAME = len("<U+10FFFF>")
_RIGHT_TO_LEFT = frozenset({"R", "AL", "AN"})
_ISOLATE, _END_OF_ISOLATE = "\u2068", "\u2069"


def line(text: str, limit: int = 120) -> str:
    """`text` on one line of at most `limit` units, however long it is."""
    enough = text[: limit * 2 + _LONGEST_NAME]  # what is not shown need not be looked at
    shown = within(one_line(enough), limit)
    return shown if len(enough) == len(text) or shown.endswith("…") else within(f"{shown} …", limit)


def within(text: str, limit: int) -> str:
    """`text`, cut with an ellipsis if it is longer."""
    if utf16_length(text) <= limit:
        return text
    units = Units(text[: limit + 1])
    return units.slice(0, units.safe_cut(limit - 1, -1)).rstrip() + "…"


def path_line(path: str, limit: int = 120) -> str:
    """A path on one line; of a long one the end, which says more."""
    shown = one_line(path[-(limit + 1) :])
    units = Units(shown)
    if len(path) <= limit and units.length <= limit:
        return shown
    start = max(0, units.length - limit + 1)
    while start < units.length and not units.is_between_characters(start):
        start += 1
    return "…" + units.slice(start, units.length)


def isolated(text: str) -> str:
    """`text` so that what is written from right to left in it does not move what stands around it."""
    if text.isascii() or not any(unicodedata.bidirectional(character) in _RIGHT_TO_LEFT for character in text):
        return text
    return f"{_ISOLATE}{text}{_END_OF_ISOLATE}"


def exact(text: str) -> str:
    """What would run, or a name: every hidden or misleading character is written out."""
    return visible(text)


def safe(text: str) -> str:
    """What somebody wrote for reading."""
    return legible(text)

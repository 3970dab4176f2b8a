"""Texts from elsewhere as they are shown in a chat: nothing hidden in them, nothing that a client would obey."""

from __future__ import annotations

from handrail.policy.describing.json_text import storable
from handrail.policy.describing.visible import legible, one_line, visible

__all__ = ["ended", "exact", "in_short", "line", "sentence", "words"]

LONGEST_LINE = 300
"""Of a title, say, in characters: it is never what fills a message."""


def line(text: str) -> str:
    """On one line."""
    return one_line(storable(text))


def words(text: str) -> str:
    """What somebody said; it may have several lines."""
    return legible(storable(text)).strip()


def exact(text: str) -> str:
    """What counts to the character."""
    return visible(storable(text))


def in_short(text: str, most: int = LONGEST_LINE) -> str:
    """On one line of at most so many characters; what is cut ends with an ellipsis. A megabyte costs no more."""
    begun = text.strip()[:most]
    whole = line(begun)
    if len(whole) <= most and len(begun) == len(text.strip()):
        return whole
    return whole[: most - 1].rstrip() + "…"


def ended(text: str) -> str:
    """With a full stop."""
    return text if text.endswith((".", "!", "?", "…")) else f"{text}."


def sentence(text: str) -> str:
    """With a capital first letter and a full stop."""
    return ended(text[:1].upper() + text[1:])

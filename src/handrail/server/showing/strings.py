"""Texts of an ask as strings and as fields, with nothing hidden in them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from handrail.policy.describing.json_text import storable
from handrail.policy.describing.visible import legible, one_line, visible
from handrail.protocol.descriptions import InputField
from handrail.server.showing.pieces import Pieces

__all__ = ["exact", "fields", "line", "words"]

LONGEST_COPY = 20_000
"""Longer values are only in the HTML."""


def line(text: str) -> str:
    """On one line."""
    return one_line(storable(text))


def words(text: str) -> str:
    """What somebody said; it may have several lines."""
    return legible(storable(text))


def exact(text: str) -> str:
    """What counts to the character."""
    return visible(storable(text))


def fields(given: Iterable[InputField], pieces: Pieces) -> list[dict[str, Any]]:
    """Each field with its name and its value, whole."""
    return [
        {
            "name": line(field.name),
            "html": pieces.code(field.value, "json" if field.is_json else ""),
            "text": exact(field.value) if len(field.value) <= LONGEST_COPY else "",
        }
        for field in given
    ]

"""Lists that are longer than a message should be: one page of them, and buttons to the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Generic, TypeVar

import msgspec

from handrail.telegram.commands.context import Choice

__all__ = ["PAGE", "Page", "page_of"]

PAGE: Final = 8
"""So many buttons below each other can be read on a phone without scrolling."""

ItemT = TypeVar("ItemT")


class Page(msgspec.Struct, Generic[ItemT], frozen=True):
    """Some items of a list, and where they are in it."""

    items: Sequence[ItemT]
    number: int
    is_last: bool

    def turning(self, data: Mapping[str, Any], *, before: str = "‹ Newer", behind: str = "Older ›") -> list[Choice]:
        """Buttons to the pages before and behind; `data` says which list it is."""
        back = [Choice(before, {**data, "page": self.number - 1})] if self.number else []
        onwards = [] if self.is_last else [Choice(behind, {**data, "page": self.number + 1})]
        return [*back, *onwards]


def page_of(items: Sequence[ItemT], number: Any, size: int = PAGE) -> Page[ItemT]:
    """One page of a list, counted from 0; a number that does not fit gives the nearest one."""
    last = max(0, (len(items) - 1) // size)
    number = min(max(0, number), last) if isinstance(number, int) else 0
    return Page(items[number * size : (number + 1) * size], number, number == last)

"""Choosing among numbered choices with number keys and arrows. Pure: keys in, what is chosen out."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, TypeAlias

from handrail.cli.keyboard.keys import Key

__all__ = ["Outcome", "Selection"]

Outcome: TypeAlias = Literal["done", "own words", "open", "back", "nothing", "unknown"]
"""What a key meant: `nothing` if it moved or changed a mark, `unknown` if it has no meaning here."""


class Selection:
    """A cursor over `count` choices, and which of them are taken. With `several`, any number may be."""

    def __init__(self, count: int, *, several: bool) -> None:
        self.count = count
        self.several = several
        self.cursor = 0
        self.taken: set[int] = set()

    def recall(self, positions: Iterable[int]) -> None:
        """Begin with what was taken before."""
        taken = set(positions)
        if taken:
            self.cursor = min(taken)
            self.taken = taken if self.several else set()

    def press(self, key: Key) -> Outcome:
        """What a key does."""
        name = key.name
        if name in ("up", "down", "k", "j"):
            self.cursor = (self.cursor + (1 if name in ("down", "j") else -1)) % max(1, self.count)
            return "nothing"
        if name.isdecimal() and name.isascii() and 1 <= int(name) <= self.count:
            return self._number(int(name) - 1)
        if name == " " and self.several:
            return self._number(self.cursor)
        if name == "enter":
            return self._enter()
        return _MEANINGS.get(name, "unknown")

    def _number(self, position: int) -> Outcome:
        self.cursor = position
        if not self.several:
            self.taken = {position}
            return "done"
        self.taken ^= {position}
        return "nothing"

    def _enter(self) -> Outcome:
        if self.several:
            return "done" if self.taken else "unknown"
        return self._number(self.cursor)


_MEANINGS: dict[str, Outcome] = {
    "o": "own words",
    "-": "open",
    "b": "back",
    "left": "back",
    "escape": "back",
    "backspace": "back",
}

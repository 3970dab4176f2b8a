"""A line of text while a person types it. Pure: keys in; the text, and the part of it that fits on a row, out."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from rich.cells import cell_len, set_cell_size

from handrail.cli.keyboard.keys import Key
from handrail.policy.describing.visible import visible

__all__ = ["LineEditor"]

_WORD_BEFORE = re.compile(r"\S*\s*\Z")


class LineEditor:
    """Text and a cursor in it. Pasted text keeps its line breaks."""

    def __init__(self) -> None:
        self._before = ""
        self._after = ""

    @property
    def text(self) -> str:
        return self._before + self._after

    def clear(self) -> None:
        self._before = self._after = ""

    def take(self) -> str:
        """The text; the line is empty then."""
        text = self.text
        self.clear()
        return text

    def press(self, key: Key) -> bool:
        """Whether the key was meant for the line, which has changed accordingly."""
        if key.text:
            self._before += key.text.replace("\r\n", "\n").replace("\r", "\n")
            return True
        edit = _EDITS.get(key.name)
        if edit is None:
            return False
        self._before, self._after = edit(self._before, self._after)
        return True

    def row(self, width: int) -> tuple[str, int]:
        """What fits into `width` cells around the cursor, and the cursor's place in it."""
        before, after = (_on_one_row(part) for part in (self._before, self._after))
        room = max(1, width - 1)
        before = _last_cells(before, room)
        at = cell_len(before)
        return before + _first_cells(after, width - at), at


def _on_one_row(text: str) -> str:
    return visible(text).replace("\n", "⏎").replace("\t", " ")


def _first_cells(text: str, width: int) -> str:
    return text if cell_len(text) <= width else set_cell_size(text, max(0, width)).rstrip()


def _last_cells(text: str, width: int) -> str:
    if cell_len(text) <= width:
        return text
    shown = ""
    for character in reversed(text):
        if cell_len(character) + cell_len(shown) > width - 1:
            break
        shown = character + shown
    return "…" + shown


Edit = Callable[[str, str], tuple[str, str]]
_EDITS: Mapping[str, Edit] = {
    "backspace": lambda before, after: (before[:-1], after),
    "delete": lambda before, after: (before, after[1:]),
    "left": lambda before, after: (before[:-1], before[-1:] + after),
    "right": lambda before, after: (before + after[:1], after[1:]),
    "home": lambda before, after: ("", before + after),
    "end": lambda before, after: (before + after, ""),
    "ctrl-a": lambda before, after: ("", before + after),
    "ctrl-e": lambda before, after: (before + after, ""),
    "ctrl-u": lambda before, after: ("", after),
    "ctrl-k": lambda before, after: (before, ""),
    "ctrl-w": lambda before, after: (_WORD_BEFORE.sub("", before, count=1), after),
}

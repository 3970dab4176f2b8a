"""Reads and searches in a row, folded into one line: they change nothing, and few people want each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from rich.text import Text

from handrail.cli.showing.amounts import count
from handrail.cli.showing.calls import Call, call_essence, render_call
from handrail.cli.showing.style import DONE, MARKS, QUIET, RUNNING, exact

__all__ = ["Looks"]

_NOUNS: Mapping[str, tuple[str, str]] = {
    "Read": ("read", "reads"),
    "NotebookRead": ("read", "reads"),
    "Glob": ("search", "searches"),
    "Grep": ("search", "searches"),
    "LS": ("listing", "listings"),
}


class Looks:
    """The calls of one row, all made by the same conversation."""

    def __init__(self) -> None:
        self._calls: list[Call] = []
        self.parent: str | None = None

    def __bool__(self) -> bool:
        return bool(self._calls)

    @staticmethod
    def is_one(call: Call) -> bool:
        """Whether a call only looks at something."""
        return call.name in _NOUNS

    def fits(self, call: Call) -> bool:
        """Whether a call belongs to this row."""
        return not self._calls or call.parent == self.parent

    def add(self, call: Call) -> None:
        """A call of the row went well."""
        self._calls.append(call)
        self.parent = call.parent

    def take(self, cwd: str) -> Text:
        """The row as a line; a new one can begin."""
        line = self.line(cwd)
        self._calls = []
        return line

    def line(self, cwd: str) -> Text:
        """The row as a line so far, cut where the terminal ends."""
        if len(self._calls) == 1:
            return render_call(self._calls[0], cwd, colour=DONE)
        line = Text(no_wrap=True, overflow="ellipsis")
        line.append(f"{MARKS[RUNNING]} ", DONE)
        line.append(self._counted(), "bold").append("  ")
        seen = dict.fromkeys(call_essence(call, cwd) for call in self._calls)
        return line.append_text(exact(", ".join(seen), QUIET))

    def _counted(self) -> str:
        nouns = Counter(_NOUNS[call.name] for call in self._calls)
        return ", ".join(count(number, *noun) for noun, number in nouns.items())

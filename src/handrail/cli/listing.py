"""Lines of text shown exactly: folded where they do not fit, never cut, with no space lost at a fold.

Where there are several lines they are numbered, so that a fold cannot be taken for the start of a new line.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from rich.cells import cell_len, chop_cells
from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from handrail.cli.style import DONE, FAILED, QUIET, exact
from handrail.cli.visible import visible

__all__ = ["Line", "Listing", "diff_listing", "text_listing"]

TAB = 4
CONTEXT = 3


@dataclass(frozen=True, slots=True)
class Line:
    """One line and what stands in front of it."""

    text: str
    gutter: str = ""
    style: str = ""


class Listing:
    """A renderable of lines."""

    def __init__(self, lines: Iterable[Line]) -> None:
        self.lines = tuple(lines)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        gutter = max((cell_len(line.gutter) for line in self.lines), default=0)
        for line in self.lines:
            yield from _folded(line, gutter, max(1, options.max_width - gutter))


def _folded(line: Line, gutter: int, width: int) -> Iterator[Text]:
    pieces = chop_cells(visible(line.text).expandtabs(TAB), width) or [""]
    for number, piece in enumerate(pieces):
        before = line.gutter if number == 0 else ""
        folded = Text(before.rjust(gutter), style=QUIET if not line.style else line.style, no_wrap=True)
        folded.append_text(exact(piece, line.style or "not dim"))
        yield folded


def text_listing(text: str) -> Listing:
    """The lines of `text`, numbered if there is more than one."""
    lines = text.split("\n")
    if len(lines) == 1:
        return Listing([Line(text)])
    return Listing(Line(line, f"{number} ") for number, line in enumerate(lines, start=1))


def diff_listing(before: str, after: str) -> Listing:
    """What changes from `before` to `after`, as a unified diff without its header."""
    # Split at newlines only, so that every other difference, a last newline too, is a difference between lines.
    changes = difflib.unified_diff(before.split("\n"), after.split("\n"), lineterm="", n=CONTEXT)
    # The first three lines are headers, with line numbers that count from the start of the text and not of the file.
    lines = [_diff_line(change) for change in list(changes)[3:]]
    return Listing(lines or [Line("(no change)", style=QUIET)])


def _diff_line(change: str) -> Line:
    if change.startswith("@@"):
        return Line("⋮", style=QUIET)
    sign, text = change[:1], change[1:]
    return Line(text, f"{sign} ", {"+": DONE, "-": FAILED}.get(sign, ""))

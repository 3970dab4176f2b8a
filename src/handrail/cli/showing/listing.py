"""Lines of text shown exactly: folded where they do not fit, never cut, with no space lost at a fold.

Where there are several lines they are numbered, so that a fold cannot be taken for the start of a new line.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from rich.cells import cell_len, chop_cells
from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from handrail.cli.showing.style import DONE, FAILED, QUIET, exact
from handrail.policy.describing.diffs import NO_NEWLINE, unified_hunks
from handrail.policy.describing.visible import visible
from handrail.protocol.descriptions import Hunk

__all__ = ["Line", "Listing", "diff_listing", "hunk_listing", "text_listing"]

TAB = 4


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
    """What changes from `before` to `after`, which are pieces of a file: without numbers, which would be wrong."""
    ends_differ = before.endswith("\n") != after.endswith("\n")
    lines: list[Line] = []
    for hunk in unified_hunks(before, after):
        if lines:
            lines.append(Line("⋮", style=QUIET))
        lines += [_diff_line(text, "") for text in hunk.lines if text != NO_NEWLINE or ends_differ]
    return Listing(lines or [Line("(no change)", style=QUIET)])


def hunk_listing(hunks: Sequence[Hunk], lines: int | None = None, *, begin: int = 1) -> Listing:
    """A diff against a file of `lines` lines, with their numbers; it says how many unchanged lines it leaves out.

    Nothing is said of lines before `begin`.
    """
    listed: list[Line] = []
    position = begin
    for hunk in hunks:
        start = hunk.old_start + (hunk.old_count == 0)
        listed += [*_left_out(start - position), *_hunk_lines(hunk)]
        position = start + hunk.old_count
    return Listing([*listed, *_left_out(lines + 1 - position if lines is not None else 0)])


def _left_out(count: int) -> Iterator[Line]:
    if count > 0:
        yield Line(f"⋮ {count} unchanged {'line' if count == 1 else 'lines'}", style=QUIET)


def _hunk_lines(hunk: Hunk) -> Iterator[Line]:
    old, new = hunk.old_start, hunk.new_start
    for text in hunk.lines:
        number = old if text[0] == "-" else new
        yield _diff_line(text, "" if text == NO_NEWLINE else f"{number} ")
        old += text[0] in " -"
        new += text[0] in " +"


def _diff_line(change: str, number: str) -> Line:
    if change == NO_NEWLINE:
        return Line("no newline at the end", style=QUIET)
    sign, text = change[:1], change[1:]
    return Line(text, f"{number}{sign} ", {"+": DONE, "-": FAILED}.get(sign, ""))

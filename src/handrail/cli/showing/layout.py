"""Small renderables that Rich has not: hanging indents, rows of pieces, set-off blocks, tails, no loose ends."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.segment import Segment
from rich.style import Style
from rich.text import Text

__all__ = ["Deferred", "Flow", "Hanging", "Indented", "Tail", "Trimmed"]

Lines = list[list[Segment]]


class Hanging:
    """Something behind a mark or a label; its further lines begin where the first one does.

    Behind a label that takes more than half of the width, it begins on a line of its own, so that nothing is cut off.
    """

    def __init__(self, before: Text, body: RenderableType) -> None:
        self._before = before
        self._body = body

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        indent = self._before.cell_len
        if indent > options.max_width // 2:
            yield self._before
            yield self._body
            return
        before = _lines(self._before, console, options, indent)[0]
        for line in _lines(self._body, console, options, options.max_width - indent):
            yield from before
            yield from _ended(line)
            before = [Segment(" " * indent)]


class Flow:
    """Short pieces in a row, which goes on in a next line at a gap and never inside a piece that fits."""

    def __init__(self, pieces: Iterable[Text], gap: int = 2) -> None:
        self._pieces = tuple(pieces)
        self._gap = gap

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        row = Text()
        for piece in self._pieces:
            if row and row.cell_len + self._gap + piece.cell_len > options.max_width:
                yield row
                row = Text()
            row = row + Text(" " * self._gap if row else "") + piece
        yield row


class Indented:
    """What a subagent did, set off by a line for each level."""

    def __init__(self, body: RenderableType, depth: int) -> None:
        self._body = body
        self._depth = depth

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        prefix = Segment("│ " * self._depth, Style(dim=True))
        for line in _lines(self._body, console, options, options.max_width - 2 * self._depth):
            yield prefix
            yield from _ended(line)


class Tail:
    """The last lines of something."""

    def __init__(self, body: RenderableType, height: int) -> None:
        self._body = body
        self._height = height

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for line in _lines(self._body, console, options, options.max_width)[-self._height :]:
            yield from _ended(line)


class Deferred:
    """Something that is made when it is drawn, and not for every change in between."""

    def __init__(self, make: Callable[[], RenderableType]) -> None:
        self._make = make

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield self._make()


class Trimmed:
    """Something without empty lines around it and without spaces at the ends of its lines."""

    def __init__(self, body: RenderableType) -> None:
        self._body = body

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        lines = [_without_spaces(line) for line in _lines(self._body, console, options, options.max_width)]
        while lines and not lines[0]:
            del lines[0]
        while lines and not lines[-1]:
            del lines[-1]
        for line in lines:
            yield from _ended(line)


def _lines(body: RenderableType, console: Console, options: ConsoleOptions, width: int) -> Lines:
    return console.render_lines(body, options.update(width=max(1, width), height=None), pad=False)


def _ended(line: list[Segment]) -> Iterator[Segment]:
    yield from line
    yield Segment.line()


def _without_spaces(line: list[Segment]) -> list[Segment]:
    kept = list(line)
    while kept and not kept[-1].text.strip():
        kept.pop()
    if kept:
        last = kept.pop()
        kept.append(Segment(last.text.rstrip(), last.style, last.control))
    return kept

"""The last rows of a terminal, which are drawn again and again below the lines that stay."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.console import Console, ConsoleOptions, RenderResult
from rich.segment import Segment, Segments

__all__ = ["Region", "Row"]

Row = Sequence[Segment]

_SHOW_CURSOR = "\x1b[?25h"
_HIDE_CURSOR = "\x1b[?25l"
_ERASE_ROW = "\x1b[2K"
_UP = "\x1b[1A"


class Region:
    """Rows at the end of what is written. The cursor is on the last of them, and below the lines that stay."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._rows: list[list[Segment]] = []
        self._cursor: int | None = None
        self._width = 0

    @property
    def is_drawn(self) -> bool:
        return bool(self._rows)

    def draw(self, rows: Iterable[Row], cursor: int | None = None) -> None:
        """Put these rows in place of those before. With `cursor`, it is shown in that column of the last row."""
        drawn = [list(row) for row in rows]
        if (drawn, cursor, self._console.width) == (self._rows, self._cursor, self._width):
            return
        with self._console:
            self.erase()
            self._control(_HIDE_CURSOR)
            self._write(drawn)
            self._rows, self._cursor, self._width = drawn, cursor, self._console.width
            if cursor is not None:
                self._control("\r" + (f"\x1b[{cursor}C" if cursor else "") + _SHOW_CURSOR)

    def erase(self) -> None:
        """Take the rows away."""
        if not self._rows:
            return
        above = sum(self._height(row) for row in self._rows) - 1
        self._rows = []
        # Row by row: some terminals keep what is cleared all at once in their history.
        self._control("\r" + _ERASE_ROW + above * (_UP + _ERASE_ROW) + _SHOW_CURSOR)

    def _height(self, row: Row) -> int:
        """How many rows of the terminal a row takes: more than one, if the terminal has become narrower meanwhile."""
        return max(1, -(-Segment.get_line_length(list(row)) // max(1, self._console.width)))

    def _write(self, rows: Sequence[Row]) -> None:
        segments: list[Segment] = []
        for number, row in enumerate(rows):
            segments += [Segment.line()] if number else []
            segments += row
        self._console.print(Segments(segments), end="", crop=False, no_wrap=True, overflow="ignore")

    def _control(self, code: str) -> None:
        self._console.print(_Control(code), end="", crop=False)


class _Control:
    """A sequence for the terminal that takes no room."""

    def __init__(self, code: str) -> None:
        self._code = code

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield Segment(self._code, None, [])

"""Columns that stay columns: cut to fit a terminal, whole in a pipe, and never wrapped.

Where a terminal is too narrow, columns give way: first those that may be left out, then the width of those that may be
cut.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from handrail.cli.showing.style import QUIET

__all__ = ["Column", "Table"]

GAP = 2
NARROWEST = 16


@dataclass(frozen=True, slots=True)
class Column:
    """One column. `flexible`: it may be cut; `optional`: it is left out where there is no room, the highest first."""

    title: str
    right: bool = False
    flexible: bool = False
    optional: int = 0


class Table:
    """Rows of cells under a heading."""

    def __init__(self, columns: Sequence[Column], rows: Sequence[Sequence[Text]]) -> None:
        self._columns = tuple(columns)
        self._rows = [tuple(row) for row in rows]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        natural = [self._natural_width(index) for index in range(len(self._columns))]
        width = options.max_width if console.is_terminal else sum(natural) + GAP * len(natural)
        shown = self._shown(natural, width)
        widths = self._fitted({index: natural[index] for index in shown}, width)
        heading = tuple(Text(column.title, style=QUIET) for column in self._columns)
        for row in (heading, *self._rows):
            yield self._line(row, widths)

    def _natural_width(self, index: int) -> int:
        return max([cell_len(self._columns[index].title), *(row[index].cell_len for row in self._rows)])

    def _shown(self, natural: Sequence[int], width: int) -> list[int]:
        """The columns that there is room for."""
        shown = [index for index in range(len(natural)) if natural[index]]
        while self._least(natural, shown) > width:
            droppable = [index for index in shown if self._columns[index].optional]
            if not droppable:
                break
            shown.remove(max(droppable, key=lambda index: self._columns[index].optional))
        return shown

    def _least(self, natural: Sequence[int], shown: Sequence[int]) -> int:
        flexible = [self._columns[index].flexible for index in range(len(natural))]
        widths = [min(natural[index], NARROWEST) if flexible[index] else natural[index] for index in shown]
        return sum(widths) + GAP * (len(widths) - 1)

    def _fitted(self, widths: dict[int, int], width: int) -> dict[int, int]:
        """The widths, with the widest flexible column made narrower until all fit."""
        fitted = dict(widths)
        while sum(fitted.values()) + GAP * (len(fitted) - 1) > width:
            flexible = [index for index in fitted if self._columns[index].flexible and fitted[index] > 1]
            if not flexible:
                break
            fitted[max(flexible, key=lambda index: fitted[index])] -= 1
        return fitted

    def _line(self, row: Sequence[Text], widths: dict[int, int]) -> Text:
        line = Text(no_wrap=True, overflow="ignore")
        for index, width in widths.items():
            if line:
                line.append(" " * GAP)
            line.append_text(_cell(row[index], width, right=self._columns[index].right))
        line.rstrip()
        return line


def _cell(text: Text, width: int, *, right: bool) -> Text:
    cell = text.copy()
    if cell.cell_len > width:
        cell.truncate(width, overflow="ellipsis")
    padding = " " * (width - cell.cell_len)
    return Text.assemble(padding, cell) if right else Text.assemble(cell, padding)

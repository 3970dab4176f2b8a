"""Tables as text in columns: what Telegram has no entity for."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

__all__ = ["table_text", "width"]

WIDEST_COLUMN = 40
"""A longer cell does not make all others of its column as long."""
_BETWEEN = " │ "
_WIDE = frozenset("WF")


def table_text(rows: Sequence[Sequence[str]], aligned: Sequence[str] = ()) -> str:
    """The rows below each other, a line under the first; `aligned` has `right` or `center` for such columns."""
    if not rows:
        return ""
    columns = max(len(row) for row in rows)
    widths = [_column_width(rows, column) for column in range(columns)]
    sides = [aligned[column] if column < len(aligned) else "" for column in range(columns)]
    lines = [_line(row, widths, sides) for row in rows]
    rule = "─┼─".join("─" * each for each in widths)
    return "\n".join([lines[0], rule, *lines[1:]])


def width(text: str) -> int:
    """How many columns a text takes in a font of one width."""
    if text.isascii():
        return len(text)
    return sum(_cells(character) for character in text)


def _cells(character: str) -> int:
    if unicodedata.combining(character) or unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in _WIDE else 1


def _column_width(rows: Sequence[Sequence[str]], column: int) -> int:
    longest = max((width(row[column]) for row in rows if column < len(row)), default=0)
    return min(max(longest, 1), WIDEST_COLUMN)


def _line(row: Sequence[str], widths: Sequence[int], sides: Sequence[str]) -> str:
    cells = [*row, *[""] * (len(widths) - len(row))]
    filled = (_filled(cell, wide, side) for cell, wide, side in zip(cells, widths, sides, strict=True))
    return _BETWEEN.join(filled).rstrip()


def _filled(cell: str, wide: int, side: str) -> str:
    missing = max(0, wide - width(cell))
    if side == "right":
        return " " * missing + cell
    before = missing // 2 if side == "center" else 0
    return " " * before + cell + " " * (missing - before)

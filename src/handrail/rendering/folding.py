"""Long texts, folded: the first lines are shown, the rest is a click away, and the fold says how much it is."""

from __future__ import annotations

from collections.abc import Sequence

from handrail.rendering.amounts import count

__all__ = ["fold", "split_at"]

LEAST_FOLDED = 10
"""A fold that hides fewer lines than this is more trouble than it saves."""
LONGEST_HEAD = 60_000
"""How many characters of HTML stand before a fold at most, wherever lines allow it."""


def split_at(lines: Sequence[str], shown: int | None) -> int:
    """How many of the `lines` stand before the fold: all of them, if there is no need for one."""
    if shown is None:
        return len(lines)
    head, characters = 0, 0
    for line in lines[:shown]:
        characters += len(line)
        if head and characters > LONGEST_HEAD:
            break
        head += 1
    return head if len(lines) - head >= LEAST_FOLDED or characters > LONGEST_HEAD else len(lines)


def fold(head: str, tail: str, lines: int, noun: str = "line") -> str:
    """`head`, and behind it the `tail`, folded; `lines` are all lines there are."""
    return f'{head}<details class="fold"><summary>Show all {count(lines, noun)}</summary>{tail}</details>'

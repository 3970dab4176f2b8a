"""Words that several messages share."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

__all__ = ["context", "did_you_mean", "listed", "tokens"]


def did_you_mean(given: str, known: Iterable[str]) -> str:
    """The end of a message about a name that nobody knows: the nearest known one, or all of them."""
    names = sorted(known)
    lowered = {name.lower(): name for name in names}
    near = difflib.get_close_matches(given.lower(), lowered, n=1)
    if near:
        return f": did you mean {lowered[near[0]]!r}?"
    return f": there {'is' if len(names) == 1 else 'are'} {listed(names)}"


def listed(names: Iterable[str]) -> str:
    """`a, b and c`."""
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last


def tokens(number: int) -> str:
    """So many tokens, roughly."""
    if number < 1000:
        return str(number)
    if number < 1_000_000:
        return f"{number / 1000:.0f}k" if number >= 10_000 else f"{number / 1000:.1f}k"
    return f"{number / 1_000_000:.1f}M"


def context(used: int, window: int | None) -> str:
    """How full the context is."""
    if not window:
        return f"context {tokens(used)} tokens"
    return f"context {used / window:.0%} of {tokens(window)}"

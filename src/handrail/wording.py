"""Words that several messages share."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

__all__ = ["did_you_mean", "listed"]


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

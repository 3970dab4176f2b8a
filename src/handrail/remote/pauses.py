"""How long to wait before something is tried again: ever longer, and never all clients at the same moment."""

from __future__ import annotations

import random

__all__ = ["Pauses"]


class Pauses:
    """The pauses between attempts."""

    def __init__(self, *, first: float = 0.1, longest: float = 2.0) -> None:
        self._first = first
        self._longest = longest
        self._next = first

    def next(self) -> float:
        """Seconds to wait now."""
        pause = self._next * random.uniform(0.75, 1.25)  # noqa: S311  (nothing secret hangs on it)
        self._next = min(self._next * 2, self._longest)
        return pause

    def begin_anew(self) -> None:
        """It worked: the next failure is a first one."""
        self._next = self._first

"""What did not work is tried again, after longer and longer waits."""

from __future__ import annotations

__all__ = ["Patience"]

_SET_ASIDE_AFTER = 5
_TIME_FOR_OTHERS = 4
"""How much longer what is set aside waits than everything does."""


class Patience:
    """Counts failures: of all, for how long to leave Telegram alone; of one message, when others may overtake it."""

    def __init__(self, *, shortest: float, longest: float) -> None:
        self._shortest = shortest
        self._longest = longest
        self._in_a_row = 0
        self._failures: dict[str, int] = {}
        self._aside: dict[str, float] = {}

    def worked(self, key: str) -> None:
        """Telegram can be reached, and took this."""
        self._in_a_row = 0
        self._failures.pop(key, None)
        self._aside.pop(key, None)

    def failed(self, key: str, now: float, *, is_away: bool) -> float:
        """Returns how long to leave Telegram alone. What fails again and again, though it is there, is set aside."""
        self._in_a_row += 1
        if not is_away:
            self._count(key, now)
        return self._wait(self._in_a_row)

    def _count(self, key: str, now: float) -> None:
        failures = self._failures[key] = self._failures.get(key, 0) + 1
        if failures >= _SET_ASIDE_AFTER:
            self._aside[key] = now + _TIME_FOR_OTHERS * self._wait(failures)

    def set_aside(self, now: float) -> frozenset[str]:
        """What is not to be tried for now."""
        return frozenset(key for key, until in self._aside.items() if until > now)

    def next_at(self, now: float) -> float | None:
        """When something that is set aside is to be tried again."""
        return min((until for until in self._aside.values() if until > now), default=None)

    def _wait(self, failures: int) -> float:
        return float(min(self._longest, self._shortest * 2 ** min(failures - 1, 16)))

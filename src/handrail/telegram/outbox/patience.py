"""What did not work is tried again, after longer and longer waits."""

from __future__ import annotations

__all__ = ["Patience"]

_SET_ASIDE_AFTER = 5


class Patience:
    """Counts failures: of all, for how long to leave Telegram alone; of one message, when others may overtake it."""

    def __init__(self, *, shortest: float = 0.5, longest: float = 60.0) -> None:
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

    def failed(self, key: str, now: float) -> float:
        """Returns how long to leave Telegram alone. What fails again and again, while others do not, is set aside."""
        failures = self._failures[key] = self._failures.get(key, 0) + 1
        if failures >= _SET_ASIDE_AFTER:
            self._aside[key] = now + self._wait(failures)
        self._in_a_row += 1
        return self._wait(self._in_a_row)

    def set_aside(self, now: float) -> frozenset[str]:
        """What is not to be tried for now."""
        return frozenset(key for key, until in self._aside.items() if until > now)

    def next_at(self, now: float) -> float | None:
        """When something that is set aside is to be tried again."""
        return min((until for until in self._aside.values() if until > now), default=None)

    def _wait(self, failures: int) -> float:
        return float(min(self._longest, self._shortest * 2 ** min(failures - 1, 16)))

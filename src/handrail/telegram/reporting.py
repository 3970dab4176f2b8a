"""How the bridge is: since when it runs, and what goes wrong, said once in the log and kept for whoever asks."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

__all__ = ["Report"]

logger = logging.getLogger("handrail.telegram")


class Report:
    """What went wrong last, and with what something is wrong now."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self.started_at = clock()
        self.last_error = ""
        self.last_error_at = 0.0
        self._troubles: dict[str, str] = {}

    @property
    def troubles(self) -> tuple[str, ...]:
        """What is wrong now."""
        return tuple(self._troubles.values())

    def on(self, subject: str) -> Callable[[str], None]:
        """Says of a subject what is wrong with it; no words mean that nothing is any more."""

        def say(words: str) -> None:
            if not words:
                self._troubles.pop(subject, None)
            elif words != self._troubles.get(subject):
                logger.warning("%s", words)
                self._troubles[subject] = words
                self.remember(words)

        return say

    def remember(self, words: str) -> None:
        """Something went wrong that somebody else has logged, and watches."""
        self.last_error, self.last_error_at = words, self._clock()

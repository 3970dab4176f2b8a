"""How fast a bot may write: counted per chat, per group and in all, as the real server counts it.

Telegram publishes no exact limits. Its FAQ names one message a second in a chat (short bursts pass), 20 a minute in a
group and about 30 a second in all; edits count like messages. Drafts and chat actions have limits of their own, wider
and unpublished.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

__all__ = ["Pacer", "TelegramPace"]


@dataclass(frozen=True, kw_only=True)
class TelegramPace:
    """The limits, and the clock they are measured by. `scale` makes all of them that many times as fast."""

    chat_seconds: float = 1.0
    """Time between messages in one chat, in the long run."""
    chat_burst: int = 5
    """So many at once are let pass if the chat was quiet."""
    group_messages: int = 20
    """In a group, within a minute."""
    overall_messages: int = 30
    """In all chats, within a second."""
    light_messages: int = 10
    """Drafts and chat actions in one chat, within a second."""
    scale: float = 1.0
    clock: Callable[[], float] = time.monotonic


class _Window:
    """At most so many within a span of time."""

    def __init__(self, most: int, seconds: float) -> None:
        self._most = most
        self._seconds = seconds
        self._times: deque[float] = deque()

    def wait(self, now: float) -> float:
        while self._times and self._times[0] <= now - self._seconds:
            self._times.popleft()
        return 0 if len(self._times) < self._most else self._times[0] + self._seconds - now

    def take(self, now: float) -> None:
        self._times.append(now)


class _Bucket:
    """A steady rate, and a burst after a rest."""

    def __init__(self, burst: int, seconds: float) -> None:
        self._slack = (burst - 1) * seconds
        self._seconds = seconds
        self._due = -math.inf
        """When the next one would be due if all came at the steady rate."""

    def wait(self, now: float) -> float:
        return max(0, self._due - self._slack - now)

    def take(self, now: float) -> None:
        self._due = max(self._due, now) + self._seconds


class Pacer:
    """Counts what is written, and says how long to wait when it is too much."""

    def __init__(self, pace: TelegramPace | None) -> None:
        self._pace = pace
        self._overall = _Window(pace.overall_messages if pace else 0, 1.0)
        self._chats: dict[tuple[int, bool], list[_Window | _Bucket]] = {}

    def retry_after(self, chat: int, *, light: bool = False, count: int = 1) -> int:
        """0 if it may be written, and is counted; otherwise the whole seconds to wait, and it is not counted."""
        if self._pace is None:
            return 0
        now = self._pace.clock() * self._pace.scale
        limits = [self._overall, *self._limits(self._pace, chat, light)]
        wait = max(limit.wait(now) for limit in limits)
        if wait > 0:
            return max(1, math.ceil(wait / self._pace.scale))
        for limit in limits:
            for _ in range(count):
                limit.take(now)
        return 0

    def _limits(self, pace: TelegramPace, chat: int, light: bool) -> list[_Window | _Bucket]:
        if (chat, light) not in self._chats:
            self._chats[chat, light] = _limits_of(pace, chat, light)
        return self._chats[chat, light]


def _limits_of(pace: TelegramPace, chat: int, light: bool) -> list[_Window | _Bucket]:
    if light:
        return [_Window(pace.light_messages, 1.0)]
    steady: list[_Window | _Bucket] = [_Bucket(pace.chat_burst, pace.chat_seconds)]
    return steady if chat > 0 else [*steady, _Window(pace.group_messages, 60.0)]

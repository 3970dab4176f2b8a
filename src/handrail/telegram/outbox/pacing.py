"""How fast the bot may write, and what goes first when not everything may go at once. No clock, no I/O.

Telegram publishes no exact limits: about one message a second in a chat (short bursts pass), 20 a minute in a group, 30
a second in all; edits count like messages. What is used here stays below. Of each limit a part is kept for what needs a
person, so that no amount of progress makes an ask wait; and what has waited long gets its turn among the asks, too.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable
from enum import IntEnum

import msgspec

from handrail.telegram.model import Place, Priority

__all__ = ["Choice", "Pace", "Pacing", "Rank", "Waiting"]


class Rank(IntEnum):
    """What goes first. The first four are those of `Priority`."""

    ASK = Priority.ASK
    REPLY = Priority.REPLY
    ANSWER = Priority.ANSWER
    PROGRESS = Priority.PROGRESS
    LIGHT = 4
    """What is gone in a few seconds anyway: a draft, or that the bot types."""


class Pace(msgspec.Struct, frozen=True, kw_only=True):
    """The limits that are kept. Times are in seconds."""

    chat_seconds: float = 1.05
    """Between messages in one chat, in the long run."""
    chat_burst: int = 3
    """So many at once if the chat was quiet; the last of them only for asks."""
    group_messages: int = 18
    """In a group, within `group_seconds`."""
    group_seconds: float = 61.0
    overall_messages: int = 25
    """In all chats, within `overall_seconds`."""
    overall_seconds: float = 1.0
    light_seconds: float = 1.0
    """Between drafts in one chat, and between signs that the bot types."""
    edit_seconds: float = 2.0
    """Between changes of one message that shows progress, in a private chat."""
    group_edit_seconds: float = 5.0
    slow_seconds: float = 600.0
    """How long a chat is written to more slowly after Telegram wanted silence there."""
    retry_seconds: float = 0.5
    """Before something that did not work is tried again, at first; then longer and longer."""
    longest_retry_seconds: float = 60.0
    patience: float = 30.0
    """What waits longer goes before what came later, whatever it is; only asks still overtake it, some at a time."""

    def faster(self, times: float) -> Pace:
        """The same limits on a clock that runs so many times as fast."""
        return msgspec.structs.replace(self, **{name: getattr(self, name) / times for name in _TIMES})


_TIMES = [name for name in Pace.__struct_fields__ if name.endswith("seconds") or name == "patience"]


class Waiting(msgspec.Struct, frozen=True, kw_only=True):
    """Something that is to be written."""

    key: str
    place: Place
    rank: Rank
    number: int
    """The order in which things came."""
    waited: float = 0.0
    is_edit: bool = False


class Choice(msgspec.Struct, frozen=True):
    """What goes now; if nothing does, when to ask again (infinity: when something new waits)."""

    next: Waiting | None
    at: float


_SHARES = {Rank.ASK: 1.0, Rank.REPLY: 0.85, Rank.ANSWER: 0.8, Rank.PROGRESS: 0.6, Rank.LIGHT: 0.4}
"""How much of what may be written within a span of time each rank may fill up."""
_KEPT_OF_BURST = {Rank.ASK: 0, Rank.REPLY: 1, Rank.ANSWER: 1, Rank.PROGRESS: 2, Rank.LIGHT: 2}
"""How many of a burst each rank leaves to those before it."""
_ASKS_IN_A_ROW = 4
"""After so many asks in a chat, what has waited long goes before the next."""
_BEFORE_ALL = -1
_AT_ONCE = 2
"""Within so many times the span of the limit for all chats, flood waits of two chats are taken for one of all."""
_LONGEST_FOR_ALL = 5
"""After so many times that span another chat is tried: each of the two may only have had too much of its own."""
_SLOWEST = 8


class Pacing:
    """Remembers what was written where, and says what may be written next. Times are those of any one steady clock."""

    def __init__(self, pace: Pace) -> None:
        self._pace = pace
        self._overall = _Window(pace.overall_messages, pace.overall_seconds)
        self._chats: dict[int, _ChatPace] = {}
        self._edited: dict[str, float] = {}
        self._paused_until = -math.inf

    def choose(self, waiting: Iterable[Waiting], now: float) -> Choice:
        """The first of those that may go now."""
        best: tuple[int, int] | None = None
        chosen, soonest = None, math.inf
        for one in waiting:
            rank = self._rank(one)
            at = self._ready_at(one, max(rank, Rank.ASK), now)
            if at > now:
                soonest = min(soonest, at)
            elif best is None or (rank, one.number) < best:
                best, chosen = (rank, one.number), one
        return Choice(chosen, now if chosen else soonest)

    def took(self, one: Waiting, now: float) -> None:
        """Something is being written."""
        self._overall.take(now)
        self._chat(one.place.chat).take(one.rank, now)
        if one.rank is Rank.PROGRESS:
            self._remember_edit(one.key, now)

    def flooded(self, chat: int, seconds: float, now: float, *, light: bool = False) -> None:
        """Telegram said that it was too much in a chat. If it just said so of another, too, it means all of them."""
        others = [other for number, other in self._chats.items() if number != chat]
        if not light and any(now - other.flooded_at < _AT_ONCE * self._pace.overall_seconds for other in others):
            self.pause(now + min(seconds, _LONGEST_FOR_ALL * self._pace.overall_seconds))
        self._chat(chat).flooded(seconds, now, light=light)

    def pause(self, until: float) -> None:
        """Nothing goes anywhere before."""
        self._paused_until = max(self._paused_until, until)

    # ------------------------------------------------------------ inside

    def _rank(self, one: Waiting) -> int:
        """Where it stands in the line: with time, before what is as urgent as a reply and came later."""
        if one.rank in (Rank.ASK, Rank.LIGHT) or one.waited < self._pace.patience:
            return one.rank
        return _BEFORE_ALL if self._chat(one.place.chat).asks_in_a_row >= _ASKS_IN_A_ROW else Rank.REPLY

    def _ready_at(self, one: Waiting, rank: int, now: float) -> float:
        limits = (
            self._paused_until,
            self._overall.free_at(_SHARES[Rank(rank)]),
            self._chat(one.place.chat).free_at(Rank(rank)),
            self._edit_at(one),
        )
        return max(now, *limits)

    def _edit_at(self, one: Waiting) -> float:
        if one.rank is not Rank.PROGRESS or not one.is_edit or one.key not in self._edited:
            return -math.inf
        between = self._pace.edit_seconds if one.place.is_private else self._pace.group_edit_seconds
        return self._edited[one.key] + between

    def _remember_edit(self, key: str, now: float) -> None:
        self._edited.pop(key, None)
        self._edited[key] = now  # the dictionary is in the order of these times
        longest = max(self._pace.edit_seconds, self._pace.group_edit_seconds)
        while self._edited and now - (oldest := next(iter(self._edited.items())))[1] > longest:
            del self._edited[oldest[0]]

    def _chat(self, chat: int) -> _ChatPace:
        if chat not in self._chats:
            self._chats[chat] = _ChatPace(self._pace, is_group=chat < 0)
        return self._chats[chat]


class _ChatPace:
    """The limits of one chat."""

    def __init__(self, pace: Pace, *, is_group: bool) -> None:
        self._steady = _Bucket(pace.chat_burst, pace.chat_seconds)
        self._minute = _Window(pace.group_messages, pace.group_seconds) if is_group else None
        self._light = _Bucket(1, pace.light_seconds)
        self._slow_seconds = pace.slow_seconds
        self._rests_until = -math.inf
        self._light_rests_until = -math.inf
        self.flooded_at = -math.inf
        self.asks_in_a_row = 0

    def free_at(self, rank: Rank) -> float:
        if rank is Rank.LIGHT:
            return max(self._light.free_at(0), self._light_rests_until, self._rests_until)
        minute = self._minute.free_at(_SHARES[rank]) if self._minute else -math.inf
        return max(self._steady.free_at(_KEPT_OF_BURST[rank]), minute, self._rests_until)

    def take(self, rank: Rank, now: float) -> None:
        if rank is Rank.LIGHT:
            self._light.take(now)
            return
        if now - self.flooded_at > self._slow_seconds:
            self._steady.slowness = 1
        self._steady.take(now)
        if self._minute:
            self._minute.take(now)
        self.asks_in_a_row = self.asks_in_a_row + 1 if rank is Rank.ASK else 0

    def flooded(self, seconds: float, now: float, *, light: bool) -> None:
        """It rests, and goes on more slowly: here Telegram is stricter than it says."""
        if light:
            self._light_rests_until = max(self._light_rests_until, now + seconds)
            return
        self._rests_until = max(self._rests_until, now + seconds)
        self.flooded_at = now
        self._steady.slowness = min(_SLOWEST, 2 * self._steady.slowness)


class _Window:
    """At most so many within any span of so many seconds."""

    def __init__(self, most: int, seconds: float) -> None:
        self._seconds = seconds
        self._times: deque[float] = deque(maxlen=most)
        self._most = most

    def free_at(self, share: float) -> float:
        """When fewer than this share of them are within the span."""
        most = max(1, math.floor(self._most * share))
        return self._times[-most] + self._seconds if len(self._times) >= most else -math.inf

    def take(self, now: float) -> None:
        self._times.append(now)


class _Bucket:
    """A steady rate, and a burst after a rest."""

    def __init__(self, burst: int, seconds: float) -> None:
        self._burst = burst
        self._seconds = seconds
        self.slowness = 1
        """How many times as long as usual it takes."""
        self._due = -math.inf
        """When the next one would be due if all came at the steady rate."""

    def free_at(self, kept: int) -> float:
        """When there is one more of the burst than `kept`."""
        return self._due - max(0, self._burst - 1 - kept) * self._seconds

    def take(self, now: float) -> None:
        self._due = max(self._due, now) + self._seconds * self.slowness

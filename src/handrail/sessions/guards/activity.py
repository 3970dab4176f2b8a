"""Tells whether a session works, waits, idles or has stalled, from its events and the time alone.

A session has stalled when a sign of life is due and none comes. None is due while a person is asked, while only
background tasks run, before an announced retry, or while a rate limit holds; a tool (a hook, a compaction) may be
silent for much longer than the model. After the machine was suspended, counting starts afresh.

    watch = StallWatch(ActivityWatch(StallLimits(silence=600)), on_stall=on_stall)
    watch.see(event)      # each event and delta of the session, as the engine makes it
    watch.close()         # when its CLI is gone

    def on_stall(stall: Stalled) -> None:      # once for each stall
        journal.add(stall.warning())
        if limits.on_stall == "interrupt":
            start(client.interrupt())

`ActivityWatch` alone is pure: it is told the time, and sets no timers.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from typing import Protocol, TypeAlias
from uuid import uuid4

import msgspec

from handrail.events.model import (
    Action,
    ApiRetry,
    AskClosed,
    AskOpened,
    Compacting,
    Completed,
    Delta,
    Event,
    Hook,
    ProcessExited,
    Prompt,
    RateLimit,
    Started,
    Task,
    Text,
    Thinking,
    Titled,
)

__all__ = [
    "ActivityWatch",
    "Idle",
    "Quiet",
    "StallLimits",
    "StallWatch",
    "Stalled",
    "SuspendDetector",
    "Verdict",
    "duration",
]

logger = logging.getLogger("handrail.guards")

REMARKS = frozenset({"note", "warning", "telemetry"})
"""Kinds of actions that are said, not done: they do not run."""
STALL_ID = "stall-"
REJECTED = "rejected"
"""The status of a rate limit that is reached."""


class StallLimits(msgspec.Struct, frozen=True, kw_only=True):
    """How long nothing may be heard, in seconds. None: for ever."""

    silence: float | None = 900.0
    """While the model should be at work."""
    tool: float | None = 3600.0
    """While a tool, a hook or a compaction runs."""
    idle: float | None = None
    """While nothing is going on: then it is idle."""


class Quiet(msgspec.Struct, frozen=True):
    """Nothing is wrong. `why` says what goes on."""

    why: str


class Idle(msgspec.Struct, frozen=True):
    """Nothing has gone on for so long that the session may be put aside."""

    seconds: float


class Stalled(msgspec.Struct, frozen=True):
    """Something should have been heard."""

    seconds: float
    """For how long nothing was."""
    running: str
    """What ran last, in words."""
    is_tool: bool = False

    @property
    def words(self) -> str:
        """For people."""
        return f"nothing was heard for {duration(self.seconds)}, while {self.running}"

    def warning(self) -> Action:
        """What the journal says of it."""
        detail = {"seconds": round(self.seconds, 1), "running": self.running}
        return Action(id=f"{STALL_ID}{uuid4()}", kind="warning", title=self.words, phase="completed", detail=detail)


Verdict: TypeAlias = Quiet | Idle | Stalled


class ActivityWatch:
    """What goes on in a session, and since when nothing was heard. Times are of any clock that never goes back."""

    def __init__(self, limits: StallLimits | None = None, *, now: float = 0.0) -> None:
        self.limits = limits or StallLimits()
        self._heard = now
        self._excused_until = now
        """Until when silence was announced: a retry, a rate limit."""
        self._run_open = False
        self._message_sent = False
        self._asks: set[str] = set()
        self._tools: dict[str, str] = {}
        self._tasks: dict[str, str] = {}
        self._ends_with_run: set[str] = set()
        self._compacting = False

    def see(self, event: Event | Delta, now: float) -> bool:
        """Something happened. Says whether it is a sign of life: whatever Handrail did not do by itself is."""
        if _is_our_own(event):
            return False
        self._heard = max(self._heard, now)
        self._follow(event, now)
        return True

    def resumed(self, now: float) -> None:
        """The machine, or this process, was suspended: nothing could be heard, and connections have to recover."""
        self._heard = max(self._heard, now)

    def verdict(self, now: float) -> Verdict:
        """How things stand."""
        due = self._due()
        if due is None or now < due:
            return Quiet(self._doing())
        silent = now - self._heard
        return Stalled(silent, self._doing(), bool(self._tools)) if self._is_busy else Idle(silent)

    def next_check(self, now: float) -> float | None:
        """When the verdict can be another one without any event: None for never, `now` if it is already."""
        due = self._due()
        return None if due is None else max(now, due)

    def _follow(self, event: Event | Delta, now: float) -> None:
        match event:
            case Started():
                self._run_open, self._message_sent = True, False
            case Completed():
                self._end_run()
            case Prompt(state=state):
                self._message_sent = state == "sent" or (self._message_sent and state == "queued")
            case AskOpened(ask_id=ask_id):
                self._asks.add(ask_id)
            case AskClosed(ask_id=ask_id):
                self._asks.discard(ask_id)
            case Action(kind=kind) if kind not in REMARKS:
                _note(self._tools, event.id, event.title, ends=event.phase == "completed")
            case Hook():
                _note(self._tools, f"hook {event.id}", f"the hook {event.name}", ends=event.phase == "completed")
            case Task():
                _note(self._tasks, event.id, event.title, ends=event.phase == "completed")
                if event.background is False:
                    self._ends_with_run.add(event.id)
            case Compacting(phase=phase):
                self._compacting = phase == "started"
            case ApiRetry(delay_ms=delay):
                self._excused_until = max(self._excused_until, now + delay / 1000)
            case RateLimit(status=status, resets_at=resets_at) if status == REJECTED and resets_at is not None:
                self._excused_until = max(self._excused_until, now + resets_at - event.at)
            case RateLimit() | Text() | Thinking() | Delta():
                self._excused_until = now
            case ProcessExited():
                self._end_run()
                self._asks.clear()
                self._tasks.clear()

    @property
    def _is_busy(self) -> bool:
        return self._run_open or self._message_sent

    def _due(self) -> float | None:
        """When a sign of life is due."""
        if self._asks:
            return None
        if self._is_busy:
            patience = self.limits.tool if self._tools or self._compacting else self.limits.silence
        else:
            patience = None if self._tasks else self.limits.idle
        return None if patience is None else max(self._heard, self._excused_until) + patience

    def _doing(self) -> str:
        if self._asks:
            return "a person is asked"
        if self._tools:
            return f"{list(self._tools.values())[-1]} was running"
        if self._compacting:
            return "the conversation was being compacted"
        if self._run_open:
            return "the model was at work"
        if self._message_sent:
            return "a message waited to be taken up"
        if self._tasks:
            return f"{list(self._tasks.values())[-1]} was running in the background"
        return "nothing was going on"

    def _end_run(self) -> None:
        self._run_open = self._message_sent = self._compacting = False
        self._excused_until = self._heard
        self._tools.clear()
        for task in self._ends_with_run:
            self._tasks.pop(task, None)
        self._ends_with_run.clear()


class SuspendDetector:
    """Notices that the machine or this process did not run for a while, by two clocks.

    While a machine sleeps its clock on the wall goes on, the monotonic one does not, or both do and a timer is late.
    """

    def __init__(self, monotonic: float, wall: float, *, slack: float = 30.0) -> None:
        self._monotonic = monotonic
        self._wall = wall
        self._slack = slack

    def suspended(self, monotonic: float, wall: float, *, expected: float) -> bool:
        """Whether there was a gap since the last call; the monotonic clock was expected to stand at `expected`."""
        unseen = (wall - self._wall) - (monotonic - self._monotonic)
        self._monotonic, self._wall = monotonic, wall
        return unseen > self._slack or monotonic - expected > self._slack


class Timer(Protocol):
    """What `call_later` gives."""

    def cancel(self) -> None: ...


CallLater: TypeAlias = Callable[[float, Callable[[], None]], Timer]


class StallWatch:
    """Feeds an `ActivityWatch`, and calls back when the verdict changes. One timer, set only for when it can.

    The callbacks are called on the event loop, `on_stall` once for each stall, `on_idle` once each time it idles.
    """

    def __init__(
        self,
        activity: ActivityWatch,
        *,
        on_stall: Callable[[Stalled], None],
        on_idle: Callable[[Idle], None] = lambda idle: None,
        clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
        call_later: CallLater | None = None,
    ) -> None:
        self._activity = activity
        self._on_stall = on_stall
        self._on_idle = on_idle
        self._clock = clock
        self._wall = wall
        self._call_later = call_later or asyncio.get_running_loop().call_later
        self._suspension = SuspendDetector(clock(), wall())
        self._timer: Timer | None = None
        self._rings_at = 0.0
        self._told = False
        self._closed = False
        activity.resumed(clock())
        self._set_timer(clock())

    def see(self, event: Event | Delta) -> None:
        """Something happened in the session."""
        now = self._clock()
        if self._activity.see(event, now):
            self._told = False
            self._set_timer(now)

    def count_afresh(self) -> None:
        """Silence counts from now on."""
        now = self._clock()
        self._activity.resumed(now)
        self._told = False
        self._set_timer(now)

    def close(self) -> None:
        """Watch no more. Idempotent."""
        self._closed = True
        self._cancel()

    def _set_timer(self, now: float) -> None:
        """A timer that rings too early looks again; so it is touched only where it would ring too late."""
        due = self._activity.next_check(now)
        if due is None or self._told or self._closed:
            return
        if self._timer is not None:
            if self._rings_at <= due:
                return
            self._cancel()
        self._rings_at = due
        self._timer = self._call_later(due - now, self._look)

    def _look(self) -> None:
        self._timer = None
        now, expected = self._clock(), self._rings_at
        if self._suspension.suspended(now, self._wall(), expected=expected):
            self._activity.resumed(now)
        self._tell(self._activity.verdict(now))
        self._set_timer(now)

    def _tell(self, verdict: Verdict) -> None:
        try:
            match verdict:
                case Stalled():
                    self._told = True
                    self._on_stall(verdict)
                case Idle():
                    self._told = True
                    self._on_idle(verdict)
        except Exception:  # whoever is called must not end the watch
            logger.exception("what should follow a stall failed")

    def _cancel(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def _is_our_own(event: Event | Delta) -> bool:
    """Whether Handrail or a person caused an event, so that it says nothing about the CLI."""
    return isinstance(event, Titled) or (isinstance(event, Action) and event.id.startswith(STALL_ID))


def _note(running: dict[str, str], id: str, title: str, *, ends: bool) -> None:
    if ends:
        running.pop(id, None)
    else:
        running[id] = title or running.get(id) or "something"


def duration(seconds: float) -> str:
    """A length of time in words."""
    if seconds < 120:
        return f"{seconds:.0f} seconds"
    return f"{seconds / 60:.0f} minutes" if seconds < 7200 else f"{seconds / 3600:.1f} hours"

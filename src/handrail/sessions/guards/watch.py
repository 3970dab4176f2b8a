"""The guards of one session, as its engine uses them: a seat, purses, and a watch for stalls."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AsyncExitStack
from typing import Literal

import msgspec

from handrail.events.model import Delta, Event
from handrail.sessions.budget import Purse, SessionPurse
from handrail.sessions.guards.activity import ActivityWatch, Idle, Stalled, StallLimits, StallWatch
from handrail.sessions.guards.admission import Admission, OnWait
from handrail.sessions.guards.restarts import RestartLimit
from handrail.sessions.guards.spending import DayPurse

__all__ = ["Limits", "SessionGuards"]


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """How much is too much, for the sessions of one manager. US dollars; None: without limit."""

    session_budget: float | None = None
    daily_budget: float | None = None
    concurrent_sessions: int | None = None
    restarts: RestartLimit = RestartLimit()
    stall: StallLimits = StallLimits()
    on_stall: Literal["notify", "interrupt", "stop"] = "notify"


class SessionGuards:
    """Made for each session that is to live; closed when its CLI is gone."""

    def __init__(self, limits: Limits, *, admission: Admission, day: DayPurse | None) -> None:
        self.limits = limits
        self._admission = admission
        self._day = day
        self._seat = AsyncExitStack()
        self._watch: StallWatch | None = None

    async def admit(self, on_wait: OnWait) -> None:
        """Wait for a seat."""
        await self._seat.enter_async_context(self._admission.seat(on_wait=on_wait))

    def purses(self, budget: float | None, *, spent: float, on_raise: Callable[[float], None]) -> tuple[Purse, ...]:
        """What the session may spend from: its own budget, and the day's."""
        limit = budget if budget is not None else self.limits.session_budget
        own = () if limit is None else (SessionPurse(limit, spent=spent, on_raise=on_raise),)
        return (*own, *(() if self._day is None else (self._day,)))

    def watch(self, on_stall: Callable[[Stalled], None], on_idle: Callable[[Idle], None]) -> None:
        """Begin to watch for stalls, and for sessions that nobody uses."""
        self._watch = StallWatch(ActivityWatch(self.limits.stall), on_stall=on_stall, on_idle=on_idle)

    def see(self, item: Event | Delta) -> None:
        """Something happened: what the CLI did, what it was asked and told, and what was said to it."""
        if self._watch is not None:
            self._watch.see(item)

    def count_afresh(self) -> None:
        """Nothing that was not heard before now counts: the CLI has only just come up."""
        if self._watch is not None:
            self._watch.count_afresh()

    async def close(self) -> None:
        """The CLI is gone: its seat is free. Idempotent."""
        if self._watch is not None:
            self._watch.close()
        await self._seat.aclose()

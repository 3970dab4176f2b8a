"""The budget for a day: what all sessions of this store may cost together, from midnight to midnight, local time.

When it is spent, every session holds its messages and asks, each for itself; the first yes raises the limit for all of
them, in every process, for the rest of the day, and withdraws the other asks. When the day ends, so do they. What was
spent is read from the store before each message and after each run; a process that notices the end wakes the others.

    async def read_spent(since: float) -> float:
        return await store.spent(since=since)

    async with DayPurse(20.0, read_spent=read_spent, directory=os.path.join(places.state, "today")) as today:
        own = SessionPurse(5.0, spent=row.cost_usd, on_raise=keep_in_settings)
        async with connect(options, budget=[own, today]): ...

The directory holds the limit that a person set for a day, and the pipes through which processes wake each other.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Awaitable, Callable, Coroutine
from datetime import date, datetime, timedelta
from datetime import time as time_of_day
from types import TracebackType
from typing import Any, Self
from uuid import uuid4

import msgspec

from handrail.errors import StoreError
from handrail.sessions.budget import checked_amount
from handrail.sessions.guards.bell import Bell

__all__ = ["DayPurse", "RaisedLimit", "midnight_before"]

logger = logging.getLogger("handrail.guards")

LOOKS_AGAIN_AFTER = 600.0
"""The longest sleep until midnight: while the machine is suspended, sleeping does not count."""


class RaisedLimit(msgspec.Struct, frozen=True):
    """What a person allowed for one day, as it is kept in a file."""

    day: str
    limit_usd: float


class DayPurse:
    """What may be spent on one day by all sessions. A `Purse`; opened and closed with `async with`.

    `read_spent` gives what was spent since a time (seconds since the epoch).
    """

    period = "today"

    def __init__(
        self,
        limit: float,
        *,
        read_spent: Callable[[float], Awaitable[float]],
        directory: str | os.PathLike[str],
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.step = checked_amount(limit)
        self._read_spent = read_spent
        self._file = os.path.join(directory, "limit.json")
        self._clock = clock
        self._bell = Bell(directory, lambda: self._start(self.look()))
        self._day = _day_of(clock())
        self._limit = limit
        self._raised: RaisedLimit | None = None
        self._spent = 0.0
        self._was_spent = False
        self._watchers: list[Callable[[], None]] = []
        self._work: set[asyncio.Task[None]] = set()
        self._midnight: asyncio.TimerHandle | None = None

    async def __aenter__(self) -> Self:
        self._bell.listen()
        await self.look()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bell.close()
        self._stop_waiting_for_midnight()
        for task in self._work:
            task.cancel()
        await asyncio.gather(*self._work, return_exceptions=True)

    @property
    def limit(self) -> float:
        return self._limit

    @property
    def spent(self) -> float:
        return self._spent

    def spend(self, usd: float) -> None:
        """A result showed this cost. It is counted at once: it may reach the store only later."""
        self._turn_page()
        self._spent += usd
        self._changed()
        self._start(self.look())

    async def look(self) -> None:
        """Find out what others have spent, and which limit a person has set."""
        self._turn_page()
        day = self._day
        try:
            spent = await self._read_spent(midnight_before(self._clock()))
        except StoreError as error:
            logger.warning("what was spent today cannot be read, and counts as before: %s", error)
            spent = 0.0
        if day == self._day:
            # Both can lag behind: the store by what is on its way into it, we by what others spent.
            self._spent = max(self._spent, spent)
        self._limit = self._limit_set()
        self._changed()

    def raise_to(self, limit: float) -> None:
        """A person allowed more, for the rest of this day."""
        self._turn_page()
        self._limit = limit
        self._raised = RaisedLimit(self._day, limit)
        try:
            _keep(self._raised, self._file)
        except OSError as error:
            logger.warning("the new limit for today holds in this process only: %s", error)
        self._changed()
        self._bell.ring()

    def watch(self, on_change: Callable[[], None]) -> Callable[[], None]:
        self._watchers.append(on_change)
        return lambda: self._watchers.remove(on_change)

    def _limit_set(self) -> float:
        """The limit of today: what a person allowed, here or elsewhere, unless the settings allow more."""
        raised = [limit.limit_usd for limit in (self._raised, _kept(self._file)) if limit and limit.day == self._day]
        return max([self.step, *raised])

    def _turn_page(self) -> None:
        today = _day_of(self._clock())
        if today != self._day:
            self._day = today
            self._spent = 0.0
            self._limit = self.step

    def _changed(self) -> None:
        is_spent = self._spent >= self._limit
        if is_spent and not self._was_spent:
            self._bell.ring()  # what runs elsewhere spends from the same purse
        self._was_spent = is_spent
        if is_spent:
            self._wait_for_midnight()
        else:
            self._stop_waiting_for_midnight()
        for watcher in tuple(self._watchers):
            watcher()

    def _wait_for_midnight(self) -> None:
        if self._midnight is None:
            now = self._clock()
            left = max(1.0, midnight_after(now) - now)
            self._midnight = asyncio.get_running_loop().call_later(min(left, LOOKS_AGAIN_AFTER), self._is_it_midnight)

    def _is_it_midnight(self) -> None:
        self._midnight = None
        self._turn_page()
        self._changed()

    def _stop_waiting_for_midnight(self) -> None:
        if self._midnight is not None:
            self._midnight.cancel()
            self._midnight = None

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._work.add(task)
        task.add_done_callback(self._work.discard)


def midnight_before(now: float) -> float:
    """When the local day of `now` began."""
    return _midnight_of(datetime.fromtimestamp(now).date())


def midnight_after(now: float) -> float:
    """When the next local day begins."""
    return _midnight_of(datetime.fromtimestamp(now).date() + timedelta(days=1))


def _midnight_of(day: date) -> float:
    return datetime.combine(day, time_of_day.min).timestamp()


def _day_of(now: float) -> str:
    return datetime.fromtimestamp(now).date().isoformat()


def _keep(raised: RaisedLimit, path: str) -> None:
    draft = f"{path}.{uuid4().hex}"
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(msgspec.json.encode(raised))
    os.replace(draft, path)


def _kept(path: str) -> RaisedLimit | None:
    try:
        with open(path, "rb") as file:
            return msgspec.json.decode(file.read(), type=RaisedLimit)
    except FileNotFoundError:
        return None
    except (OSError, msgspec.DecodeError) as error:
        logger.warning("%s cannot be read, so nobody has raised today's limit: %s", path, error)
        return None

"""How many sessions may run at once on this machine, and the queue before that: first come, first served.

    admission = Admission(4, directory=os.path.join(places.runtime, "seats"))
    async with admission.seat(on_wait=lambda ahead: set_status("queued", ahead)):
        ...   # the CLI is started, runs and ends: the seat is kept for as long as that

A seat is a mark that the kernel takes back from a process that dies (`presence.py`), and so is each place in the queue.
Whoever waits is woken when a seat is given up or somebody ahead leaves, in whatever process and for whatever reason.
"""

from __future__ import annotations

import os
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from uuid import uuid4

from handrail.errors import ConfigError, SessionError
from handrail.sessions.guards import presence
from handrail.sessions.guards.presence import Mark
from handrail.sessions.owning.private_files import private_directory

__all__ = ["Admission", "OnWait"]

OnWait = Callable[[int], None]
"""Hears how many are to be seated before, at first and whenever that has changed: 0 is next."""


class Admission:
    """Seats for sessions, shared by all processes that use the same directory. Without a limit everybody is let in."""

    def __init__(self, limit: int | None, *, directory: str | os.PathLike[str]) -> None:
        if limit is not None and limit < 1:
            raise ConfigError(f"at least one session must be able to run: the limit cannot be {limit}")
        self.limit = limit
        self._directory = os.fspath(directory)
        self._queue = os.path.join(self._directory, "queue")
        self._seats = [os.path.join(self._directory, str(number)) for number in range(limit or 0)]

    @asynccontextmanager
    async def seat(self, *, on_wait: OnWait = lambda ahead: None) -> AsyncIterator[None]:
        """Wait for a seat, and keep it inside the block. Whoever is cancelled leaves the queue."""
        if self.limit is None:
            yield
            return
        with self._explained():
            private_directory(self._directory)
            private_directory(self._queue)
            for path in self._seats:
                presence.prepare_mark(path)
            ticket = presence.create_mark(self._next_ticket())
        try:
            with self._explained():
                seat = await self._wait(ticket, on_wait)
        finally:
            ticket.release(remove=True)
        try:
            yield
        finally:
            seat.release()

    async def _wait(self, ticket: Mark, on_wait: OnWait) -> Mark:
        told: int | None = None
        while True:
            ahead = self._ahead_of(ticket)
            # Only the first in the queue looks at the seats, so nobody is overtaken.
            with presence.watching(ahead or self._seats) as pipes:
                if _forget_dead(ahead):
                    continue
                seat = None if ahead else self._free_seat()
                if seat is not None:
                    return seat
                if told != len(ahead):
                    told = len(ahead)
                    on_wait(told)
                await presence.wait_for_any(pipes)

    def _free_seat(self) -> Mark | None:
        for path in self._seats:
            seat = presence.take_mark(path)
            if seat is not None:
                return seat
        return None

    def _next_ticket(self) -> str:
        # All processes of a machine share this clock, so the names of tickets are in the order of their arrival.
        return os.path.join(self._queue, f"{time.monotonic_ns():020d}-{uuid4().hex}")

    def _ahead_of(self, ticket: Mark) -> list[str]:
        names = (name.removesuffix(presence.LOCK) for name in os.listdir(self._queue) if name.endswith(presence.LOCK))
        return sorted(path for name in names if (path := os.path.join(self._queue, name)) < ticket.path)

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise SessionError(
                f"sessions cannot queue in {self._directory}: {error.strerror or error}; "
                "set HANDRAIL_RUNTIME_DIR to a directory of yours on a local disk"
            ) from error


def _forget_dead(tickets: Sequence[str]) -> bool:
    """Remove what holders left behind who are gone; says whether there was any."""
    dead = [ticket for ticket in tickets if not presence.is_held(ticket)]
    for ticket in dead:
        presence.forget(ticket)
    return bool(dead)

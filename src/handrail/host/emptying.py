"""Ends what does nothing on a host that is drained, so that it becomes empty: a message resumes it later."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from types import TracebackType
from typing import Final, Self

from handrail.errors import HandrailError
from handrail.sessions.manager import Manager
from handrail.store.base import SessionFilter, SessionRow

__all__ = ["Emptying"]

logger = logging.getLogger("handrail.host")

RESTING: Final = ("idle", "failed")
RESTS_FOR: Final = 10.0
"""How long a session must have done nothing: between two turns it may look so for a moment."""
LOOK_EVERY: Final = 2.0


class Emptying:
    """Looks after the sessions of a host from time to time while `is_wanted` says so. Used with `async with`."""

    def __init__(
        self,
        manager: Manager,
        is_wanted: Callable[[], bool],
        *,
        rests_for: float = RESTS_FOR,
        look_every: float = LOOK_EVERY,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._manager = manager
        self._is_wanted = is_wanted
        self._rests_for = rests_for
        self._look_every = look_every
        self._clock = clock
        self._wanted = asyncio.Event()
        self._work: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._work = asyncio.get_running_loop().create_task(self._run())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._work is not None:
            self._work.cancel()
            await asyncio.wait([self._work])

    def changed(self) -> None:
        """Whether it is wanted may be other now."""
        if self._is_wanted():
            self._wanted.set()
        else:
            self._wanted.clear()

    async def _run(self) -> None:
        while True:
            await self._wanted.wait()
            try:
                await self._end_what_rests()
            except HandrailError as error:  # a store that cannot be read now: the next look may see more
                logger.warning("the sessions of this host cannot be looked at now: %s", error)
            await asyncio.sleep(self._look_every)

    async def _end_what_rests(self) -> None:
        resting = SessionFilter(archived=None, host="", status=RESTING)
        for row in await self._manager.list(resting, limit=10_000):
            if self._is_wanted() and row.owner is not None and self._rests(row):
                await self._end(row)

    def _rests(self, row: SessionRow) -> bool:
        return self._clock() - row.updated_at >= self._rests_for

    async def _end(self, row: SessionRow) -> None:
        logger.info("session %s does nothing, and the host is drained: it ends", row.id[:8])
        try:
            await self._manager.session(row.id).stop()
        except HandrailError as error:
            logger.warning("session %s could not be ended: %s", row.id[:8], error)

"""How many sessions may be live at once on this host: each has its seat before its Claude Code is started."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Final

from handrail.errors import SessionLimit
from handrail.sessions.manager import Manager
from handrail.store.base import SessionFilter

__all__ = ["Capacity", "live_sessions"]

ENDED: Final = ("stopped", "failed")
LIVE: Final = ("idle", "running", "needs_you", "queued", "waiting")


async def live_sessions(manager: Manager) -> int:
    """How many sessions have a Claude Code that runs."""
    counts = await manager.count(SessionFilter(archived=None, host=""))
    return sum(number for status, number in counts.items() if status not in ENDED)


class Capacity:
    """The seats of a host, of which there may be `most`, or as many as are wanted. `name` is what it is called now."""

    def __init__(self, manager: Manager, most: int | None, *, name: Callable[[], str]) -> None:
        self._manager = manager
        self._most = most
        self._name = name
        self._counting = asyncio.Lock()
        self._becoming_live: Counter[str] = Counter()
        """Sessions that are being started now, by how many."""
        self._seated: set[str] = set()
        """Sessions that were: their status is stored a moment after they have an owner."""

    @asynccontextmanager
    async def seat(self, session_id: str) -> AsyncGenerator[None, None]:
        """This session becomes live inside the block, beside others. Raises `SessionLimit` if there is no room."""
        if self._most is None:
            yield
            return
        async with self._counting:  # or two at once would both find the last seat
            await self._check_room(session_id, self._most)
            self._becoming_live[session_id] += 1
        try:
            yield
            self._seated.add(session_id)
        finally:
            self._becoming_live[session_id] -= 1
            self._becoming_live += Counter()  # without those that nobody starts any more

    @asynccontextmanager
    async def seat_of_another(self) -> AsyncGenerator[None, None]:
        """The same for a session whose id is not known yet: it could be counted twice, so nobody counts meanwhile."""
        if self._most is None:
            yield
            return
        async with self._counting:
            await self._check_room("", self._most)
            yield

    async def _check_room(self, session_id: str, most: int) -> None:
        taken = await self._live(most + 1) | await self._owned() | self._becoming_live.keys()
        if len(taken - {session_id}) >= most:
            raise SessionLimit(f"{self._name()} runs as many sessions as it may at once ({most}): stop one there first")

    async def _live(self, limit: int) -> set[str]:
        """Those that are live as far as is stored, whichever process runs them; of more than `limit`, so many."""
        rows = await self._manager.list(SessionFilter(archived=None, host="", status=LIVE), limit=limit)
        return {row.id for row in rows}

    async def _owned(self) -> set[str]:
        """Those of the seated sessions that have not ended."""
        for session_id in tuple(self._seated):
            row = await self._manager.store.get_session(session_id)
            if row is None or row.owner is None:
                self._seated.discard(session_id)
        return self._seated

"""Waiting for what a host has done to be in the copy here: who did it through the hub is to see it there."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable
from typing import TypeVar

__all__ = ["Arrivals"]

T = TypeVar("T")


class Arrivals:
    """Tells of each page of a session that was stored."""

    def __init__(self) -> None:
        self._waiting: defaultdict[str, set[asyncio.Event]] = defaultdict(set)

    def came(self, session_id: str) -> None:
        """Something of a session was stored, or it was removed."""
        for event in self._waiting.get(session_id, ()):
            event.set()

    async def until(self, session_id: str, look: Callable[[], Awaitable[T | None]], *, patience: float) -> T | None:
        """What `look` finds, as soon as it finds something; None if that takes too long."""
        event = asyncio.Event()
        self._waiting[session_id].add(event)
        try:
            async with asyncio.timeout(patience):
                while (found := await look()) is None:
                    await event.wait()
                    event.clear()
                return found
        except TimeoutError:
            return None
        finally:
            self._waiting[session_id].discard(event)
            if not self._waiting[session_id]:
                del self._waiting[session_id]

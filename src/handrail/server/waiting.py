"""Connections that have not said what they want: how many there may be, and for how long.

Whoever only connects needs no token for it. Each connection is an open file of the hub, and of those it has few: who
holds too many of them would keep everybody else out.
"""

from __future__ import annotations

import asyncio
import logging
import resource
from collections import OrderedDict
from typing import Final, Protocol

__all__ = ["PATIENCE", "WaitingRoom"]

logger = logging.getLogger("handrail.server")

SHARE: Final = 4
"""Of the files that the process may open, one in so many is for those who wait."""
MOST: Final = 4096
PATIENCE: Final = 20.0
SAY_AGAIN: Final = 60.0
"""How often it is said at most that somebody was sent away, in seconds."""


class Closing(Protocol):
    """A connection."""

    def send_away(self) -> None:
        """Close it."""


class WaitingRoom:
    """Those whose request has not come whole. Whoever waits for too long is sent away, the first if there are many."""

    def __init__(self, room: int | None = None, patience: float = PATIENCE) -> None:
        self._room = room if room is not None else _usual_room()
        self._patience = patience
        self._waiting: OrderedDict[Closing, float] = OrderedDict()
        self._timer: asyncio.TimerHandle | None = None
        self._sent_away = 0
        self._said_at = float("-inf")

    def __len__(self) -> int:
        return len(self._waiting)

    def enter(self, connection: Closing, *, again: bool = False) -> None:
        """Wait from now on; one that waits already keeps its place, unless it comes `again`."""
        if connection in self._waiting:
            if not again:
                return
            del self._waiting[connection]
        self._waiting[connection] = asyncio.get_running_loop().time()
        if len(self._waiting) > self._room:
            self._send_first_away()
        if self._timer is None:
            self._look_later(self._patience)

    def leave(self, connection: Closing) -> None:
        """It has said what it wants, or is gone."""
        self._waiting.pop(connection, None)

    def _look(self) -> None:
        self._timer = None
        now = asyncio.get_running_loop().time()
        while self._waiting:
            left = next(iter(self._waiting.values())) + self._patience - now
            if left > 0:
                self._look_later(left)
                return
            self._send_first_away()

    def _look_later(self, seconds: float) -> None:
        self._timer = asyncio.get_running_loop().call_later(seconds, self._look)

    def _send_first_away(self) -> None:
        connection, _ = self._waiting.popitem(last=False)
        connection.send_away()
        self._sent_away += 1
        now = asyncio.get_running_loop().time()
        if now - self._said_at > SAY_AGAIN:
            logger.warning("connections that ask for nothing are closed: %d more", self._sent_away)
            self._said_at, self._sent_away = now, 0


def _usual_room() -> int:
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return MOST if files == resource.RLIM_INFINITY else min(MOST, max(1, files // SHARE))

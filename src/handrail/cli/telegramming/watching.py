"""Waits until something is other than it was, by looking every now and then: that works on every disk."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from typing import Final, TypeAlias

__all__ = ["EVERY", "Stamp", "Watch", "stamp_of"]

EVERY: Final = 1.0

Stamp: TypeAlias = tuple[int, int, int] | None


def stamp_of(path: str) -> Stamp:
    """What is other once the file is; None if there is none."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


class Watch:
    """Something, as it was when it was looked at last."""

    def __init__(self, look: Callable[[], object], *, every: float = EVERY) -> None:
        self._look = look
        self._every = every
        self._seen = look()

    def seen(self) -> None:
        """Only what is other from now on is a change."""
        self._seen = self._look()

    async def changed(self, *, within: float | None = None) -> bool:
        """Wait until it is other than it was; False if it is not `within` so many seconds."""
        try:
            async with asyncio.timeout(within):
                while self._look() == self._seen:
                    await asyncio.sleep(self._every)
        except TimeoutError:
            return False
        return True

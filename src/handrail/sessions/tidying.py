"""Keeps the store to its retention without anybody's doing: once a day, by whichever process comes first."""

from __future__ import annotations

import asyncio
import fcntl
import logging
import os
import time
from collections.abc import Callable

from handrail.errors import StoreError
from handrail.store.base import Retention, Store

__all__ = ["Tidying"]

logger = logging.getLogger("handrail.session")

A_DAY = 24 * 3600.0
AFTER_A_WHILE = 5.0
"""A command that is over at once has something else to do."""


class Tidying:
    """`run` goes on until it is cancelled. `directory` remembers when the last tidying was, for all processes."""

    def __init__(
        self, store: Store, retention: Retention, *, directory: str, clock: Callable[[], float] = time.time
    ) -> None:
        self._store = store
        self._retention = retention
        self._path = os.path.join(directory, "tidied")
        self._clock = clock

    async def run(self) -> None:
        """Tidy up whenever a day has passed since anybody did."""
        await asyncio.sleep(AFTER_A_WHILE)
        while True:
            await self.tidy_if_due()
            await asyncio.sleep(A_DAY / 24)

    async def tidy_if_due(self) -> bool:
        """Tidy up, unless that was done within the last day, or somebody is at it; says whether it was done."""
        try:
            mark = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            logger.warning("old data is not removed by itself: %s cannot be written: %s", self._path, error.strerror)
            return False
        try:
            return await self._tidy(mark)
        finally:
            os.close(mark)

    async def _tidy(self, mark: int) -> bool:
        try:
            fcntl.flock(mark, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        status = os.fstat(mark)
        if status.st_size and self._clock() - status.st_mtime < A_DAY:
            return False
        try:
            pruned = await self._store.prune(self._retention, now=self._clock())
        except StoreError as error:
            logger.warning("old data could not be removed: %s", error)
            return False
        logger.debug("old data was removed: %s", pruned)
        os.pwrite(mark, b"tidied\n", 0)
        os.utime(mark, (self._clock(), self._clock()))
        return True

"""Which sessions of a store change, for those who look at them behind the writers: in batches, with a pause between."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

from handrail.store.base import Store

__all__ = ["EVERY_SESSION", "Stirred"]

EVERY_SESSION = 100_000
"""A limit that no list of sessions reaches."""


class Stirred:
    """Hands on the sessions in which something has happened: each once, however much it was.

    `changed` is awaited with one session after the other, and must not raise. `empty` is called at once, instead, with
    a session that has no events: one that was just made, or deleted.
    """

    def __init__(
        self,
        store: Store,
        *,
        changed: Callable[[str], Awaitable[None]],
        empty: Callable[[str], None] | None = None,
        pause: float,
    ) -> None:
        self._store = store
        self._changed = changed
        self._empty = empty
        self._pause = pause
        self._waiting: set[str] = set()
        self._woken = asyncio.Event()
        self._unwatch: Callable[[], None] | None = None
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Watch from now on."""
        self._unwatch = self._store.watch(self._hear)
        self._task = asyncio.get_running_loop().create_task(self._run())

    async def stop(self) -> None:
        """Watch no longer. What waits is left to `hand_on`."""
        if self._unwatch is not None:
            self._unwatch()
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    async def hand_on(self) -> None:
        """Hand on what waits."""
        waiting, self._waiting = self._waiting, set()
        for session_id in waiting:
            await self._changed(session_id)

    def _hear(self, session_id: str, last_seq: int) -> None:
        if last_seq == 0 and self._empty is not None:
            self._waiting.discard(session_id)
            self._empty(session_id)
            return
        self._waiting.add(session_id)
        self._woken.set()

    async def _run(self) -> None:
        while True:
            await self._woken.wait()
            self._woken.clear()
            await self.hand_on()
            await asyncio.sleep(self._pause)

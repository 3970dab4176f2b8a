"""Counts what is appended to journals, whichever process appends it: events, asks that are over, starts of the CLI.

Nothing waits for it. It reads behind the writers, a few seconds late, and each event once.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Final, Self

import msgspec

from handrail.errors import StoreError
from handrail.server.metrics import Metrics
from handrail.sessions.starts import RUNNING
from handrail.store.base import EventRow, SessionFilter, Store

__all__ = ["JournalWatch"]

logger = logging.getLogger("handrail.server")

PAUSE: Final = 2.0
PAGE: Final = 500
EVERY_SESSION: Final = 100_000


class _Closed(msgspec.Struct):
    """What counts of an `ask_closed` event."""

    outcome: str = ""
    surface: str = ""
    answer: dict[str, object] | None = None

    @property
    def words(self) -> str:
        """What was answered, or why nobody did."""
        return str((self.answer or {}).get("type") or self.outcome)


class JournalWatch:
    """Keeps `metrics` up to date with the journals of `store`. Used with `async with`."""

    def __init__(self, store: Store, metrics: Metrics, *, pause: float = PAUSE) -> None:
        self._store = store
        self._metrics = metrics
        self._pause = pause
        self._seen: dict[str, int] = {}
        self._changed: set[str] = set()
        self._woken = asyncio.Event()
        self._opened_at = time.time()
        self._last_start: dict[str, float] = {}
        self._unwatch: Callable[[], None] | None = None
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        rows = await self._store.list_sessions(SessionFilter(archived=None), limit=EVERY_SESSION)
        self._seen = {row.id: row.last_seq for row in rows}
        self._unwatch = self._store.watch(self._hear)
        self._task = asyncio.get_running_loop().create_task(self._run())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._unwatch is not None:
            self._unwatch()
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    def _hear(self, session_id: str, seq: int) -> None:
        if seq == 0:
            self._seen.pop(session_id, None)
            self._last_start.pop(session_id, None)
            self._changed.discard(session_id)
            return
        self._changed.add(session_id)
        self._woken.set()

    async def _run(self) -> None:
        while True:
            await self._woken.wait()
            self._woken.clear()
            changed, self._changed = self._changed, set()
            for session_id in changed:
                try:
                    await self._count(session_id)
                except StoreError as error:  # figures may be late; the sessions themselves say what is wrong
                    logger.debug("the journal of session %s was not counted: %s", session_id[:8], error)
            await asyncio.sleep(self._pause)

    async def _count(self, session_id: str) -> None:
        before = self._last_start.get(session_id, self._opened_at)
        for start in await self._store.starts(session_id, since=before):
            if start.at > before and start.why != RUNNING:
                self._metrics.cli_started(start.why)
                self._last_start[session_id] = start.at
        while rows := await self._store.read(session_id, after=self._seen.get(session_id, 0), limit=PAGE):
            for row in rows:
                self._note(row)
            self._seen[session_id] = rows[-1].seq

    def _note(self, row: EventRow) -> None:
        self._metrics.event_appended(row.type)
        if row.type == "ask_closed":
            with suppress(msgspec.DecodeError):
                closed = msgspec.json.decode(row.body, type=_Closed)
                self._metrics.ask_closed(closed.surface, closed.words)

"""Counts what is appended to journals, whichever process appends it: events, asks that are over, starts of the CLI.

Nothing waits for it. It reads behind the writers, a few seconds late, and each event once.
"""

from __future__ import annotations

import logging
import time
from contextlib import suppress
from types import TracebackType
from typing import Final, Self

import msgspec

from handrail.errors import StoreError
from handrail.server.metrics import Metrics
from handrail.sessions.starts import RUNNING
from handrail.sessions.stirred import EVERY_SESSION, Stirred
from handrail.store.base import EventRow, SessionFilter, Store

__all__ = ["JournalWatch"]

logger = logging.getLogger("handrail.server")

PAUSE: Final = 2.0
PAGE: Final = 500


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
        self._seen: dict[str, int] = {}
        self._opened_at = time.time()
        self._last_start: dict[str, float] = {}
        self._stirred = Stirred(store, changed=self._count, empty=self._forget, pause=pause)

    async def __aenter__(self) -> Self:
        rows = await self._store.list_sessions(SessionFilter(archived=None), limit=EVERY_SESSION)
        self._seen = {row.id: row.last_seq for row in rows}
        self._stirred.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stirred.stop()

    def _forget(self, session_id: str) -> None:
        self._seen.pop(session_id, None)
        self._last_start.pop(session_id, None)

    async def _count(self, session_id: str) -> None:
        try:
            await self._count_starts(session_id)
            await self._count_events(session_id)
        except StoreError as error:  # figures may be late; the sessions themselves say what is wrong
            logger.debug("the journal of session %s was not counted: %s", session_id[:8], error)

    async def _count_starts(self, session_id: str) -> None:
        before = self._last_start.get(session_id, self._opened_at)
        for start in await self._store.starts(session_id, since=before):
            if start.at > before and start.why != RUNNING:
                self._metrics.cli_started(start.why)
                self._last_start[session_id] = start.at

    async def _count_events(self, session_id: str) -> None:
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

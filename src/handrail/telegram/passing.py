"""What is shown for a moment while Claude works: that it does, and what it writes. Nobody misses it if it is not."""

from __future__ import annotations

import zlib
from collections.abc import Iterable

from handrail.events.view import RunItem, SessionView
from handrail.telegram.model import Place
from handrail.telegram.outbox.worker import Outbox
from handrail.telegram.rhythm import Rhythm
from handrail.telegram.show.streamed import streamed

__all__ = ["Passing"]


class Passing:
    """The drafts and signs of typing of one session."""

    def __init__(self, session_id: str, outbox: Outbox, rhythm: Rhythm) -> None:
        self._session_id = session_id
        self._outbox = outbox
        self._rhythm = rhythm
        self._typed_at = self._drafted_at = 0.0

    def is_due(self, view: SessionView, now: float) -> bool:
        """Whether there is something to show."""
        if view.run is None or view.asks:
            return False
        return now >= min(self._typed_at + self._rhythm.typing, self._drafted_at + self._rhythm.draft)

    def show(self, view: SessionView, places: Iterable[Place], now: float) -> None:
        """Show it in these places, as far as it is due."""
        if now >= self._typed_at + self._rhythm.typing:
            self._typed_at = now
            for place in places:
                self._outbox.action(place)
        if view.run is not None and now >= self._drafted_at + self._rhythm.draft:
            self._draft(view, view.run, places, now)

    def _draft(self, view: SessionView, run: RunItem, places: Iterable[Place], now: float) -> None:
        self._drafted_at = now
        written = streamed(view)
        for place in places:
            if written and self.has_draft(place):
                self._outbox.draft(place, self._draft_id(run), written)

    def drop(self, runs: Iterable[RunItem], places: Iterable[Place]) -> None:
        """These runs are over: no draft may come behind an answer."""
        runs = list(runs)
        for place in places:
            for run in runs:
                self._outbox.drop_draft(place, self._draft_id(run))

    def has_draft(self, place: Place) -> bool:
        """Whether what is being written is shown there as a draft."""
        return place.is_private and self._outbox.has_drafts

    def _draft_id(self, run: RunItem) -> int:
        return zlib.crc32(f"{self._session_id}:{run.number}".encode()) or 1

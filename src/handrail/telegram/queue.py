"""Messages that wait until Claude is done with what it does: kept by the bridge, in order, for each session."""

from __future__ import annotations

from typing import Any

import msgspec

from handrail.events.view import content_text
from handrail.telegram.model import GONE, Content, Place, Priority, WantedMessage
from handrail.telegram.state import Tables
from handrail.telegram.text.rich import plain

__all__ = ["Queued", "Waiting"]

KEPT = "Kept until Claude is done. /queue shows what waits."


class Queued(msgspec.Struct, frozen=True, kw_only=True):
    """A message that waits, who wrote it, and where."""

    uuid: str
    session_id: str
    place: Place
    user_id: int
    content: Any
    at: float
    message_id: int = 0

    @property
    def text(self) -> str:
        return content_text(self.content)


class Waiting:
    """What waits, read and changed inside a transaction."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def all(self, session_id: str = "") -> list[Queued]:
        """Of one session or of all, the oldest first."""
        found = self._tables.notes(f"queue:{session_id}:" if session_id else "queue:")
        return sorted((_decoded(value) for value in found.values()), key=lambda queued: (queued.at, queued.message_id))

    def at(self, place: Place) -> list[Queued]:
        """Those that were written in a place."""
        return [queued for queued in self.all() if queued.place == place]

    def get(self, place: Place, uuid: str) -> Queued | None:
        return next((queued for queued in self.at(place) if queued.uuid == uuid), None)

    def add(self, queued: Queued) -> None:
        """Keep a message, and say so; one that waits already is changed."""
        self._tables.note(_key(queued), msgspec.json.encode(queued).decode())
        self._tables.want(_receipt(queued, Content(plain(KEPT), reply_to=queued.message_id)))

    def remove(self, queued: Queued) -> None:
        """It does not wait any more."""
        self._tables.note(_key(queued), None)
        self._tables.want(_receipt(queued, GONE))


def _key(queued: Queued) -> str:
    return f"queue:{queued.session_id}:{queued.uuid}"


def _receipt(queued: Queued, content: Content) -> WantedMessage:
    return WantedMessage(
        key=f"queued:{queued.uuid}",
        place=queued.place,
        content=content,
        priority=Priority.REPLY,
        session_id=queued.session_id,
    )


def _decoded(value: str) -> Queued:
    return msgspec.json.decode(value, type=Queued)

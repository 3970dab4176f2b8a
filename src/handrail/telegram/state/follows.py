"""Which sessions are followed where, and up to which event what happened there has been turned into messages."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from handrail.telegram.model import Place
from handrail.telegram.state.table import Table

__all__ = ["Follow", "FollowMode", "Follows"]

FollowMode: TypeAlias = Literal["all", "asks"]
"""Everything, or only what needs a person."""


class Follow(msgspec.Struct, frozen=True, kw_only=True):
    """A session that a place follows; `cursor` is the seq of the last event that was dealt with."""

    place: Place
    session_id: str
    mode: FollowMode
    cursor: int


class Follows(Table):
    """The table of follows."""

    def follow(self, place: Place, session_id: str, mode: FollowMode, cursor: int) -> None:
        """Follow a session from an event on, or in another way than so far."""
        self._connection.execute(
            "INSERT OR REPLACE INTO follows (session_id, chat, thread, mode, cursor) VALUES (?, ?, ?, ?, ?)",
            (session_id, place.chat, place.thread, mode, cursor),
        )

    def move(self, place: Place, session_id: str, cursor: int) -> None:
        """Everything up to `cursor` is dealt with. It never moves back; what is not followed stays so."""
        self._connection.execute(
            "UPDATE follows SET cursor = max(cursor, ?) WHERE session_id = ? AND chat = ? AND thread = ?",
            (cursor, session_id, place.chat, place.thread),
        )

    def unfollow(self, place: Place, session_id: str) -> None:
        """Follow it no longer."""
        self._connection.execute(
            "DELETE FROM follows WHERE session_id = ? AND chat = ? AND thread = ?",
            (session_id, place.chat, place.thread),
        )

    def follows(self, session_id: str | None = None, place: Place | None = None) -> list[Follow]:
        """All, or those of a session, of a place, or of both."""
        conditions, values = ["1"], list[str | int]()
        if session_id is not None:
            conditions.append("session_id = ?")
            values.append(session_id)
        if place is not None:
            conditions.append("chat = ? AND thread = ?")
            values += (place.chat, place.thread)
        rows = self._connection.execute(
            f"SELECT chat, thread, session_id, mode, cursor FROM follows WHERE {' AND '.join(conditions)}"  # noqa: S608
            " ORDER BY session_id, chat, thread",
            values,
        )
        return [
            Follow(place=Place(chat, thread), session_id=session, mode=mode, cursor=cursor)
            for chat, thread, session, mode, cursor in rows
        ]

"""What a `Session` needs of a hub: where it lives, its journal, and what is done without its CLI."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from typing import Any, Final

from handrail.events.codec import decode_event
from handrail.remote.connection import HubConnection
from handrail.remote.live import LivePool
from handrail.remote.paths import session_path
from handrail.remote.reading import RemoteStore
from handrail.remote.seats import RemoteSeat
from handrail.sessions.feed import Item
from handrail.sessions.session import Seat
from handrail.store.base import FrameRow

__all__ = ["RemoteKeeper"]

PAGE: Final = 1000


class RemoteKeeper:
    """The sessions of one hub, whichever machine each runs on."""

    def __init__(self, connection: HubConnection, store: RemoteStore, live: LivePool) -> None:
        self.store = store
        self._connection = connection
        self._live = live

    async def seat(self, session_id: str) -> Seat | None:
        """Where a session lives: with the hub, if anywhere."""
        return self._seat(session_id) if (await self.store.record(session_id)).live else None

    async def seat_here(self, session_id: str) -> Seat:
        """The hub resumes it for what is sent there, which does not need the role that resuming it as such does."""
        return self._seat(session_id, resumes=True)

    async def start_again(self, session_id: str) -> None:
        """Resume a session; it lives with the hub, not in this process."""
        await self._connection.post(f"{session_path(session_id)}/resume")

    def _seat(self, session_id: str, *, resumes: bool = False) -> RemoteSeat:
        return RemoteSeat(session_id, self._connection, self.store, self._live, resumes=resumes)

    def stored_items(self, session_id: str, after: int, *, deltas: bool, follow: bool) -> AsyncGenerator[Item, None]:
        """The journal, and what is added to it."""
        return self._live.follow(session_id, after, deltas=deltas) if follow else self._journal(session_id, after)

    async def _journal(self, session_id: str, after: int) -> AsyncGenerator[Item, None]:
        while rows := await self.store.read(session_id, after=after, limit=PAGE):
            for row in rows:
                after = row.seq
                yield decode_event(row.body)

    async def frames(self, session_id: str, *, after: int, limit: int) -> Sequence[FrameRow]:
        return await self.store.frames(session_id, after=after, limit=limit)

    async def export(self, session_id: str, format: str) -> str:
        return await self._connection.text(f"{session_path(session_id)}/export", format=format)

    async def change(self, session_id: str, **columns: Any) -> None:
        await self._connection.act("PATCH", session_path(session_id), body=columns)

    async def delete(self, session_id: str) -> None:
        await self._connection.act("DELETE", session_path(session_id))

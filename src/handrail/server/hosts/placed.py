"""Which host a start was given to: noted before the host is told, so that the same start never goes to another one."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

import msgspec

from handrail.errors import SessionExists
from handrail.store.base import KeptReply, Store

__all__ = ["Placed"]

CALLER: Final = "starts"
KEPT_FOR: Final = 24 * 3600.0
"""For how long it is known where a session was to be started whose journal has never come here."""
GIVEN: Final = 202
"""The status of a start that a host was told of, or is about to be."""


class Placed:
    """The hosts of starts, by the ids that the sessions are to have. They are in the store: hubs restart."""

    def __init__(self, store: Store, *, clock: Callable[[], float] = time.time) -> None:
        self._store = store
        self._clock = clock

    async def host_of(self, session_id: str, request: str) -> str | None:
        """The host that was given this start. Raises `SessionExists` if it was given another one with this id."""
        note = self._note(session_id, request)
        found = await self._store.begin_reply(note, forget_before=note.at - KEPT_FOR)
        if found is None or found.status is None:
            return None
        if found.request_hash != request:
            raise SessionExists(f"the id {session_id} was given to another start: choose another id for a new session")
        return found.body.decode()

    async def check_free(self, session_id: str, request: str) -> None:
        """Raise `SessionExists` if a host may have a session of this id of which nothing is here yet."""
        await self.host_of(session_id, request)
        await self._store.drop_reply(CALLER, session_id)

    async def give(self, session_id: str, request: str, host_id: str) -> None:
        """Note that this host is to start it."""
        given = msgspec.structs.replace(self._note(session_id, request), status=GIVEN, body=host_id.encode())
        await self._store.keep_reply(given)

    async def take_back(self, session_id: str, request: str) -> None:
        """Nothing was started, for certain: whoever tries again may be sent elsewhere."""
        await self._store.keep_reply(self._note(session_id, request))
        await self._store.drop_reply(CALLER, session_id)

    def _note(self, session_id: str, request: str) -> KeptReply:
        return KeptReply(caller=CALLER, key=session_id, request_hash=request, at=self._clock())

"""What is done once a run is over: files are sent back, and the next message that waited for this is sent."""

from __future__ import annotations

from handrail.remote.hub import Hub
from handrail.telegram.files.desk import FilesDesk
from handrail.telegram.model import Place
from handrail.telegram.sessions import ChatSessions, conversation_note
from handrail.telegram.state import BridgeState, Tables

__all__ = ["Afterwards"]


class Afterwards:
    """Looks after a session between its runs."""

    def __init__(self, hub: Hub, state: BridgeState, sessions: ChatSessions, files: FilesDesk) -> None:
        self._hub = hub
        self._state = state
        self._sessions = sessions
        self._files = files

    async def take_over(self, session_id: str, *, is_done: bool) -> None:
        """A run is over; `is_done`: and nothing else goes on. Raises `HandrailError`: then it can be done again."""
        await self._send_files(session_id)
        if is_done:
            await self._sessions.send_next(session_id)

    async def _send_files(self, session_id: str) -> None:
        conversation, places = await self._state.read(lambda tables: _followed(tables, session_id))
        row = await self._hub.store.get_session(session_id) if conversation and places else None
        if row is not None:
            for place in places:
                await self._files.send_back(place, row, conversation)


def _followed(tables: Tables, session_id: str) -> tuple[str, list[Place]]:
    """The conversation that the bridge began, if it did, and where the session is followed."""
    places = [follow.place for follow in tables.follows(session_id) if follow.mode == "all"]
    return tables.noted(conversation_note(session_id)) or "", places

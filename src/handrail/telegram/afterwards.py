"""What is done once a run is over: files are sent back, and the next message that waited for this is sent.

That a run was told of in a place, and that its files are still to come there, is noted in the same transaction: so they
come, too, if the bridge dies in between.
"""

from __future__ import annotations

from typing import Final

import msgspec

from handrail.remote.hub import Hub
from handrail.telegram.files.desk import FilesDesk
from handrail.telegram.model import Place
from handrail.telegram.session_notes import conversation_note
from handrail.telegram.sessions import ChatSessions
from handrail.telegram.state import BridgeState, Follow, Tables

__all__ = ["Afterwards", "forget_files", "sessions_with_files", "want_files"]

NOTES: Final = "files:"


class _Due(msgspec.Struct, frozen=True):
    """Where the files of a session are to be sent, since the run that ended with this event."""

    place: Place
    seq: int


def want_files(tables: Tables, follow: Follow, seq: int) -> None:
    """A run is told of where a session is followed: what it put into its outbox is to come there."""
    conversation = tables.noted(conversation_note(follow.session_id))
    if follow.mode == "all" and conversation is not None:
        tables.note(conversation_note(follow.session_id), conversation)  # from now on as long as the session is there
        due = msgspec.json.encode(_Due(follow.place, seq)).decode()
        tables.note(f"{_note(follow.session_id)}{follow.place}", due)


def sessions_with_files(tables: Tables) -> set[str]:
    """The sessions of which files are still to come."""
    return {key.removeprefix(NOTES).partition(":")[0] for key in tables.notes(NOTES)}


def forget_files(tables: Tables, session_id: str) -> None:
    """A session is gone, and so are its files."""
    for key in (conversation_note(session_id), *tables.notes(_note(session_id))):
        tables.note(key, None)


def _note(session_id: str) -> str:
    return f"{NOTES}{session_id}:"


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
        conversation, noted = await self._state.read(
            lambda tables: (tables.noted(conversation_note(session_id)), tables.notes(_note(session_id)))
        )
        row = await self._hub.store.get_session(session_id) if noted else None
        if row is not None and conversation:
            for due in noted.values():
                await self._files.send_back(msgspec.json.decode(due, type=_Due).place, row, conversation)
        if noted:
            await self._state.write(lambda tables: _are_sent(tables, noted))


def _are_sent(tables: Tables, noted: dict[str, str]) -> None:
    """Unless another run was over meanwhile."""
    for key, due in noted.items():
        if tables.noted(key) == due:
            tables.note(key, None)

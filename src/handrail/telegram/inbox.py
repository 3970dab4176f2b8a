"""The inbox: what any session of the hub asks comes to the chats of those who want to know."""

from __future__ import annotations

from handrail.remote.changes import HubChange
from handrail.telegram.model import Place
from handrail.telegram.people import People
from handrail.telegram.session_notes import leaving_note
from handrail.telegram.state import BridgeState, Tables

__all__ = ["Inbox"]


class Inbox:
    """Has chats follow what a session asks, for as long as it does.

    A chat that follows the session anyway needs no inbox for it. Without a word on it, the inbox is the chat that an
    owner has with the bot alone.
    """

    def __init__(self, state: BridgeState, people: People) -> None:
        self._state = state
        self._people = people

    async def take(self, change: HubChange) -> bool:
        """A session changed: if something waits in it, those who want to know follow it. Says whether others do now."""
        if not any(ask.state == "pending" for ask in change.asks):
            return False
        return await self._state.write(lambda tables: self._follow(tables, change))

    def _follow(self, tables: Tables, change: HubChange) -> bool:
        places = [place for place in self._places(tables) if not tables.follows(change.session_id, place)]
        for place in places:
            tables.follow(place, change.session_id, "asks", change.last_seq)
            tables.note(leaving_note(change.session_id, place), "1")  # until it rests
        return bool(places)

    def _places(self, tables: Tables) -> list[Place]:
        """Where asks of all sessions are to be shown."""
        wanted = {place: user.role == "owner" for user, place in self._people.inbox_places()}
        for chat in tables.chats():
            if chat.prefs.inbox is not None and self._people.serves(chat.place):
                wanted[chat.place] = chat.prefs.inbox
        return [place for place, is_wanted in wanted.items() if is_wanted]

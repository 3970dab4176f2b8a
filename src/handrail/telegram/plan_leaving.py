"""Answers plans for chats that have `/planmode auto`: plan first, then go on without being asked."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field

from handrail.errors import HandrailError
from handrail.events.view import AskItem, SessionView
from handrail.remote.errors import HubUnreachable
from handrail.remote.hub import Hub
from handrail.telegram.commands.plans import leave_plan_mode, planmode_note
from handrail.telegram.people import People
from handrail.telegram.session_notes import choice_note
from handrail.telegram.state import BridgeState, Chat, Tables

__all__ = ["PlanLeaving"]

logger = logging.getLogger("handrail.telegram")


@dataclass
class PlanLeaving:
    """The plans of one session. Each is answered in the name of whoever chose that for the chat."""

    session_id: str
    hub: Hub
    state: BridgeState
    people: People
    _seen: set[str] = field(default_factory=set)

    async def answer(self, view: SessionView) -> list[AskItem]:
        """Answer what may be answered; returns it. What could not be is for a person. Raises `HubUnreachable`."""
        plans = [item for item in view.asks.values() if item.kind == "plan" and item.digest not in self._seen]
        self._seen |= {item.digest for item in plans}
        return [item for item in plans if await self._answered(item)]

    async def _answered(self, item: AskItem) -> bool:
        for chat, user_id in await self.state.read(self._chats):
            user = self.people.user(user_id)
            if user is None:
                continue
            session = self.hub.session(self.session_id)
            try:
                if await leave_plan_mode(self.people.hub_for(user), chat, session, item):
                    return True
            except HubUnreachable:
                raise
            except HandrailError as error:
                logger.warning("a plan of session %s could not be answered for %s: %s", session.id, user.name, error)
        return False

    def _chats(self, tables: Tables) -> list[tuple[Chat, int]]:
        """The chats that want it and that an owner has go on with this session, each with who chose that."""
        chats = [tables.chat(follow.place) for follow in tables.follows(self.session_id) if follow.mode == "all"]
        own = [chat for chat in chats if chat.session_id == self.session_id == tables.noted(choice_note(chat.place))]
        wanting = [chat for chat in own if chat.prefs.planmode == "auto"]
        noted = [(chat, tables.noted(planmode_note(chat.place)) or "") for chat in wanting]
        return [(chat, int(user_id)) for chat, user_id in noted if user_id.isdigit()]

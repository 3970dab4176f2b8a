"""Leaving plan mode without asking, where a chat has `/planmode auto`.

No policy answers a plan: it is a question to a person. Here a person has answered it beforehand, so the answer is
given in their name, and the record says so.
"""

from __future__ import annotations

from typing import Final

from handrail.errors import AlreadyDecided, HandrailError
from handrail.events.view import AskItem
from handrail.policy.answers.plan import ApprovePlan, PlanMode
from handrail.remote.hub import Hub
from handrail.sessions.session import Session
from handrail.telegram.model import Place
from handrail.telegram.state.chats import Chat

__all__ = ["approval", "leave_plan_mode", "planmode_note"]

CARRIED_OUT_IN: Final[dict[str, PlanMode]] = {
    "default": "default",
    "acceptEdits": "acceptEdits",
    "bypassPermissions": "bypassPermissions",
}


def planmode_note(place: Place) -> str:
    """Under which name the bridge notes the id of the person who chose the plan mode of a place."""
    return f"planmode:{place}"


def approval(chat: Chat) -> ApprovePlan:
    """What is answered to a plan: it is carried out in the mode that the chat prefers, else step by step."""
    return ApprovePlan(mode=CARRIED_OUT_IN.get(chat.prefs.mode, "default"))


async def leave_plan_mode(hub: Hub, chat: Chat, session: Session, ask: AskItem) -> bool:
    """Answer a plan for whoever chose `/planmode auto`, through a hub that acts for them.

    Says whether it was answered: False if it is for a person after all.
    """
    if chat.prefs.planmode != "auto" or ask.kind != "plan":
        return False
    try:
        await hub.session(session.id).decide(ask.ask_id, approval(chat), digest=ask.digest)
    except AlreadyDecided:
        return True
    except HandrailError:  # then a person sees it, with its buttons, and what is wrong when they press one
        return False
    return True

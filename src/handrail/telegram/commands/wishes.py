"""What the preferences of a chat mean for its session: when it is started, when it is resumed, while it runs."""

from __future__ import annotations

from typing import Any, Final, cast

import msgspec

from handrail.policy.storage.loading import Asked
from handrail.protocol.options import PermissionMode
from handrail.remote.hub import Hub
from handrail.sessions.launching import SessionSettings, decode_settings
from handrail.sessions.session import Session
from handrail.store.base import SessionRow
from handrail.telegram.state.chats import Chat, Prefs

__all__ = ["WORKING", "Wishes", "mode_of", "prepare", "resume_as_wished", "wishes"]

WORKING: Final = frozenset({"running", "queued", "needs_you"})
"""What a session does in which a message is not the first of a run."""
PLANS_FIRST: Final = frozenset({"on", "auto"})


class Wishes(msgspec.Struct, frozen=True, kw_only=True):
    """How the sessions of a chat are to be run; None leaves it to the hub."""

    model: str | None = None
    mode: PermissionMode | None = None
    policy: Asked | None = None
    budget: float | None = None


def wishes(chat: Chat) -> Wishes:
    """What the chat's preferences mean for a session that is started there."""
    prefs = chat.prefs
    return Wishes(
        model=prefs.model or None,
        mode=mode_of(prefs),
        policy=Asked(profile=prefs.policy) if prefs.policy else None,
        budget=prefs.budget,
    )


def mode_of(prefs: Prefs) -> PermissionMode | None:
    """The permission mode in which a message is begun with."""
    if prefs.planmode in PLANS_FIRST:
        return "plan"
    if prefs.mode:
        return cast(PermissionMode, prefs.mode)
    return "default" if prefs.planmode == "off" else None


async def prepare(hub: Hub, chat: Chat, session: Session) -> None:
    """Before a message of the chat goes to a session that does not work: have it run as the chat prefers.

    Plan mode holds for every message, so that it is put on again after a plan was carried out.
    """
    row = await session.row()
    if not await session.is_live():
        await resume_as_wished(hub, chat, row)
    elif row.status not in WORKING and chat.prefs.planmode in PLANS_FIRST:
        await session.set_permission_mode("plan")


async def resume_as_wished(hub: Hub, chat: Chat, row: SessionRow) -> None:
    """Start a session's Claude Code again, as the chat prefers where that is another way than before."""
    wanted, settings = wishes(chat), decode_settings(row.settings)
    changes = _changes(wanted, settings)
    policy = _policy(wanted, settings)
    if changes or policy is not None:
        await hub.resume(row.id, policy=policy, **changes)


def _changes(wanted: Wishes, settings: SessionSettings) -> dict[str, Any]:
    before = {
        "model": settings.options.model,
        "permission_mode": settings.options.permission_mode,
        "budget": settings.budget,
    }
    wished = {"model": wanted.model, "permission_mode": wanted.mode, "budget": wanted.budget}
    return {name: value for name, value in wished.items() if value is not None and value != before[name]}


def _policy(wanted: Wishes, settings: SessionSettings) -> Asked | None:
    """Another profile; what else the session was asked to be held to stays."""
    if wanted.policy is None or (settings.policy is not None and settings.policy.profile == wanted.policy.profile):
        return None
    return msgspec.structs.replace(settings.policy or Asked(), profile=wanted.policy.profile)

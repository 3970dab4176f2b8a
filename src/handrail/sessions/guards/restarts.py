"""How often a session may be restarted by itself. The count is in the store, so it survives restarts of Handrail too.

    await check_restart(store, session_id, RestartLimit(), now=time.time())      # before a start of the kind "recovery"

What a person does is never refused: only starts that nobody asked for count, and only they are limited.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

import msgspec

from handrail.errors import SessionLimit
from handrail.store.base import StartRow

__all__ = ["AUTOMATIC", "RestartLimit", "check_restart", "refusal"]

AUTOMATIC = frozenset({"recovery", "resume after crash"})
"""Why a CLI was started, where nobody had asked for it."""


class RestartLimit(msgspec.Struct, frozen=True, kw_only=True):
    """At most so many restarts within so many seconds. No restarts: 0."""

    restarts: int = 3
    window: float = 600.0


class Starts(Protocol):
    """The part of a store that is needed here."""

    async def starts(self, session_id: str, *, since: float = 0.0) -> list[StartRow]: ...


def refusal(starts: Iterable[StartRow], limit: RestartLimit, *, now: float) -> str | None:
    """Why a session that was started so may not be restarted at `now`; None if it may.

    What lies in the future counts as well: the clock was set back, and a loop must not profit from that.
    """
    recent = [start.at for start in starts if start.why in AUTOMATIC and start.at > now - limit.window]
    if len(recent) < limit.restarts:
        return None
    within = f"{limit.window / 60:g} minutes"
    if not recent:
        return "it is not restarted by itself (restarts = 0): resume it when you are ready"
    return (
        f"it was restarted {len(recent)} times within {within}, so it is left alone: "
        "see with `handrail show` what ended it, then resume it with `handrail resume`"
    )


async def check_restart(store: Starts, session_id: str, limit: RestartLimit, *, now: float) -> None:
    """Raise `SessionLimit` if the session may not be restarted by itself."""
    words = refusal(await store.starts(session_id, since=now - limit.window), limit, now=now)
    if words is not None:
        raise SessionLimit(f"session {session_id[:8]}: {words}")

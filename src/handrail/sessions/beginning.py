"""Begins sessions that can be begun again: under an id that the caller chose, the same request gives the same session.

Whoever does not hear what became of a start asks for it once more. The id says which session is meant, and a digest of
the request, which is kept with the session, whether it is what was asked for.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import Any, Final, Protocol
from uuid import UUID, uuid4, uuid5

import msgspec

from handrail.errors import InvalidOptions, SessionExists
from handrail.policy.storage.loading import Asked
from handrail.sessions.launching import SessionSettings, decode_settings, encode_settings, without_secrets
from handrail.store.base import SessionRow

__all__ = ["Beginning", "begun", "checked_id", "first_message", "request_of", "settled_request"]

_UUID: Final = re.compile(r"[0-9a-f]{32}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE | re.ASCII)
NOTHING: Final[tuple[Any, ...]] = (None, "", (), [], {})
"""What stands for something that was not asked for."""

_FIRST_MESSAGES: Final = UUID("c0a2f3d6-7a3e-4f0c-9a53-0d3f5c1e8b27")


class Beginning(msgspec.Struct, frozen=True, kw_only=True):
    """A session to begin on this machine. Begun again with the same `id` and `request`, it is the same session."""

    id: str
    request: str
    """A digest of what was asked for, as whoever takes requests understands them (`request_of`)."""
    settings: SessionSettings
    title: str = ""
    worktree: str | None = None
    """The name of a git worktree to make for it."""


class _Rows(Protocol):
    async def get_session(self, session_id: str) -> SessionRow | None: ...


async def begun(rows: _Rows, session_id: str, request: str) -> SessionRow | None:
    """The session that this request has begun already, if it has. Raises `SessionExists` if the id is another's.

    So it is, whoever asks, if no request is known that began it: a fork, or what was Claude Code's own.
    """
    row = await rows.get_session(session_id)
    if row is not None and not (request and decode_settings(row.settings).request == request):
        raise SessionExists(
            f"the id {session_id} belongs to a session in {row.cwd} that was not started by this request: "
            "choose another id for a new session"
        )
    return row


def checked_id(wanted: str | None) -> str:
    """The id of a new session: the UUID that was chosen for it, or one of our own. Raises `InvalidOptions`."""
    if wanted is None:
        return uuid4().hex
    if not _UUID.fullmatch(wanted):
        raise InvalidOptions(
            f"the id of a new session is a UUID, such as {uuid4()}: {wanted[:100]!r} is none. Leave it out, and one is "
            "made for you"
        )
    return wanted.replace("-", "").lower()


def request_of(*, policy: Asked | None, **asked: Any) -> str:
    """A digest of what was asked for, as plain values. Values that are secret are left out of it.

    So is what was not asked for, which a later version may have other words for: it must know the request again.
    """
    judged = _given(msgspec.to_builtins(policy)) if policy is not None else None
    said = {**_given(asked), "policy": judged}
    return hashlib.sha256(msgspec.json.encode(without_secrets(said), order="sorted")).hexdigest()


def _given(named: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in named.items() if value not in NOTHING}


def settled_request(settings: SessionSettings, **asked: Any) -> str:
    """The same for a request that is made of settings."""
    plain = msgspec.json.decode(encode_settings(settings))
    return request_of(
        policy=settings.policy,
        options=plain["options"],
        session_id=settings.options.session_id,
        budget=settings.budget,
        has_policy_of_its_own=settings.fixed_policy or None,
        **asked,
    )


def first_message(session_id: str) -> str:
    """The uuid of the message that a session is started with: started again, it is sent no second one."""
    return str(uuid5(_FIRST_MESSAGES, session_id))

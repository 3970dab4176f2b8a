"""What people were asked and answered, from the stored asks: what a policy is tried on, and rules are drawn from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

import msgspec

from handrail.policy.recordings import RecordedCall, Then
from handrail.store.base import AskRow, SessionFilter, Store

__all__ = ["PastCall", "past_calls", "read_past_calls"]

NOT_PEOPLE: Final = frozenset({"policy", "hook", "callback", "unattended"})
"""Surfaces on which nobody looked at what was asked."""
SESSIONS: Final = 200


class PastCall(msgspec.Struct, frozen=True):
    """A call that was asked about; `at` is when."""

    call: RecordedCall
    at: float


async def read_past_calls(store: Store, *, cwd: str | None = None) -> list[PastCall]:
    """The calls of the latest sessions, in one directory or everywhere, oldest first."""
    rows = await store.list_sessions(SessionFilter(archived=None, cwd=cwd), limit=SESSIONS)
    asks = [ask for row in rows for ask in await store.asks(row.id)]
    return sorted(past_calls(asks), key=lambda each: each.at)


def past_calls(asks: Iterable[AskRow]) -> Iterator[PastCall]:
    """The calls among these asks that a person answered, or left unanswered. One answer counts once."""
    for ask in asks:
        if ask.kind == "permission" and ask.surface not in NOT_PEOPLE and not ask.granted_by:
            call = _call(ask)
            if call is not None:
                yield PastCall(call, ask.opened_at)


class _Asked(msgspec.Struct):
    """What counts of a stored ask."""

    tool_name: str
    input: dict[str, Any]
    cwd: str | None = None
    agent_id: str | None = None


class _Answered(msgspec.Struct):
    """What counts of a stored answer."""

    type: str = ""
    updated_input: dict[str, Any] | None = None
    updated_permissions: list[Any] | None = None


def _call(ask: AskRow) -> RecordedCall | None:
    try:
        asked = msgspec.json.decode(ask.body, type=_Asked)
        answer = msgspec.json.decode(ask.answer, type=_Answered) if ask.answer else _Answered()
    except msgspec.DecodeError:  # stored by another version
        return None
    return RecordedCall(
        tool=asked.tool_name,
        input=asked.input,
        asked=True,
        then=_then(ask, answer),
        cwd=asked.cwd or "/",
        subagent=asked.agent_id is not None,
        changed=answer.updated_input is not None and answer.updated_input != asked.input,
        updated_permissions=tuple(answer.updated_permissions or ()),
    )


def _then(ask: AskRow, answer: _Answered) -> Then:
    if ask.state == "cancelled":
        return "cancelled"
    match answer.type:
        case "allow":
            return "allowed"
        case "deny":
            return "denied"
    return "unanswered"

"""Asks of a recorded session, from the control channel: a live session has an ask book that knows more."""

from __future__ import annotations

from typing import Any

import msgspec

from handrail.events.model import AskClosed, AskOpened
from handrail.events.tools import describe_call
from handrail.protocol.asks import ASK_SUBTYPES, Ask, ask_digest, ask_from
from handrail.protocol.frames import ControlRequest, ControlResponse

__all__ = ["RecordedAsks"]


class RecordedAsks:
    """The asks that are open at one point of a recording."""

    def __init__(self) -> None:
        self._open: dict[str, str] = {}

    def asked(self, frame: ControlRequest, plan: Any = None) -> list[AskOpened]:
        """The CLI asks; `plan` is the plan of the call that it asks about, where the request lacks it."""
        if frame.subtype not in ASK_SUBTYPES:
            return []
        return self._open_ask(frame.request_id, frame.request, plan)

    def listed(self, frame: ControlResponse) -> list[AskOpened]:
        """An answer to `initialize` says which asks are pending: after a reconnect they may be news."""
        result = frame.response
        found = (
            *result.pending_permission_requests,
            *result.pending_user_dialog_requests,
            *result.pending_elicitation_requests,
        )
        told: list[AskOpened] = []
        for item in found:
            name, request = item.get("request_id"), item.get("request")
            if isinstance(name, str) and isinstance(request, dict):
                told += self._open_ask(name, request, None)
        return told

    def answered(self, frame: ControlResponse) -> list[AskClosed]:
        """We answered."""
        result = frame.response
        name = result.request_id or frame.request_id or ""
        if self._open.pop(name, None) is None:
            return []
        if result.subtype == "error":
            return [AskClosed(ask_id=name, outcome="decided", message=result.error or "")]
        body = result.response if isinstance(result.response, dict) else _flat_body(frame)
        message = body.get("message")
        return [
            AskClosed(ask_id=name, outcome="decided", answer=body, message=message if isinstance(message, str) else "")
        ]

    def cancelled(self, name: str) -> list[AskClosed]:
        """The CLI wants no answer any more."""
        if self._open.pop(name, None) is None:
            return []
        return [AskClosed(ask_id=name, outcome="cancelled")]

    def lose(self) -> list[AskClosed]:
        """The process is gone: nobody waits for an answer."""
        lost = [AskClosed(ask_id=name, outcome="lost") for name in self._open]
        self._open.clear()
        return lost

    def _open_ask(self, name: str, request: dict[str, Any], plan: Any) -> list[AskOpened]:
        ask = _ask(name, request, plan)
        if self._open.get(name) == ask.digest:
            return []
        self._open[name] = ask.digest
        record = msgspec.structs.asdict(ask)
        del record["described"]
        return [AskOpened(ask_id=name, kind=ask.kind, digest=ask.digest, title=_title(ask), ask=record)]


def _ask(name: str, request: dict[str, Any], plan: Any) -> Ask:
    ask = ask_from(name, request)
    if ask.kind == "plan":
        found = ask.input.get("plan", plan)
        ask = msgspec.structs.replace(ask, plan=found if isinstance(found, str) else None)
    return msgspec.structs.replace(ask, digest=ask_digest(ask))


def _title(ask: Ask) -> str:
    if ask.kind == "question":
        asked = [item.get("question") for item in ask.questions]
        return next((text for text in asked if isinstance(text, str)), "A question")
    if not ask.tool_name:
        return ask.message or ask.kind
    return describe_call(ask.tool_name, ask.input).title


def _flat_body(frame: ControlResponse) -> dict[str, Any]:
    """The answer in the form that the oldest hosts used."""
    if frame.approved is None:
        return {}
    if frame.approved:
        return {"behavior": "allow"}
    return {"behavior": "deny", "message": frame.denial_message or ""}

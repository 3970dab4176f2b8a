"""One conversation with a CLI, without I/O: bytes in → frames and control events; calls → lines to write.

`receive_data` never raises for what the CLI sent: what it does wrong is a value (`Malformed`, `Stray`). What *we* do
wrong (answering twice, answering what was cancelled) raises `LocalProtocolError` and writes nothing.

Both directions of the control channel are correlated here, each request answered exactly once. The connection has no
clock: deadlines are the caller's, who reports them with `expire`.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from typing import Any
from uuid import uuid4

import msgspec

from handrail.errors import LocalProtocolError
from handrail.protocol.blocks import ToolUse
from handrail.protocol.codec import DEFAULT_MAX_LINE, Codec
from handrail.protocol.frames import (
    Assistant,
    ControlCancelRequest,
    ControlRequest,
    ControlResponse,
    ControlResult,
    Frame,
)
from handrail.protocol.state import OURS, THEIRS, Move, Ours, Theirs, next_state

__all__ = [
    "Answered",
    "Asked",
    "Cancelled",
    "Connection",
    "ControlEvent",
    "OurRequest",
    "Stray",
    "TheirRequest",
]

REMEMBERED = 1024
"""How many closed requests are remembered, so that a double or late answer is recognised for what it is."""

LEGACY_PERMISSION_TOOL = "PermissionPromptTool"


class OurRequest(msgspec.Struct, eq=False):
    """A control request that we made of the CLI. `line` is what to write."""

    id: str
    subtype: str
    line: bytes
    state: Ours = Ours.WAITING


class TheirRequest(msgspec.Struct, eq=False):
    """A control request that the CLI made of us; it waits until `respond` or until the CLI cancels it."""

    id: str
    body: dict[str, Any]
    flat: bool = False
    """Whether the CLI speaks the oldest form, answered with `approved` rather than a nested response."""
    state: Theirs = Theirs.PENDING

    @property
    def subtype(self) -> str:
        return str(self.body.get("subtype", ""))


class Asked(msgspec.Struct, frozen=True):
    """The CLI wants an answer to `request`."""

    request: TheirRequest


class Cancelled(msgspec.Struct, frozen=True):
    """The CLI no longer wants an answer to `request`."""

    request: TheirRequest


class Answered(msgspec.Struct, frozen=True):
    """`request` of ours is answered by `result`."""

    request: OurRequest
    result: ControlResult


class Stray(msgspec.Struct, frozen=True):
    """A control frame that fits nothing that is open: a late or double answer, an unknown id. Harmless."""

    frame: Frame
    reason: str


ControlEvent = Asked | Cancelled | Answered | Stray


class Connection:
    """The protocol state of one CLI."""

    def __init__(self, *, max_line: int = DEFAULT_MAX_LINE, dedupe: bool = False) -> None:
        """`dedupe` drops frames whose uuid was seen before, for links on which the CLI resends after a break."""
        self._codec = Codec(max_line)
        self._ours: dict[str, OurRequest] = {}
        self._theirs: dict[str, TheirRequest] = {}
        # Of closed requests only what tells a double or late answer from a wrong one: bodies can be large.
        self._closed_ours: OrderedDict[str, tuple[str, Ours]] = OrderedDict()
        self._closed_theirs: OrderedDict[str, None] = OrderedDict()
        self._events: list[ControlEvent] = []
        self._seen_uuids: OrderedDict[str, None] | None = OrderedDict() if dedupe else None
        self._lost = False
        self._speaks_control = False
        """Whether this CLI uses control frames; then a tool call named like their forerunner is just a tool call."""

    # ------------------------------------------------------------ from the CLI

    def receive_data(self, data: bytes) -> list[Frame]:
        """The frames that `data` completes, in order. Control events follow from `events()`."""
        return self._receive(self._codec.feed(data))

    def receive_eof(self) -> list[Frame]:
        """The CLI is gone: the frames that were left, and every open request is lost."""
        frames = self._receive(self._codec.finish())
        self._lost = True
        for ours in list(self._ours.values()):
            self._move_ours(ours, Move.LOSE)
        for theirs in list(self._theirs.values()):
            self._move_theirs(theirs, Move.LOSE)
        return frames

    def events(self) -> list[ControlEvent]:
        """What happened on the control channel since the last call, in order."""
        events, self._events = self._events, []
        return events

    @property
    def pending(self) -> tuple[TheirRequest, ...]:
        """The CLI's requests that wait for an answer, oldest first."""
        return tuple(self._theirs.values())

    @property
    def waiting(self) -> tuple[OurRequest, ...]:
        """Our requests that wait for the CLI's answer, oldest first."""
        return tuple(self._ours.values())

    def _receive(self, frames: list[Frame]) -> list[Frame]:
        if self._seen_uuids is not None:
            frames = [frame for frame in frames if self._is_new(frame)]
        for frame in frames:
            handle = _HANDLERS.get(frame.__class__)
            if handle is not None:
                handle(self, frame)
        return frames

    def _is_new(self, frame: Frame) -> bool:
        seen = self._seen_uuids
        if seen is None or frame.uuid is None:
            return True
        if frame.uuid in seen:
            return False
        seen[frame.uuid] = None
        if len(seen) > 16 * REMEMBERED:
            seen.popitem(last=False)
        return True

    def _on_response(self, frame: ControlResponse) -> None:
        result = frame.response
        request = self._ours.get(result.request_id)
        if request is None:
            self._events.append(Stray(frame, self._why_stray(result.request_id)))
        else:
            self._speaks_control = True
            self._move_ours(request, Move.ANSWER)
            self._events.append(Answered(request, result))
        self._recover(result)

    def _why_stray(self, request_id: str) -> str:
        closed = self._closed_ours.get(request_id)
        if closed is None:
            return f"an answer to a request that was never made ({request_id!r})"
        subtype, state = closed
        if state is Ours.ANSWERED:
            return f"a second answer to {subtype!r}"
        return f"a late answer to {subtype!r}, which is {state.value}"

    def _recover(self, result: ControlResult) -> None:
        """An `initialize` answer lists what the CLI still waits for: what we do not know of was lost on the way."""
        for body in (
            *result.pending_permission_requests,
            *result.pending_user_dialog_requests,
            *result.pending_elicitation_requests,
        ):
            request = body.get("request")
            if isinstance(request, dict):
                self._open(str(body.get("request_id", "")), request)

    def _on_request(self, frame: ControlRequest) -> None:
        self._speaks_control = True
        if not self._open(frame.request_id, frame.request):
            self._events.append(Stray(frame, f"the request {frame.request_id!r} came twice"))

    def _open(self, request_id: str, body: dict[str, Any], *, flat: bool = False) -> bool:
        if request_id in self._theirs or request_id in self._closed_theirs:
            return False
        request = self._theirs[request_id] = TheirRequest(request_id, body, flat)
        self._events.append(Asked(request))
        return True

    def _on_cancel(self, frame: ControlCancelRequest) -> None:
        request = self._theirs.get(frame.request_id)
        if request is None:
            self._events.append(Stray(frame, f"a cancellation of {frame.request_id!r}, which is not open"))
            return
        self._move_theirs(request, Move.CANCEL)
        self._events.append(Cancelled(request))

    def _on_assistant(self, frame: Assistant) -> None:
        """The oldest CLIs hid a permission request in a tool call of this name.

        A model can make such a call too, so it counts only with a CLI that has not used the control channel.
        """
        if self._speaks_control:
            return
        for block in frame.message.content:
            if isinstance(block, ToolUse) and block.name == LEGACY_PERMISSION_TOOL and isinstance(block.input, dict):
                self._open_legacy(block.id, block.input)

    def _open_legacy(self, tool_use_id: str, asked: dict[str, Any]) -> None:
        request_id = asked.get("request_id")
        if not isinstance(request_id, str):
            return
        if asked.get("tool_name") in (None, "ControlInitializeRequest"):
            body: dict[str, Any] = {"subtype": "initialize"}
        else:
            body = {
                "subtype": "can_use_tool",
                "tool_name": asked["tool_name"],
                "input": asked.get("tool_input") or {},
                "tool_use_id": tool_use_id,
            }
        self._open(request_id, body, flat=True)

    # ------------------------------------------------------------ to the CLI

    def request(self, subtype: str, fields: Mapping[str, Any] | None = None) -> OurRequest:
        """Open a control request of ours; write its `line`."""
        if self._lost:
            raise LocalProtocolError(f"cannot send {subtype!r}: the CLI is gone")
        request_id = str(uuid4())
        body = {**(fields or {}), "subtype": subtype}
        line = _line({"type": "control_request", "request_id": request_id, "request": body})
        request = self._ours[request_id] = OurRequest(request_id, subtype, line)
        return request

    def expire(self, request: OurRequest) -> None:
        """The deadline of `request` has passed; an answer that still comes is a stray."""
        self._move_ours(request, Move.EXPIRE)

    def withdraw(self, request: OurRequest) -> bytes:
        """Tell the CLI that no answer is wanted. 2.1.37 exits when it reads this line: do not send it there."""
        self._move_ours(request, Move.WITHDRAW)
        return _line({"type": "control_cancel_request", "request_id": request.id})

    def respond(self, request: TheirRequest, body: Any) -> bytes:
        """The line that answers `request` with success."""
        if request.flat:
            return self._respond(request, _flat_answer(request, body))
        response = {"subtype": "success", "request_id": request.id, "response": body}
        return self._respond(request, {"type": "control_response", "response": response})

    def respond_error(self, request: TheirRequest, error: str) -> bytes:
        """The line that answers `request` with an error."""
        if request.flat:
            return self._respond(request, _flat_answer(request, {"behavior": "deny", "message": error}))
        response = {"subtype": "error", "request_id": request.id, "error": error}
        return self._respond(request, {"type": "control_response", "response": response})

    def _respond(self, request: TheirRequest, frame: dict[str, Any]) -> bytes:
        line = _line(frame)  # before the move: an answer that cannot be written leaves the request open
        self._move_theirs(request, Move.RESPOND)
        return line

    # ------------------------------------------------------------ state

    def _move_ours(self, request: OurRequest, move: Move) -> None:
        state = next_state(OURS, request.state, move)
        if state is None:
            raise LocalProtocolError(f"cannot {move.value} {request.subtype!r}: it is {request.state.value}")
        request.state = state
        self._ours.pop(request.id, None)
        _remember(self._closed_ours, request.id, (request.subtype, state))

    def _move_theirs(self, request: TheirRequest, move: Move) -> None:
        state = next_state(THEIRS, request.state, move)
        if state is None:
            raise LocalProtocolError(f"cannot {move.value} to {request.subtype!r}: it is {request.state.value}")
        request.state = state
        self._theirs.pop(request.id, None)
        _remember(self._closed_theirs, request.id, None)


_HANDLERS: dict[type[Frame], Any] = {
    ControlResponse: Connection._on_response,
    ControlRequest: Connection._on_request,
    ControlCancelRequest: Connection._on_cancel,
    Assistant: Connection._on_assistant,
}


def _remember(closed: OrderedDict[str, Any], request_id: str, how: Any) -> None:
    closed[request_id] = how
    if len(closed) > REMEMBERED:
        closed.popitem(last=False)


def _flat_answer(request: TheirRequest, body: Any) -> dict[str, Any]:
    denied = isinstance(body, Mapping) and body.get("behavior") == "deny"
    answer: dict[str, Any] = {"type": "control_response", "request_id": request.id, "approved": not denied}
    if denied:
        answer["denial_message"] = body.get("message", "")
    return answer


def _line(frame: dict[str, Any]) -> bytes:
    return msgspec.json.encode(frame) + b"\n"


def user_line(
    content: str | Iterable[Any],
    *,
    uuid: str,
    session_id: str = "",
    parent_tool_use_id: str | None = None,
    extra: Mapping[str, Any] | None = None,
) -> bytes:
    """The line that sends a user message."""
    return _line(
        {
            "type": "user",
            "message": {"role": "user", "content": content if isinstance(content, str) else list(content)},
            "parent_tool_use_id": parent_tool_use_id,
            "session_id": session_id,
            "uuid": uuid,
            **(extra or {}),
        }
    )


def keep_alive_line() -> bytes:
    """The line that says nothing but that we are here."""
    return _line({"type": "keep_alive"})


def environment_line(variables: Mapping[str, str]) -> bytes:
    """The line that changes the CLI's environment variables (applied up to 2.1.150)."""
    return _line({"type": "update_environment_variables", "variables": dict(variables)})

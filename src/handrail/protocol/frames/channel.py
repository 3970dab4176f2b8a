"""The control channel, either way: requests, answers, cancellations, and signs of life."""

from __future__ import annotations

from typing import Any

import msgspec

from handrail.protocol.blocks import Value
from handrail.protocol.frames.base import Frame

__all__ = [
    "ControlCancelRequest",
    "ControlRequest",
    "ControlResponse",
    "ControlResult",
    "KeepAlive",
    "UpdateEnvironmentVariables",
]


class ControlRequest(Frame, tag="control_request"):
    """A request either side makes of the other; `handrail.protocol.control` has the typed bodies."""

    request_id: str = ""
    request: dict[str, Any] = msgspec.field(default_factory=dict)

    @property
    def subtype(self) -> str:
        return str(self.request.get("subtype", ""))


class ControlResult(Value):
    """The body of a control response: success with `response`, or error with `error`."""

    subtype: str = ""
    request_id: str = ""
    response: Any = None
    error: str | None = None
    error_code: str | None = None
    pending_permission_requests: tuple[dict[str, Any], ...] = ()
    pending_user_dialog_requests: tuple[dict[str, Any], ...] = ()
    pending_elicitation_requests: tuple[dict[str, Any], ...] = ()


class ControlResponse(Frame, tag="control_response"):
    response: ControlResult = msgspec.field(default_factory=ControlResult)
    # The oldest hosts answered in this flat form.
    request_id: str | None = None
    approved: bool | None = None
    denial_message: str | None = None

    @property
    def subtype(self) -> str:
        return self.response.subtype


class ControlCancelRequest(Frame, tag="control_cancel_request"):
    request_id: str = ""


class KeepAlive(Frame, tag="keep_alive"):
    pass


class UpdateEnvironmentVariables(Frame, tag="update_environment_variables"):
    variables: dict[str, str] = msgspec.field(default_factory=dict)
    request_id: str | None = None

"""What somebody has to fill in: forms of MCP servers, and the CLI's own dialogs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from msgspec import UNSET, UnsetType, field

from handrail.protocol.control.base import ElicitationAction, ElicitationMode, Payload, Request

__all__ = [
    "DialogReply",
    "Elicitation",
    "ElicitationReply",
    "RequestUserDialog",
]


class ElicitationReply(Payload):
    action: ElicitationAction
    content: Mapping[str, Any] | UnsetType = UNSET


class Elicitation(Request[ElicitationReply], tag="elicitation"):
    sender = "cli"
    mcp_server_name: str = ""
    message: str = ""
    mode: ElicitationMode | str | None = None
    url: str | None = None
    elicitation_id: str | None = None
    requested_schema: dict[str, Any] | None = None
    property_order: tuple[str, ...] | None = None
    title: str | None = None
    display_name: str | None = None
    description: str | None = None


class DialogReply(Payload):
    behavior: Literal["completed", "cancelled"]
    result: Any = UNSET


class RequestUserDialog(Request[DialogReply], tag="request_user_dialog"):
    sender = "cli"
    dialog_kind: str = ""
    payload: dict[str, Any] = field(default_factory=dict)
    tool_use_id: str | None = None

"""The oldest form of asking: a `tool_use` of `PermissionPromptTool` whose input is a whole control frame.

It is answered without an envelope.
"""

from __future__ import annotations

from typing import Any

from msgspec import UNSET, UnsetType, field

from handrail.protocol.control.base import Payload

__all__ = [
    "PromptToolReply",
    "PromptToolRequest",
]


class PromptToolRequest(Payload, tag_field="type", tag="control_request"):
    request_id: str = ""
    tool_name: str = ""
    tool_input: dict[str, Any] = field(default_factory=dict)


class PromptToolReply(Payload, tag_field="type", tag="control_response"):
    request_id: str
    approved: bool
    denial_message: str | UnsetType = UNSET

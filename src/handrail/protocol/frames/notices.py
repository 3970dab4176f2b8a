"""Progress, state and notices beside the conversation."""

from __future__ import annotations

from typing import Any

import msgspec

from handrail.protocol.blocks import Value
from handrail.protocol.frames.base import Frame

__all__ = [
    "ActiveGoal",
    "Attachment",
    "AuthStatus",
    "CommandLifecycle",
    "ConversationReset",
    "Progress",
    "PromptSuggestion",
    "RateLimitEvent",
    "RateLimitInfo",
    "StreamlinedText",
    "StreamlinedToolUseSummary",
    "ToolProgress",
    "ToolUseSummary",
    "TranscriptMirror",
]


class ToolProgress(Frame, tag="tool_progress"):
    tool_use_id: str = ""
    tool_name: str = ""
    parent_tool_use_id: str | None = None
    elapsed_time_seconds: float = 0.0
    task_id: str | None = None
    heartbeat: Any = None
    subagent_type: str | None = None
    subagent_retry: dict[str, Any] | None = None


class ToolUseSummary(Frame, tag="tool_use_summary"):
    summary: str = ""
    preceding_tool_use_ids: tuple[str, ...] = ()


class AuthStatus(Frame, tag="auth_status"):
    is_authenticating: bool = msgspec.field(default=False, name="isAuthenticating")
    output: tuple[str, ...] = ()
    error: str | None = None


class RateLimitInfo(Value, rename="camel"):
    status: str | None = None
    resets_at: float | None = None
    rate_limit_type: str | None = None
    utilization: float | None = None
    overage_status: str | None = None
    overage_disabled_reason: str | None = None
    is_using_overage: bool | None = None


class RateLimitEvent(Frame, tag="rate_limit_event"):
    rate_limit_info: RateLimitInfo | None = None


class PromptSuggestion(Frame, tag="prompt_suggestion"):
    suggestion: str = ""


class ConversationReset(Frame, tag="conversation_reset"):
    new_conversation_id: str = ""
    trigger: str | None = None
    user_message_uuid: str | None = None
    timestamp: str | None = None


class ActiveGoal(Frame, tag="active_goal"):
    value: dict[str, Any] | None = None


class CommandLifecycle(Frame, tag="command_lifecycle"):
    """What became of a message that carried a uuid: queued, started, completed, cancelled, discarded or refused."""

    command_uuid: str = ""
    state: str = ""


class TranscriptMirror(Frame, tag="transcript_mirror"):
    file_path: str | None = msgspec.field(default=None, name="filePath")
    entries: tuple[Any, ...] = ()


class Attachment(Frame, tag="attachment"):
    attachment: dict[str, Any] | None = None
    parent_tool_use_id: str | None = None
    timestamp: str | None = None


class Progress(Frame, tag="progress"):
    """Progress of a tool as older CLIs replay it."""

    progress: dict[str, Any] | None = msgspec.field(default=None, name="data")
    tool_use_id: str | None = msgspec.field(default=None, name="toolUseID")
    outer_tool_use_id: str | None = msgspec.field(default=None, name="parentToolUseID")
    parent_tool_use_id: str | None = None
    timestamp: str | None = None


class StreamlinedText(Frame, tag="streamlined_text"):
    text: str = ""


class StreamlinedToolUseSummary(Frame, tag="streamlined_tool_use_summary"):
    tool_summary: str = ""

"""What is said, by either side, and the result that ends a turn."""

from __future__ import annotations

from typing import Any

import msgspec

from handrail.protocol.blocks import Message, Usage, Value
from handrail.protocol.frames.base import Frame
from handrail.protocol.lenient import plain_value
from handrail.protocol.stream import StreamBody

__all__ = [
    "ApiError",
    "Assistant",
    "DeferredToolUse",
    "ModelUsage",
    "Origin",
    "PermissionDenial",
    "Result",
    "StreamEvent",
    "User",
]

NO_JSON = msgspec.Raw()


class Assistant(Frame, tag="assistant"):
    """What the model said: usually one content block per frame."""

    message: Message = msgspec.field(default_factory=Message)
    parent_tool_use_id: str | None = None
    error: str | None = None
    request_id: str | None = None
    user_message_uuid: str | None = None
    user_message_uuids: tuple[str, ...] = ()
    agent_id: str | None = None
    subagent_type: str | None = None
    task_description: str | None = None
    timestamp: str | None = None
    aborted: bool | None = None
    supersedes: Any = None
    resume_reason: str | None = None
    resumed_from_incomplete_thinking: bool | None = None
    context_usage: dict[str, Any] | None = None
    usage_report: Any = None
    is_api_error_message: bool | None = None
    api_error_status: int | None = None
    api_error_type: str | None = None
    api_error: str | None = None
    tool_use_meta: tuple[dict[str, Any], ...] = ()


class User(Frame, tag="user"):
    """A message from the user's side: a prompt, tool results, or an echo of either."""

    message: Message = msgspec.field(default_factory=Message)
    parent_tool_use_id: str | None = None
    is_synthetic: bool | None = msgspec.field(default=None, name="isSynthetic")
    is_replay: bool | None = msgspec.field(default=None, name="isReplay")
    tool_use_result_json: msgspec.Raw = msgspec.field(default=NO_JSON, name="tool_use_result")
    priority: str | None = None
    origin: Any = None
    should_query: bool | None = msgspec.field(default=None, name="shouldQuery")
    timestamp: str | None = None
    client_composed: Any = None
    pasted_content: Any = None
    inline_pastes: Any = None
    file_attachments: Any = None
    agent_id: str | None = None
    subagent_type: str | None = None
    task_description: str | None = None
    tool_result_meta: tuple[dict[str, Any], ...] = ()

    @property
    def tool_use_result(self) -> Any:
        """The tool's own output, structured. It is large and repeats the content, so it is decoded only here."""
        return plain_value(bytes(self.tool_use_result_json)) if self.tool_use_result_json else None


class StreamEvent(Frame, tag="stream_event"):
    """A piece of a message while it is being written; needs `include_partial_messages`."""

    event: StreamBody | None = None
    parent_tool_use_id: str | None = None
    ttft_ms: float | None = None
    user_message_uuid: str | None = None
    user_message_uuids: tuple[str, ...] = ()
    resume_reason: str | None = None
    api_message_id: str | None = None
    thinking_display: str | None = None


class PermissionDenial(Value):
    tool_name: str = ""
    tool_use_id: str = ""
    tool_input: Any = None


class ModelUsage(Value, rename="camel"):
    """Tokens and cost of one model."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    web_search_requests: int | None = None
    cost_usd: float | None = msgspec.field(default=None, name="costUSD")
    context_window: int | None = None
    max_output_tokens: int | None = None


class Origin(Value):
    """What caused a turn that no message of ours caused."""

    kind: str | None = None
    producer: str | None = None
    run_id: str | None = msgspec.field(default=None, name="runId")


class DeferredToolUse(Value):
    id: str = ""
    name: str = ""
    input: Any = None


class Result(Frame, tag="result"):
    """The end of a turn. `subtype` is success or the kind of error; API failures are successes with `is_error`."""

    subtype: str = ""
    is_error: bool = False
    result: str | None = None
    errors: tuple[str, ...] = ()
    num_turns: int = 0
    duration_ms: float = 0.0
    duration_api_ms: float = 0.0
    total_cost_usd: float = 0.0
    stop_reason: str | None = None
    usage: Usage | None = None
    model_usage: dict[str, ModelUsage] | None = msgspec.field(default=None, name="modelUsage")
    permission_denials: tuple[PermissionDenial, ...] = ()
    structured_output: Any = None
    deferred_tool_use: DeferredToolUse | None = None
    origin: Origin | None = None
    terminal_reason: str | None = None
    user_message_uuid: str | None = None
    user_message_uuids: tuple[str, ...] = ()
    queued_turn_count: int | None = None
    result_index: int | None = None
    resume_reason: str | None = None
    local_command: str | None = None
    api_error_status: int | None = None
    api_error_type: str | None = None
    api_error: str | None = None
    startup_failure_reason: str | None = None
    invalid_config_file: dict[str, Any] | None = None
    credential_expires_at: Any = None
    fast_mode_state: str | None = None
    fast_mode_disabled_reason: str | None = None
    ttft_ms: float | None = None
    ttft_stream_ms: float | None = None
    time_to_request_ms: float | None = None
    time_to_request_from_spawn_ms: float | None = None
    time_origin_ms: float | None = None
    warm_spare_claimed: bool | None = None
    request_sent_wall_ms: float | None = None
    first_content_frame_ms: float | None = None
    first_stream_post_ms: float | None = None
    first_stream_post_ack_ms: float | None = None
    first_stream_post_queue_wait_ms: float | None = None
    first_stream_post_queued_behind: str | None = None
    first_stream_post_wall_ms: float | None = None
    first_text_post_ms: float | None = None
    first_text_post_queue_wait_ms: float | None = None
    first_text_post_queued_behind: str | None = None
    first_text_post_wall_ms: float | None = None

    @property
    def ok(self) -> bool:
        """Whether the turn did what it was asked: older CLIs send error subtypes with `is_error: false`."""
        return self.subtype == "success" and not self.is_error

    @property
    def error(self) -> str | None:
        """What went wrong, in the CLI's words, or None."""
        if self.ok:
            return None
        return "; ".join(self.errors) or self.result or self.subtype or "the result frame could not be read"

    @property
    def from_background(self) -> bool:
        """Whether a background task's end caused this turn, rather than a message."""
        return self.origin is not None and self.origin.kind == "task-notification"


class ApiError(Frame, tag="error"):
    """An error of the API, passed on by older CLIs."""

    error: Any = None

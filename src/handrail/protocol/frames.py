"""Frames: every message that travels on the wire, either way, as a typed struct.

A frame is a view of one line. `.raw` is that line, `.data` its JSON, `.extra` the fields this version of Handrail does
not model; all three are made only when asked for. A type or subtype nobody modelled is an `UnknownFrame`; a field of an
unexpected type leaves its default and says so in `.problems`. So nothing is lost, and encoding a received frame gives
the line it came from.

Frames are values: treat them as read-only.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

import msgspec

from handrail.protocol.blocks import UNKNOWN_TAG, Message, Usage, Value
from handrail.protocol.lenient import plain_object, plain_value
from handrail.protocol.stream import StreamBody

__all__ = [
    "ActiveGoal",
    "ApiError",
    "ApiRetry",
    "Assistant",
    "Attachment",
    "AuthStatus",
    "BackgroundTask",
    "BackgroundTasksChanged",
    "CommandLifecycle",
    "CommandsChanged",
    "CompactBoundary",
    "ControlCancelRequest",
    "ControlRequest",
    "ControlRequestProgress",
    "ControlResponse",
    "ControlResult",
    "ConversationReset",
    "DeferredToolUse",
    "ElicitationComplete",
    "FilesPersisted",
    "Frame",
    "HookProgress",
    "HookResponse",
    "HookStarted",
    "Informational",
    "Init",
    "KeepAlive",
    "LocalCommandOutput",
    "Malformed",
    "McpServer",
    "MemoryRecall",
    "MirrorError",
    "ModelRefusalFallback",
    "ModelRefusalNoFallback",
    "ModelUsage",
    "Notification",
    "Origin",
    "PermissionDenial",
    "PermissionDenied",
    "PluginInstall",
    "Progress",
    "PromptSuggestion",
    "RateLimitEvent",
    "RateLimitInfo",
    "Result",
    "SessionStateChanged",
    "SessionTitleChanged",
    "SessionWritesLost",
    "Status",
    "StreamEvent",
    "StreamlinedText",
    "StreamlinedToolUseSummary",
    "System",
    "TaskNotification",
    "TaskProgress",
    "TaskStarted",
    "TaskUpdated",
    "TaskUsage",
    "ThinkingTokens",
    "ToolProgress",
    "ToolUseSummary",
    "TranscriptMirror",
    "UnknownFrame",
    "UpdateEnvironmentVariables",
    "User",
    "WorkerShuttingDown",
    "encode",
]

NO_LINES: tuple[bytes, ...] = ()
NO_JSON = msgspec.Raw()


class Frame(Value, tag_field="type", eq=False):
    """One message on the wire."""

    uuid: str | None = None
    session_id: str | None = None

    # Where the frame came from. These are struct fields only because msgspec structs have no other slots; their wire
    # names cannot occur, and the codec sets them after decoding.
    line_source: Sequence[bytes] = msgspec.field(default=NO_LINES, name="(line source)")
    line_index: int = msgspec.field(default=0, name="(line index)")
    problems: tuple[str, ...] = msgspec.field(default=(), name="(problems)")

    @property
    def type(self) -> str:
        """The wire's `type`."""
        return str(self.__struct_config__.tag)

    @property
    def raw(self) -> bytes:
        """The line as it was on the wire, without its newline; for a frame made here, as it would be."""
        if self.line_source is NO_LINES:
            return _encode_value(self)
        return self.line_source[self.line_index]

    @property
    def data(self) -> dict[str, Any]:
        """The whole line as plain JSON values."""
        return plain_object(self.raw)

    @property
    def extra(self) -> dict[str, Any]:
        """The fields of this line that the struct does not model."""
        modelled = {"type", "subtype", *self.__struct_encode_fields__}
        return {name: value for name, value in self.data.items() if name not in modelled}

    @property
    def degraded(self) -> bool:
        """Whether some field had an unexpected type; `problems` says which."""
        return bool(self.problems)


def encode(frame: Frame) -> bytes:
    """The frame as a line, without newline. A received frame gives back the JSON it came from."""
    return frame.raw


def _encode_value(frame: Frame) -> bytes:
    """JSON of a frame made on this side. Unknown parts go out as the JSON they hold."""
    body = _restore_unknown(msgspec.json.decode(msgspec.json.encode(frame)))
    if isinstance(frame, System):
        body = {"type": "system", **body}
    return msgspec.json.encode(body)


def _restore_unknown(value: Any) -> Any:
    if isinstance(value, dict):
        if value.get("type") == UNKNOWN_TAG:
            return value.get("(data)", {})
        return {name: _restore_unknown(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_restore_unknown(item) for item in value]
    return value


# ---------------------------------------------------------------- what no model fits


class UnknownFrame(Frame, tag=UNKNOWN_TAG):
    """A frame of a type or subtype that this version of Handrail does not model. `data` has everything."""

    unknown_type: str = msgspec.field(default="", name="(type)")
    subtype: str | None = msgspec.field(default=None, name="(subtype)")

    @property
    def type(self) -> str:
        return self.unknown_type

    @property
    def extra(self) -> dict[str, Any]:
        return {name: value for name, value in self.data.items() if name not in {"type", "subtype"}}


class Malformed(Frame, tag="(malformed)"):
    """A line that is no JSON object, or longer than the limit. The stream goes on behind it.

    `kind` is what was wrong; `reason` says it in words; `raw` is the line, or its beginning if it was too long.
    """

    kind: Literal["not_json", "not_an_object", "no_type", "too_long", "too_deep"] = msgspec.field(
        default="not_json", name="(kind)"
    )
    reason: str = msgspec.field(default="", name="(reason)")
    size: int = msgspec.field(default=0, name="(size)")

    @property
    def type(self) -> str:
        return "malformed"

    @property
    def data(self) -> dict[str, Any]:
        return {}


# ---------------------------------------------------------------- conversation


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


# ---------------------------------------------------------------- system frames


class System(Frame, tag_field="subtype"):
    """A `system` frame: `subtype` names its kind."""

    @property
    def type(self) -> str:
        return "system"

    @property
    def subtype(self) -> str:
        return str(self.__struct_config__.tag)


class McpServer(Value):
    name: str = ""
    status: str = ""
    source: str | None = None


class Init(System, tag="init"):
    """Sent at the start of every turn: the session as the CLI sees it."""

    cwd: str = ""
    model: str = ""
    permission_mode: str = msgspec.field(default="", name="permissionMode")
    claude_code_version: str = ""
    tools: tuple[str, ...] = ()
    mcp_servers: tuple[McpServer, ...] = ()
    slash_commands: tuple[str, ...] = ()
    terminal_slash_commands: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()
    skills: tuple[str, ...] = ()
    plugins: tuple[dict[str, Any], ...] = ()
    plugin_errors: tuple[dict[str, Any], ...] = ()
    output_style: str = ""
    api_key_source: str | None = msgspec.field(default=None, name="apiKeySource")
    betas: tuple[str, ...] = ()
    capabilities: tuple[str, ...] = ()
    effort: str | None = None
    view_mode: str | None = None
    fast_mode_state: str | None = None
    fast_mode_disabled_reason: str | None = None
    original_cwd: str | None = None
    additional_directories: tuple[str, ...] = ()
    memory_paths: Any = None
    user_message_uuids: tuple[str, ...] = ()


class Status(System, tag="status"):
    status: str | None = None
    permission_mode: str | None = msgspec.field(default=None, name="permissionMode")
    compact_result: str | None = None
    compact_error: str | None = None


class CompactBoundary(System, tag="compact_boundary"):
    compact_metadata: dict[str, Any] | None = None
    logical_parent_uuid: str | None = None


class ApiRetry(System, tag="api_retry"):
    attempt: int = 0
    max_retries: int = 0
    retry_delay_ms: float = 0.0
    error_status: int | None = None
    error: str | None = None
    no_response: dict[str, Any] | None = None


class ControlRequestProgress(System, tag="control_request_progress"):
    request_id: str = ""
    status: str = ""
    attempt: int | None = None
    max_retries: int | None = None
    retry_delay_ms: float | None = None
    error_status: int | None = None


class ModelRefusalFallback(System, tag="model_refusal_fallback"):
    trigger: str | None = None
    direction: str | None = None
    scope: str | None = None
    original_model: str | None = None
    fallback_model: str | None = None
    request_id: str | None = None
    api_refusal_category: str | None = None
    api_refusal_explanation: str | None = None
    retracted_message_uuids: tuple[str, ...] = ()
    refused_user_message_uuid: str | None = None
    content: Any = None


class ModelRefusalNoFallback(System, tag="model_refusal_no_fallback"):
    original_model: str | None = None
    request_id: str | None = None
    api_refusal_category: str | None = None
    api_refusal_explanation: str | None = None
    refused_user_message_uuid: str | None = None
    content: Any = None


class LocalCommandOutput(System, tag="local_command_output"):
    content: Any = None


class HookStarted(System, tag="hook_started"):
    hook_id: str = ""
    hook_name: str = ""
    hook_event: str = ""


class HookProgress(System, tag="hook_progress"):
    hook_id: str = ""
    hook_name: str = ""
    hook_event: str = ""
    stdout: str = ""
    stderr: str = ""
    output: str = ""


class HookResponse(System, tag="hook_response"):
    hook_id: str = ""
    hook_name: str = ""
    hook_event: str = ""
    output: str = ""
    stdout: str = ""
    stderr: str = ""
    exit_code: int | None = None
    outcome: str | None = None


class PluginInstall(System, tag="plugin_install"):
    status: str = ""
    name: str | None = None
    error: str | None = None


class TaskUsage(Value):
    total_tokens: int | None = None
    tool_uses: int | None = None
    duration_ms: float | None = None


class TaskStarted(System, tag="task_started"):
    task_id: str = ""
    run_id: str | None = None
    tool_use_id: str | None = None
    description: str = ""
    subagent_type: str | None = None
    is_backgrounded: bool | None = None
    spawn_depth: int | None = None
    parent_task_id: str | None = None
    task_type: str | None = None
    workflow_name: str | None = None
    prompt: str | None = None
    skip_transcript: bool | None = None
    ambient: bool | None = None


class TaskProgress(System, tag="task_progress"):
    task_id: str = ""
    run_id: str | None = None
    tool_use_id: str | None = None
    description: str = ""
    subagent_type: str | None = None
    usage: TaskUsage | None = None
    last_tool_name: str | None = None
    summary: str | None = None


class TaskUpdated(System, tag="task_updated"):
    task_id: str = ""
    run_id: str | None = None
    patch: dict[str, Any] | None = None


class TaskNotification(System, tag="task_notification"):
    task_id: str = ""
    run_id: str | None = None
    tool_use_id: str | None = None
    status: str = ""
    reason: str | None = None
    output_file: str | None = None
    summary: str | None = None
    usage: TaskUsage | None = None
    resource_links: Any = None
    skip_transcript: bool | None = None
    ambient: bool | None = None


class BackgroundTask(Value):
    task_id: str = ""
    run_id: str | None = None
    task_type: str | None = None
    subagent_type: str | None = None
    description: str | None = None
    parent_task_id: str | None = None
    ambient: bool | None = None


class BackgroundTasksChanged(System, tag="background_tasks_changed"):
    tasks: tuple[BackgroundTask, ...] = ()


class ThinkingTokens(System, tag="thinking_tokens"):
    estimated_tokens: int | None = None
    estimated_tokens_delta: int | None = None
    user_message_uuid: str | None = None


class SessionStateChanged(System, tag="session_state_changed"):
    state: str = ""


class WorkerShuttingDown(System, tag="worker_shutting_down"):
    reason: str | None = None


class CommandsChanged(System, tag="commands_changed"):
    commands: tuple[Any, ...] = ()


class Notification(System, tag="notification"):
    key: str = ""
    text: str = ""
    priority: str | None = None
    color: str | None = None
    timeout_ms: float | None = None


class FilesPersisted(System, tag="files_persisted"):
    files: tuple[dict[str, Any], ...] = ()
    failed: tuple[dict[str, Any], ...] = ()
    processed_at: str | None = None


class MemoryRecall(System, tag="memory_recall"):
    mode: str | None = None
    memories: tuple[dict[str, Any], ...] = ()


class ElicitationComplete(System, tag="elicitation_complete"):
    mcp_server_name: str = ""
    elicitation_id: str | None = None


class PermissionDenied(System, tag="permission_denied"):
    tool_name: str = ""
    tool_use_id: str | None = None
    agent_id: str | None = None
    decision_reason_type: str | None = None
    decision_reason_code: str | None = None
    decision_reason: str | None = None
    message: str | None = None


class MirrorError(System, tag="mirror_error"):
    error: Any = None
    key: dict[str, Any] | None = None


class Informational(System, tag="informational"):
    content: Any = None
    level: str | None = None
    tool_use_id: str | None = None
    prevent_continuation: bool | None = None
    tag: str | None = None
    timestamp: str | None = None


class SessionWritesLost(System, tag="session_writes_lost"):
    error_code: str | None = None
    lost: str | None = None
    transcript_session_ids: tuple[str, ...] = ()


class SessionTitleChanged(System, tag="session_title_changed"):
    title: str | None = None


SystemFrame: TypeAlias = (
    Init
    | Status
    | CompactBoundary
    | ApiRetry
    | ControlRequestProgress
    | ModelRefusalFallback
    | ModelRefusalNoFallback
    | LocalCommandOutput
    | HookStarted
    | HookProgress
    | HookResponse
    | PluginInstall
    | TaskStarted
    | TaskProgress
    | TaskUpdated
    | TaskNotification
    | BackgroundTasksChanged
    | ThinkingTokens
    | SessionStateChanged
    | WorkerShuttingDown
    | CommandsChanged
    | Notification
    | FilesPersisted
    | MemoryRecall
    | ElicitationComplete
    | PermissionDenied
    | MirrorError
    | Informational
    | SessionWritesLost
    | SessionTitleChanged
)


class SystemEnvelope(Frame, tag="system"):
    """First look at a `system` line: just enough to know which struct reads it. Never leaves the codec."""

    subtype: str = ""


# ---------------------------------------------------------------- progress, state, notices


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


# ---------------------------------------------------------------- control channel


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


WireFrame: TypeAlias = (
    StreamEvent
    | Assistant
    | User
    | Result
    | SystemEnvelope
    | ApiError
    | ToolProgress
    | ToolUseSummary
    | AuthStatus
    | RateLimitEvent
    | PromptSuggestion
    | ConversationReset
    | ActiveGoal
    | CommandLifecycle
    | TranscriptMirror
    | Attachment
    | Progress
    | StreamlinedText
    | StreamlinedToolUseSummary
    | ControlRequest
    | ControlResponse
    | ControlCancelRequest
    | KeepAlive
    | UpdateEnvironmentVariables
)

"""What each hook event tells: a `HookInput` for every event."""

from __future__ import annotations

from typing import Any, Literal

from msgspec import field

from handrail.protocol.control.base import Effort, ElicitationAction, ElicitationMode, Payload, PermissionMode
from handrail.protocol.control.permissions import McpServerOrigin, PermissionUpdate

__all__ = [
    "BackgroundTask",
    "BatchedToolCall",
    "ConfigChangeInput",
    "CwdChangedInput",
    "DirectoryAddedInput",
    "EffortLevel",
    "ElicitationInput",
    "ElicitationResultInput",
    "FileChangedInput",
    "HookInput",
    "InstructionsLoadedInput",
    "MessageDisplayInput",
    "NotificationInput",
    "PermissionDeniedInput",
    "PermissionRequestInput",
    "PostCompactInput",
    "PostModelSwitchInput",
    "PostToolBatchInput",
    "PostToolUseFailureInput",
    "PostToolUseInput",
    "PreCompactInput",
    "PreModelSwitchInput",
    "PreToolUseInput",
    "SessionCron",
    "SessionEndInput",
    "SessionStartInput",
    "SetupInput",
    "StopFailureInput",
    "StopInput",
    "SubagentStartInput",
    "SubagentStopInput",
    "TaskCompletedInput",
    "TaskCreatedInput",
    "TeammateIdleInput",
    "UserPromptExpansionInput",
    "UserPromptSubmitInput",
    "WorktreeCreateInput",
    "WorktreeRemoveInput",
]


class EffortLevel(Payload):
    level: Effort | str = ""


class HookInput(Payload, tag_field="hook_event_name", tag=lambda name: name.removesuffix("Input")):
    """What every hook event carries. The event's name is the class's name without `Input`."""

    session_id: str = ""
    transcript_path: str = ""
    cwd: str = ""
    prompt_id: str | None = None
    permission_mode: PermissionMode | str | None = None
    agent_id: str | None = None
    agent_type: str | None = None
    effort: EffortLevel | None = None


class PreToolUseInput(HookInput):
    tool_name: str = ""
    tool_input: dict[str, Any] = field(default_factory=dict)
    tool_use_id: str = ""
    mcp_server: McpServerOrigin | None = None


class PostToolUseInput(HookInput):
    tool_name: str = ""
    tool_input: dict[str, Any] = field(default_factory=dict)
    tool_response: Any = None
    tool_use_id: str = ""
    duration_ms: float | None = None
    mcp_server: McpServerOrigin | None = None


class PostToolUseFailureInput(HookInput):
    tool_name: str = ""
    tool_input: dict[str, Any] = field(default_factory=dict)
    tool_use_id: str = ""
    error: str = ""
    is_interrupt: bool = False
    duration_ms: float | None = None
    mcp_server: McpServerOrigin | None = None


class BatchedToolCall(Payload):
    tool_name: str = ""
    tool_input: dict[str, Any] = field(default_factory=dict)
    tool_use_id: str = ""
    tool_response: Any = None


class PostToolBatchInput(HookInput):
    tool_calls: tuple[BatchedToolCall, ...] = ()


class PermissionRequestInput(HookInput):
    tool_name: str = ""
    tool_input: dict[str, Any] = field(default_factory=dict)
    permission_suggestions: tuple[PermissionUpdate, ...] = ()
    mcp_server: McpServerOrigin | None = None


class PermissionDeniedInput(HookInput):
    tool_name: str = ""
    tool_input: dict[str, Any] = field(default_factory=dict)
    tool_use_id: str = ""
    reason: str = ""
    mcp_server: McpServerOrigin | None = None


class NotificationInput(HookInput):
    message: str = ""
    title: str | None = None
    notification_type: str = ""


class UserPromptSubmitInput(HookInput):
    prompt: str = ""
    source: Literal["user", "sdk", "system", "loop_wakeup", "schedule_wakeup", "poll_event"] | str | None = None
    session_title: str | None = None


class UserPromptExpansionInput(HookInput):
    expansion_type: Literal["slash_command", "mcp_prompt"] | str = ""
    command_name: str = ""
    command_args: str = ""
    command_source: str | None = None
    prompt: str = ""


class SessionStartInput(HookInput):
    source: Literal["startup", "resume", "clear", "compact", "fork"] | str = ""
    model: str | None = None
    session_title: str | None = None
    seconds_since_last_response: float | None = None
    context_tokens: int | None = None
    prompt_cache_likely_expired: bool | None = None
    estimated_cache_write_usd: float | None = None


class SessionEndInput(HookInput):
    reason: Literal["clear", "resume", "logout", "prompt_input_exit", "other"] | str = ""


class BackgroundTask(Payload):
    id: str = ""
    type: str = ""
    status: str = ""
    description: str = ""
    command: str | None = None
    agent_type: str | None = None
    server: str | None = None
    tool: str | None = None
    name: str | None = None


class SessionCron(Payload):
    id: str = ""
    schedule: str = ""
    recurring: bool = False
    prompt: str = ""


class StopInput(HookInput):
    stop_hook_active: bool = False
    last_assistant_message: str | None = None
    background_tasks: tuple[BackgroundTask, ...] = ()
    session_crons: tuple[SessionCron, ...] = ()


class StopFailureInput(HookInput):
    error: str = ""
    error_details: str | None = None
    last_assistant_message: str | None = None


class SubagentStartInput(HookInput):
    pass


class SubagentStopInput(HookInput):
    stop_hook_active: bool = False
    agent_transcript_path: str = ""
    last_assistant_message: str | None = None
    background_tasks: tuple[BackgroundTask, ...] = ()
    session_crons: tuple[SessionCron, ...] = ()


class PreCompactInput(HookInput):
    trigger: Literal["manual", "auto"] | str = ""
    custom_instructions: str | None = None


class PostCompactInput(HookInput):
    trigger: Literal["manual", "auto"] | str = ""
    compact_summary: str = ""


class _ModelSwitchInput(HookInput):
    from_model: str = ""
    to_model: str = ""
    requested_model: str | None = None
    source: Literal["command", "picker", "sdk", "auto", "resume"] | str = ""
    context_tokens: int = 0
    prompt_cache_warm: bool = False
    cache_ttl: Literal["5m", "1h"] | str = ""
    estimated_cache_write_usd: float = 0.0
    pricing: Literal["configured", "catalog", "default"] | str = ""


class PreModelSwitchInput(_ModelSwitchInput):
    pass


class PostModelSwitchInput(_ModelSwitchInput):
    pass


class SetupInput(HookInput):
    trigger: Literal["init", "maintenance"] | str = ""


class TeammateIdleInput(HookInput):
    teammate_name: str = ""
    team_name: str = ""


class _TaskInput(HookInput):
    task_id: str = ""
    task_subject: str = ""
    task_description: str | None = None
    teammate_name: str | None = None
    team_name: str | None = None


class TaskCreatedInput(_TaskInput):
    pass


class TaskCompletedInput(_TaskInput):
    pass


class ElicitationInput(HookInput):
    mcp_server_name: str = ""
    message: str = ""
    mode: ElicitationMode | str | None = None
    url: str | None = None
    elicitation_id: str | None = None
    requested_schema: dict[str, Any] | None = None


class ElicitationResultInput(HookInput):
    mcp_server_name: str = ""
    elicitation_id: str | None = None
    mode: ElicitationMode | str | None = None
    action: ElicitationAction | str = ""
    content: dict[str, Any] | None = None


class ConfigChangeInput(HookInput):
    source: Literal["user_settings", "project_settings", "local_settings", "policy_settings", "skills"] | str = ""
    file_path: str | None = None


class InstructionsLoadedInput(HookInput):
    file_path: str = ""
    memory_type: Literal["User", "Project", "Local", "Managed"] | str = ""
    load_reason: Literal["session_start", "nested_traversal", "path_glob_match", "include", "compact"] | str = ""
    globs: tuple[str, ...] | None = None
    trigger_file_path: str | None = None
    parent_file_path: str | None = None


class CwdChangedInput(HookInput):
    old_cwd: str = ""
    new_cwd: str = ""


class DirectoryAddedInput(HookInput):
    directory: str = ""
    source: Literal["slash_command", "register_repo_root"] | str = ""


class FileChangedInput(HookInput):
    file_path: str = ""
    event: Literal["change", "add", "unlink"] | str = ""


class WorktreeCreateInput(HookInput):
    name: str = ""


class WorktreeRemoveInput(HookInput):
    worktree_path: str = ""


class MessageDisplayInput(HookInput):
    turn_id: str = ""
    message_id: str = ""
    index: int = 0
    final: bool = False
    delta: str = ""

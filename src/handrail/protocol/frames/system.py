"""Frames of type `system`: what the CLI says of the session and of itself."""

from __future__ import annotations

from typing import Any

import msgspec

from handrail.protocol.blocks import Value
from handrail.protocol.frames.base import System

__all__ = [
    "ApiRetry",
    "CommandsChanged",
    "CompactBoundary",
    "ControlRequestProgress",
    "ElicitationComplete",
    "FilesPersisted",
    "HookProgress",
    "HookResponse",
    "HookStarted",
    "Informational",
    "Init",
    "LocalCommandOutput",
    "McpServer",
    "MemoryRecall",
    "MirrorError",
    "ModelRefusalFallback",
    "ModelRefusalNoFallback",
    "Notification",
    "PermissionDenied",
    "PluginInstall",
    "SessionStateChanged",
    "SessionTitleChanged",
    "SessionWritesLost",
    "Status",
    "ThinkingTokens",
    "WorkerShuttingDown",
]


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

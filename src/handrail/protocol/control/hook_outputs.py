"""What a hook may answer: a `HookOutput`, with a part of its own for each event, and the request that asks for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

from msgspec import UNSET, UnsetType, field

from handrail.protocol.control.base import ElicitationAction, Payload, Request, RuleBehavior
from handrail.protocol.control.permissions import PermissionAllow, PermissionDeny

__all__ = [
    "CwdChangedOutput",
    "ElicitationOutput",
    "ElicitationResultOutput",
    "FileChangedOutput",
    "HookCallback",
    "HookOutput",
    "HookSpecificOutput",
    "MessageDisplayOutput",
    "NotificationOutput",
    "PermissionDeniedOutput",
    "PermissionRequestOutput",
    "PostModelSwitchOutput",
    "PostToolBatchOutput",
    "PostToolUseFailureOutput",
    "PostToolUseOutput",
    "PreModelSwitchOutput",
    "PreToolUseOutput",
    "SessionStartOutput",
    "SetupOutput",
    "StopOutput",
    "SubagentStartOutput",
    "SubagentStopOutput",
    "UserPromptExpansionOutput",
    "UserPromptSubmitOutput",
    "WorktreeCreateOutput",
]


class _SpecificOutput(Payload, tag_field="hookEventName", tag=lambda name: name.removesuffix("Output"), rename="camel"):
    pass


class _ContextOutput(_SpecificOutput):
    additional_context: str | UnsetType = UNSET


class PreToolUseOutput(_ContextOutput):
    permission_decision: Literal["allow", "deny", "ask", "defer"] | UnsetType = UNSET
    permission_decision_reason: str | UnsetType = UNSET
    updated_input: Mapping[str, Any] | UnsetType = UNSET


class PostToolUseOutput(_ContextOutput):
    classifier_context: str | UnsetType = UNSET
    updated_tool_output: Any = UNSET
    updated_mcp_tool_output: Any = field(default=UNSET, name="updatedMCPToolOutput")


class PostToolUseFailureOutput(_ContextOutput):
    pass


class PostToolBatchOutput(_ContextOutput):
    pass


class PermissionRequestOutput(_SpecificOutput):
    decision: PermissionAllow | PermissionDeny


class PermissionDeniedOutput(_SpecificOutput):
    retry: bool | UnsetType = UNSET


class NotificationOutput(_ContextOutput):
    pass


class UserPromptSubmitOutput(_ContextOutput):
    session_title: str | UnsetType = UNSET
    suppress_original_prompt: bool | UnsetType = UNSET


class UserPromptExpansionOutput(_ContextOutput):
    suppress_original_prompt: bool | UnsetType = UNSET


class SessionStartOutput(_ContextOutput):
    initial_user_message: str | UnsetType = UNSET
    session_title: str | UnsetType = UNSET
    watch_paths: Sequence[str] | UnsetType = UNSET
    reload_skills: bool | UnsetType = UNSET


class StopOutput(_ContextOutput):
    pass


class SubagentStartOutput(_ContextOutput):
    pass


class SubagentStopOutput(_ContextOutput):
    pass


class PreModelSwitchOutput(_SpecificOutput):
    permission_decision: RuleBehavior | UnsetType = UNSET
    permission_decision_reason: str | UnsetType = UNSET


class PostModelSwitchOutput(_ContextOutput):
    pass


class SetupOutput(_ContextOutput):
    pass


class _ElicitedOutput(_SpecificOutput):
    action: ElicitationAction | UnsetType = UNSET
    content: Mapping[str, Any] | UnsetType = UNSET


class ElicitationOutput(_ElicitedOutput):
    pass


class ElicitationResultOutput(_ElicitedOutput):
    pass


class _WatchOutput(_SpecificOutput):
    watch_paths: Sequence[str] | UnsetType = UNSET


class CwdChangedOutput(_WatchOutput):
    pass


class FileChangedOutput(_WatchOutput):
    pass


class WorktreeCreateOutput(_SpecificOutput):
    worktree_path: str


class MessageDisplayOutput(_SpecificOutput):
    display_content: str | UnsetType = UNSET


HookSpecificOutput: TypeAlias = (
    PreToolUseOutput
    | PostToolUseOutput
    | PostToolUseFailureOutput
    | PostToolBatchOutput
    | PermissionRequestOutput
    | PermissionDeniedOutput
    | NotificationOutput
    | UserPromptSubmitOutput
    | UserPromptExpansionOutput
    | SessionStartOutput
    | StopOutput
    | SubagentStartOutput
    | SubagentStopOutput
    | PreModelSwitchOutput
    | PostModelSwitchOutput
    | SetupOutput
    | ElicitationOutput
    | ElicitationResultOutput
    | CwdChangedOutput
    | FileChangedOutput
    | WorktreeCreateOutput
    | MessageDisplayOutput
)


class HookOutput(Payload, rename="camel"):
    """A hook's answer; `HookOutput()` has no opinion. With `async_=True` the CLI goes on without waiting for more."""

    continue_: bool | UnsetType = field(default=UNSET, name="continue")
    stop_reason: str | UnsetType = UNSET
    suppress_output: bool | UnsetType = UNSET
    system_message: str | UnsetType = UNSET
    terminal_sequence: str | UnsetType = UNSET
    decision: Literal["approve", "block"] | UnsetType = UNSET
    reason: str | UnsetType = UNSET
    hook_specific_output: HookSpecificOutput | UnsetType = UNSET
    async_: bool | UnsetType = field(default=UNSET, name="async")
    async_timeout: float | UnsetType = UNSET


class HookCallback(Request[HookOutput], tag="hook_callback"):
    """`input` becomes the struct in `HOOK_EVENTS`, and stays a dict for an event nobody modelled."""

    sender = "cli"
    callback_id: str | None = None
    input: dict[str, Any] = field(default_factory=dict)
    tool_use_id: str | None = None
    issued_at: float | None = None
    deadline_ms: float | None = None
    # The older form: a notification about a hook, without a callback.
    hook_name: str | None = None
    hook_data: dict[str, Any] | None = None

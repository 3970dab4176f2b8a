"""Modes, models and settings, and the rules and hooks that are in force."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from msgspec import UNSET, UnsetType, field

from handrail.protocol.control.base import Acknowledged, Effort, Payload, PermissionMode, Request, RuleBehavior
from handrail.protocol.control.conversation import ModelInfo

__all__ = [
    "AppliedSettings",
    "ApplyFlagSettings",
    "ConfiguredHook",
    "EditableHook",
    "GetHooksListing",
    "GetSettings",
    "HookEventInfo",
    "HooksBareMode",
    "HooksListing",
    "HooksPolicy",
    "HooksSafeMode",
    "ListModels",
    "ListPermissionRules",
    "ModelSet",
    "Models",
    "PermissionModeSet",
    "PermissionRules",
    "PermissionRulesState",
    "RuleDescription",
    "RuleEntry",
    "SetMaxThinkingTokens",
    "SetModel",
    "SetPermissionMode",
    "Settings",
    "SettingsError",
    "SettingsSource",
    "UpdateSettings",
    "WorkspaceDirectory",
]


class PermissionModeSet(Payload):
    mode: PermissionMode | str | None = None


class SetPermissionMode(Request[PermissionModeSet], tag="set_permission_mode"):
    mode: PermissionMode | str
    ultraplan: bool | UnsetType = UNSET
    from_settings: bool | UnsetType = UNSET


class ModelSet(Payload):
    """Empty up to 2.1.197."""

    model: str | None = None


class SetModel(Request[ModelSet], tag="set_model"):
    """None, or no model at all, goes back to the default model."""

    model: str | UnsetType | None = UNSET
    system_prompt: str | UnsetType = UNSET
    only_if_model_is_current: bool | UnsetType = UNSET


class Models(Payload):
    models: tuple[ModelInfo, ...] = ()


class ListModels(Request[Models], tag="list_models"):
    since = "2.1.325"


class SetMaxThinkingTokens(Request[Acknowledged], tag="set_max_thinking_tokens"):
    max_thinking_tokens: int | UnsetType | None = UNSET
    thinking_display: Literal["summarized", "omitted", "highlights"] | UnsetType | None = UNSET


class ApplyFlagSettings(Request[Acknowledged], tag="apply_flag_settings"):
    since = "2.1.52"
    settings: Mapping[str, Any]


class UpdateSettings(Request[Acknowledged], tag="update_settings"):
    """Writes to a settings file; the CLI accepts only a few keys this way (`outputStyle` is one)."""

    since = "2.1.325"
    source: Literal["localSettings", "userSettings"]
    settings: Mapping[str, Any]


class SettingsSource(Payload):
    source: str = ""
    settings: dict[str, Any] = field(default_factory=dict)


class AppliedSettings(Payload, rename="camel"):
    model: str | None = None
    effort: Effort | str | None = None
    advisor: Any = None
    ultracode: bool | None = None
    ultracode_requested: bool | None = None
    ultracode_available: bool | None = None
    ultrathink_available: bool | None = None
    outside_file_tool_reads_blocked: bool | None = None
    outside_file_tool_writes_blocked: bool | None = None
    outside_blocks_count_launch_folders_only: bool | None = None
    launch_env_left_own_files_in_place: bool | None = None


class SettingsError(Payload):
    file: str | None = None
    path: str = ""
    message: str = ""


class Settings(Payload):
    effective: dict[str, Any] = field(default_factory=dict)
    sources: tuple[SettingsSource, ...] = ()
    applied: AppliedSettings | None = None
    errors: tuple[SettingsError, ...] = ()
    remote_control_policy_lock_reason: str | None = None
    withheld: bool | None = None


class GetSettings(Request[Settings], tag="get_settings"):
    since = "2.1.120"


class RuleDescription(Payload):
    prefix: str = ""
    emphasis: str = ""
    suffix: str = ""


class RuleEntry(Payload, rename="camel"):
    behavior: RuleBehavior | str = ""
    source: str = ""
    rule: str = ""
    description: RuleDescription | None = None
    editability: Literal["persistent", "session", "readonly"] | str = ""
    not_in_effect: bool = False


class WorkspaceDirectory(Payload):
    path: str = ""
    source: str = ""


class PermissionRulesState(Payload, rename="camel"):
    rules: tuple[RuleEntry, ...] = ()
    workspace_directories: tuple[WorkspaceDirectory, ...] = ()
    original_cwd: str = ""
    managed_only: bool = False
    errors: tuple[SettingsError, ...] = ()
    withheld: bool | None = None


class PermissionRules(Payload):
    state: PermissionRulesState | None = None


class ListPermissionRules(Request[PermissionRules], tag="list_permission_rules"):
    since = "2.1.325"


class HookEventInfo(Payload, rename="camel"):
    name: str = ""
    summary: str = ""
    supports_matcher: bool = False
    hook_count: int | None = None


class EditableHook(Payload, rename="camel"):
    matcher: str = ""
    config: dict[str, Any] = field(default_factory=dict)
    headers_redacted: bool = False


class ConfiguredHook(Payload, rename="camel"):
    event: str = ""
    matcher: str = ""
    source: str = ""
    source_label: str = ""
    plugin_name: str | None = None
    type: str = ""
    display_text: str = ""
    command_text: str = ""
    content_label: str = ""
    condition: str | None = None
    timeout: float | None = None
    status_message: str | None = None
    runs_once: bool = False
    runs_in_background: bool = False
    disabled: bool = False
    editable: EditableHook | None = None


class HooksPolicy(Payload, rename="camel"):
    disabled_by_policy: bool = False
    managed_only: bool = False
    plugin_only: bool = False
    all_disabled: bool = False
    policy_hook_count: int = 0
    policy_unreadable: bool = False


class HooksSafeMode(Payload, rename="camel"):
    managed_hooks_still_apply: bool = False
    exit_hint: str = ""


class HooksBareMode(Payload, rename="camel"):
    exit_hint: str = ""


class HooksListing(Payload, rename="camel"):
    events: tuple[HookEventInfo, ...] = ()
    hooks: tuple[ConfiguredHook, ...] = ()
    event_catalog: tuple[HookEventInfo, ...] = ()
    policy: HooksPolicy | None = None
    safe_mode: HooksSafeMode | None = None
    bare_mode: HooksBareMode | None = None
    errors: tuple[SettingsError, ...] = ()


class GetHooksListing(Request[HooksListing], tag="get_hooks_listing"):
    since = "2.1.325"

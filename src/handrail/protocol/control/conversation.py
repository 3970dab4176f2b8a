"""Start, interruption and end of a conversation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from msgspec import UNSET, UnsetType

from handrail.protocol.control.base import SLOW, Acknowledged, Effort, Payload, PermissionMode, Request, SessionState

__all__ = [
    "Account",
    "AgentInfo",
    "AttachServeRequest",
    "AuthConflict",
    "ControlInitialize",
    "EndSession",
    "HookMatcher",
    "Initialize",
    "Initialized",
    "Interrupt",
    "Interrupted",
    "ModelInfo",
    "SdkControlInterrupt",
    "SlashCommand",
    "WorkspaceTrust",
]


class HookMatcher(Payload, rename="camel"):
    """`on_failure="block"` needs a CLI whose `Initialized.hook_on_failure_supported` is true."""

    matcher: str | UnsetType = UNSET
    hook_callback_ids: Sequence[str]
    timeout: float | UnsetType = UNSET
    on_failure: Literal["continue", "block"] | UnsetType = UNSET


class WorkspaceTrust(Payload):
    accepted: bool
    directory: str


class AttachServeRequest(Payload, rename="camel"):
    work_id: str
    environment_id: str
    resume_only: bool | UnsetType = UNSET


class SlashCommand(Payload, rename="camel"):
    name: str = ""
    description: str = ""
    argument_hint: str = ""
    aliases: tuple[str, ...] = ()
    builtin: bool = False


class AgentInfo(Payload):
    name: str = ""
    description: str = ""
    model: str | None = None


class ModelInfo(Payload, rename="camel"):
    value: str = ""
    resolved_model: str | None = None
    display_name: str = ""
    description: str = ""
    supports_effort: bool = False
    supported_effort_levels: tuple[Effort | str, ...] = ()
    supports_adaptive_thinking: bool = False
    supports_fast_mode: bool = False
    supports_auto_mode: bool = False
    supports_thinking_off: bool | None = None


class Account(Payload, rename="camel"):
    email: str | None = None
    organization: str | None = None
    subscription_type: str | None = None
    token_source: str | None = None
    api_key_source: str | None = None
    api_provider: str | None = None


class AuthConflict(Payload):
    token_source: str | None = None
    api_key_source: str | None = None


class Initialized(Payload):
    commands: tuple[SlashCommand, ...] = ()
    agents: tuple[AgentInfo, ...] = ()
    output_style: str = ""
    available_output_styles: tuple[str, ...] = ()
    user_output_styles_dir: str | None = None
    models: tuple[ModelInfo, ...] = ()
    unavailable_models: tuple[Any, ...] = ()
    account: Account | None = None
    auth_conflict: AuthConflict | None = None
    pid: int | None = None
    claude_code_version: str | None = None
    capabilities: tuple[str, ...] = ()
    current_model: str | None = None
    current_permission_mode: PermissionMode | str | None = None
    permission_mode_from_default_fallback: bool | None = None
    session_state: SessionState | str | None = None
    inbound_read_receipts: bool | None = None
    hooks_applied: bool | None = None
    hook_on_failure_supported: bool | None = None
    other_hook_ask_outranks_host: bool | None = None
    code_running_mcp_tools_applied: dict[str, tuple[str, ...]] | None = None
    plugins_applied: bool | None = None
    managed_settings_applied: bool | None = None
    host_worded_asks: bool | None = None
    workspace_trust_recorded: bool | None = None
    sdk_mcp_manifests_parked: (
        dict[
            str,
            Literal["parked", "already_connected", "protocol_version_mismatch", "malformed", "not_honoured"] | str,
        ]
        | None
    ) = None
    fast_mode: bool | None = None
    fast_mode_state: Literal["off", "cooldown", "on"] | str | None = None
    fast_mode_disabled_reason: str | None = None
    auto_default_nudge: Any = None
    footer_indicator: Any = None
    feedback_survey_config: Any = None
    survey_followup_box: Any = None
    feedback_mode: Any = None
    analytics_disabled: bool | None = None
    remote_control_available: bool | None = None
    remote_control_auto_enable: bool | None = None
    remote_control_auto_on_by_default: bool | None = None
    remote_control_auto_connect_default: bool | None = None
    ide_rc_auto_enable_gate: bool | None = None
    claude_in_chrome_at_startup: bool | None = None
    claude_in_chrome_prompt_disabled: bool | None = None


class Initialize(Request[Initialized], tag="initialize", rename="camel"):
    timeout = SLOW
    hooks: Mapping[str, Sequence[HookMatcher]] | UnsetType = UNSET
    sdk_mcp_servers: Sequence[str] | UnsetType = UNSET
    sdk_mcp_server_configs: Mapping[str, Any] | UnsetType = UNSET
    sdk_mcp_server_manifests: Mapping[str, Any] | UnsetType = UNSET
    sdk_mcp_server_manifests_origin: Literal["host_per_send"] | UnsetType = UNSET
    json_schema: Mapping[str, Any] | UnsetType = UNSET
    system_prompt: str | Sequence[str] | UnsetType = UNSET
    append_system_prompt: str | UnsetType = UNSET
    system_prompt_snapshot: bool | UnsetType = UNSET
    plan_mode_instructions: str | UnsetType = UNSET
    append_subagent_system_prompt: str | UnsetType = UNSET
    tool_aliases: Mapping[str, str] | UnsetType = UNSET
    code_running_mcp_tools: Mapping[str, Sequence[str]] | UnsetType = UNSET
    exclude_dynamic_sections: bool | UnsetType = UNSET
    agents: Mapping[str, Any] | UnsetType = UNSET
    title: str | UnsetType = UNSET
    skills: Sequence[str] | UnsetType = UNSET
    web_search_isolation_exempt_mcp_servers: Sequence[str] | UnsetType = UNSET
    prompt_suggestions: bool | UnsetType = UNSET
    agent_progress_summaries: bool | UnsetType = UNSET
    forward_subagent_text: bool | UnsetType = UNSET
    forward_nested_subagent_tool_calls: bool | UnsetType = UNSET
    supported_dialog_kinds: Sequence[str] | UnsetType = UNSET
    renders_chrome_setup_offer: bool | UnsetType = UNSET
    per_task_stop_affordance: bool | UnsetType = UNSET
    rapid_followup_preempt: bool | UnsetType = UNSET
    plugins: Sequence[Mapping[str, Any]] | UnsetType = UNSET
    managed_settings: Mapping[str, Any] | UnsetType = UNSET
    workspace_trust: WorkspaceTrust | UnsetType = UNSET
    attach_serve_request: AttachServeRequest | UnsetType = UNSET
    # The older handshake; today's CLI ignores both.
    protocol_version: str | UnsetType = UNSET
    features: Sequence[str] | UnsetType = UNSET


class ControlInitialize(Request[Acknowledged], tag="initialize"):
    """An older CLI's own handshake; it only wants to be acknowledged."""

    sender = "cli"


class Interrupted(Payload):
    """Empty up to 2.1.197."""

    still_queued: tuple[str, ...] = ()
    put_back: tuple[str, ...] = ()
    cancelled: tuple[str, ...] = ()
    send_now: Literal["stopped", "delivering", "nothing_waiting"] | str | None = None
    turn: Literal["stopped", "idle", "spared"] | str | None = None


class Interrupt(Request[Interrupted], tag="interrupt"):
    reason: str | UnsetType = UNSET
    cancel_queued: bool | UnsetType = UNSET
    send_now: bool | UnsetType = UNSET
    message_uuid: str | UnsetType = UNSET
    for_user_message_uuids: Sequence[str] | UnsetType = UNSET
    spare_background_tasks: bool | UnsetType = UNSET
    worker_epoch: int | UnsetType = UNSET


class SdkControlInterrupt(Request[Acknowledged], tag="sdk_control_interrupt"):
    """An older CLI's notice that it took an interrupt."""

    sender = "cli"


class EndSession(Request[Acknowledged], tag="end_session"):
    """Ends the CLI with exit code 0."""

    since = "2.1.120"
    reason: str | UnsetType = UNSET

"""The control protocol as one table: a struct for every request, and for what answers it.

    class SetModel(Request[ModelSet], tag="set_model"):      # subtype "set_model" is answered with a ModelSet
        model: str | UnsetType | None = UNSET

The table is all there is: `HOST_REQUESTS` and `CLI_REQUESTS` are read off the classes, and one generic call serves
every row (`await client.request(SetModel(model="opus"))` returns a `ModelSet`). Names are Python's; the wire's own
mixture of snake_case and camelCase is kept in `rename=` and `field(name=…)`.

What we send is exact: fields the CLI needs are required, the rest is `UNSET` until given, so that null and absent
differ. What the CLI sends is open, because its fields come and go between versions: every field has a default, unknown
fields are ignored, and a set of known words is `Literal[…] | str`; only discriminators are required. Permission
updates go both ways and are exact: a rule without its behaviour must not read as any rule.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar, Generic, Literal, TypeAlias, TypeVar, dataclass_transform, get_args

import msgspec
from msgspec import UNSET, UnsetType, field

from handrail.protocol.blocks import Unknown

ReplyT_co = TypeVar("ReplyT_co", covariant=True)
PayloadT = TypeVar("PayloadT", bound="Payload")

Sender: TypeAlias = Literal["host", "cli", "either"]

PermissionMode: TypeAlias = Literal[
    "default",
    "acceptEdits",
    "plan",
    "auto",
    "dontAsk",
    "bypassPermissions",
    "delegate",  # gone by 2.1.52
]
PERMISSION_MODES: tuple[PermissionMode, ...] = get_args(PermissionMode)

RuleBehavior: TypeAlias = Literal["allow", "deny", "ask"]
RuleDestination: TypeAlias = Literal["userSettings", "projectSettings", "localSettings", "session", "cliArg"]
DecisionClassification: TypeAlias = Literal["user_temporary", "user_permanent", "user_reject"]
Effort: TypeAlias = Literal["low", "medium", "high", "xhigh", "max"]
ElicitationMode: TypeAlias = Literal["form", "url"]
ElicitationAction: TypeAlias = Literal["accept", "decline", "cancel"]
SessionState: TypeAlias = Literal["idle", "running", "requires_action"]

SLOW = 60.0
"""The deadline of what may have to start a process or touch many files: initialize, MCP, rewind."""


class _KeywordOnly(msgspec.StructMeta):
    """Makes every struct below keyword-only (msgspec does not inherit that): the order of fields is no contract."""

    def __new__(mcls, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **config: Any) -> Any:
        return super().__new__(mcls, name, bases, namespace, kw_only=True, **config)


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(field,))
class Payload(msgspec.Struct, frozen=True, omit_defaults=True, metaclass=_KeywordOnly):
    """An object inside a control frame."""


class Request(Payload, Generic[ReplyT_co], tag_field="subtype"):
    """The `request` of a control frame, answered with a `ReplyT_co`."""

    sender: ClassVar[Sender] = "host"
    reply: ClassVar[type[Payload]]
    """What the answer's `response` is."""
    timeout: ClassVar[float] = 30.0
    """Seconds to wait for the CLI's answer unless the caller says otherwise."""
    since: ClassVar[str | None] = "2.1.37"
    """The oldest CLI seen to know this request, of 2.1.37, .52, .62, .120, .197 and .325; None: none of them."""

    def __init_subclass__(cls) -> None:
        (base,) = cls.__dict__["__orig_bases__"]
        (cls.reply,) = get_args(base)

    @property
    def subtype(self) -> str:
        return str(self.__struct_config__.tag)


class Acknowledged(Payload):
    """An empty answer: it was done."""


# ---------------------------------------------------------------------------------------------------------------------
# Permissions


class Rule(Payload, rename="camel"):
    tool_name: str
    rule_content: str | UnsetType = UNSET


class _RulesUpdate(Payload, tag_field="type"):
    rules: Sequence[Rule]
    behavior: RuleBehavior | str
    destination: RuleDestination | str


class AddRules(_RulesUpdate, tag="addRules"):
    pass


class ReplaceRules(_RulesUpdate, tag="replaceRules"):
    pass


class RemoveRules(_RulesUpdate, tag="removeRules"):
    pass


class SetMode(Payload, tag_field="type", tag="setMode"):
    mode: PermissionMode | str
    destination: RuleDestination | str


class _DirectoriesUpdate(Payload, tag_field="type"):
    directories: Sequence[str]
    destination: RuleDestination | str


class AddDirectories(_DirectoriesUpdate, tag="addDirectories"):
    pass


class RemoveDirectories(_DirectoriesUpdate, tag="removeDirectories"):
    pass


PermissionUpdate: TypeAlias = (
    AddRules | ReplaceRules | RemoveRules | SetMode | AddDirectories | RemoveDirectories | Unknown
)


class PermissionResult(Payload, tag_field="behavior", rename="camel"):
    """What a tool call's permission is answered with: a `PermissionAllow` or a `PermissionDeny`."""

    tool_use_id: str | UnsetType = field(default=UNSET, name="toolUseID")
    decision_classification: DecisionClassification | UnsetType = UNSET


class PermissionAllow(PermissionResult, tag="allow"):
    """Up to 2.1.197 the CLI refuses an allow without `updated_input`: echo the original input to change nothing."""

    updated_input: Mapping[str, Any] | UnsetType = UNSET
    updated_permissions: Sequence[PermissionUpdate] | UnsetType = UNSET


class PermissionDeny(PermissionResult, tag="deny"):
    message: str
    interrupt: bool | UnsetType = UNSET


class McpServerOrigin(Payload):
    """The MCP server a tool belongs to, and where that server was configured."""

    name: str = ""
    source: str = ""


class MatchedAskRule(Payload):
    source: str = ""
    tool_name: str = ""
    rule_content: str | None = None


class ComputerFolder(Payload):
    path: str = ""
    computer_name: str = ""


class CanUseTool(Request[PermissionResult], tag="can_use_tool"):
    sender = "cli"
    tool_name: str = ""
    input: dict[str, Any] = {}
    tool_use_id: str = ""
    agent_id: str | None = None
    mcp_server: McpServerOrigin | None = None
    title: str | None = None
    display_name: str | None = None
    description: str | None = None
    permission_suggestions: tuple[PermissionUpdate, ...] = ()
    blocked_path: str | None = None
    decision_reason: str | None = None
    decision_reason_type: (
        Literal[
            "rule",
            "mode",
            "subcommandResults",
            "permissionPromptTool",
            "hook",
            "asyncAgent",
            "sandboxOverride",
            "workingDir",
            "safetyCheck",
            "classifier",
            "other",
        ]
        | str
        | None
    ) = None
    decision_reason_code: Literal["org_ask_ceiling"] | str | None = None
    decision_reason_rule_source: str | None = None
    decision_reason_hook_event: Literal["PreToolUse", "tool.check"] | str | None = None
    decision_reason_hook_source: str | None = None
    decision_reason_hook_plugin_id: str | None = None
    server_policy_ask_only: bool = False
    classifier_approvable: bool | None = None
    suppress_always_allow_rule: bool = False
    default_to_no: bool = False
    matched_ask_rule: MatchedAskRule | None = None
    plugin: Any = None
    requires_user_interaction: bool = False
    server_prompt: str | None = None
    computer_folder: ComputerFolder | None = None
    provenance_prompt_line: Literal["one_at_a_time", "all_at_once"] | str | None = None
    tool_kind: Literal["browser"] | str | None = None


# ---------------------------------------------------------------------------------------------------------------------
# Hooks: what each event tells (`HookInput`) and what a hook may answer (`HookOutput`)


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
    tool_input: dict[str, Any] = {}
    tool_use_id: str = ""
    mcp_server: McpServerOrigin | None = None


class PostToolUseInput(HookInput):
    tool_name: str = ""
    tool_input: dict[str, Any] = {}
    tool_response: Any = None
    tool_use_id: str = ""
    duration_ms: float | None = None
    mcp_server: McpServerOrigin | None = None


class PostToolUseFailureInput(HookInput):
    tool_name: str = ""
    tool_input: dict[str, Any] = {}
    tool_use_id: str = ""
    error: str = ""
    is_interrupt: bool = False
    duration_ms: float | None = None
    mcp_server: McpServerOrigin | None = None


class BatchedToolCall(Payload):
    tool_name: str = ""
    tool_input: dict[str, Any] = {}
    tool_use_id: str = ""
    tool_response: Any = None


class PostToolBatchInput(HookInput):
    tool_calls: tuple[BatchedToolCall, ...] = ()


class PermissionRequestInput(HookInput):
    tool_name: str = ""
    tool_input: dict[str, Any] = {}
    permission_suggestions: tuple[PermissionUpdate, ...] = ()
    mcp_server: McpServerOrigin | None = None


class PermissionDeniedInput(HookInput):
    tool_name: str = ""
    tool_input: dict[str, Any] = {}
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
    input: dict[str, Any] = {}
    tool_use_id: str | None = None
    issued_at: float | None = None
    deadline_ms: float | None = None
    # The older form: a notification about a hook, without a callback.
    hook_name: str | None = None
    hook_data: dict[str, Any] | None = None


# ---------------------------------------------------------------------------------------------------------------------
# Start and end of the conversation


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


# ---------------------------------------------------------------------------------------------------------------------
# Modes, models, settings


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
    settings: dict[str, Any] = {}


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
    effective: dict[str, Any] = {}
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
    config: dict[str, Any] = {}
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


# ---------------------------------------------------------------------------------------------------------------------
# The session: name, cost, context, tasks


class RenameSession(Request[Acknowledged], tag="rename_session"):
    since = "2.1.197"
    title: str
    source: Literal["remote", "host"] | UnsetType = UNSET
    names_chrome_tab_group: bool | UnsetType = UNSET


class SetColor(Request[Acknowledged], tag="set_color"):
    since = None
    color: str


class SetHasSubscribers(Request[Acknowledged], tag="set_has_subscribers"):
    since = "2.1.325"
    has_subscribers: bool | None


class BinaryVersion(Payload, rename="camel"):
    version: str = ""
    build_time: str | None = None


class GetBinaryVersion(Request[BinaryVersion], tag="get_binary_version"):
    since = "2.1.120"


class SessionCost(Payload):
    text: str = ""


class GetSessionCost(Request[SessionCost], tag="get_session_cost"):
    since = "2.1.120"


class ModelUsage(Payload, rename="camel"):
    input_tokens: int = 0
    output_tokens: int = 0
    thinking_tokens: int | None = None
    cache_read_input_tokens: int = 0
    cache_creation_input_tokens: int = 0
    cache_creation_ephemeral_5m_input_tokens: int | None = field(
        default=None, name="cacheCreationEphemeral5mInputTokens"
    )
    cache_creation_ephemeral_1h_input_tokens: int | None = field(
        default=None, name="cacheCreationEphemeral1hInputTokens"
    )
    web_search_requests: int = 0
    cost_usd: float = field(default=0.0, name="costUSD")
    context_window: int = 0
    max_output_tokens: int = 0
    canonical_model: str | None = None
    provider: str | None = None
    cost_basis: Literal["list", "managed", "unknown"] | str | None = None


class SessionUsage(Payload):
    total_cost_usd: float = 0.0
    total_api_duration_ms: float = 0.0
    total_duration_ms: float = 0.0
    total_lines_added: int = 0
    total_lines_removed: int = 0
    model_usage: dict[str, ModelUsage] = {}


class RateLimitWindow(Payload):
    utilization: float | None = None
    resets_at: str | None = None


class ModelRateLimit(Payload):
    display_name: str = ""
    utilization: float | None = None
    resets_at: str | None = None


class ExtraUsage(Payload):
    is_enabled: bool = False
    monthly_limit: float | None = None
    used_credits: float | None = None
    utilization: float | None = None
    currency: str | None = None


class RateLimits(Payload):
    five_hour: RateLimitWindow | None = None
    seven_day: RateLimitWindow | None = None
    seven_day_oauth_apps: RateLimitWindow | None = None
    seven_day_opus: RateLimitWindow | None = None
    seven_day_sonnet: RateLimitWindow | None = None
    model_scoped: tuple[ModelRateLimit, ...] | None = None
    extra_usage: ExtraUsage | None = None


class UsageBehaviors(Payload):
    day: dict[str, Any] | None = None
    week: dict[str, Any] | None = None


class Usage(Payload):
    session: SessionUsage | None = None
    subscription_type: str | None = None
    rate_limits_available: bool = False
    rate_limits: RateLimits | None = None
    behaviors: UsageBehaviors | None = None


class GetUsage(Request[Usage], tag="get_usage"):
    since = "2.1.197"
    skip_behaviors: bool | UnsetType = UNSET


class ContextCategory(Payload, rename="camel"):
    id: str | None = None
    name: str = ""
    tokens: int = 0
    color: str = ""
    is_deferred: bool = False
    kind: Literal["used", "free", "buffer", "deferred"] | str | None = None


class ContextGridSquare(Payload, rename="camel"):
    color: str = ""
    is_filled: bool = False
    category_name: str = ""
    tokens: int = 0
    percentage: float = 0.0
    square_fullness: float = 0.0


class MemoryFile(Payload):
    path: str = ""
    type: str = ""
    tokens: int = 0


class ContextMcpTool(Payload, rename="camel"):
    name: str = ""
    server_name: str = ""
    tokens: int = 0
    is_loaded: bool | None = None


class ContextMcpInstructions(Payload, rename="camel"):
    server_name: str = ""
    tokens: int = 0


class ContextItem(Payload, rename="camel"):
    name: str = ""
    tokens: int = 0
    is_loaded: bool | None = None


class ContextAgent(Payload, rename="camel"):
    agent_type: str = ""
    source: str = ""
    plugin_id: str | None = None
    path: str | None = None
    tokens: int = 0


class ContextSlashCommands(Payload, rename="camel"):
    total_commands: int = 0
    included_commands: int = 0
    tokens: int = 0


class ContextSkill(Payload, rename="camel"):
    name: str = ""
    source: str = ""
    plugin_name: str | None = None
    plugin_id: str | None = None
    path: str | None = None
    tokens: int = 0


class ContextSkills(Payload, rename="camel"):
    total_skills: int = 0
    included_skills: int = 0
    tokens: int = 0
    skill_frontmatter: tuple[ContextSkill, ...] = ()


class ToolCallTokens(Payload, rename="camel"):
    name: str = ""
    call_tokens: int = 0
    result_tokens: int = 0


class MessageBreakdown(Payload, rename="camel"):
    tool_call_tokens: int = 0
    tool_result_tokens: int = 0
    attachment_tokens: int = 0
    assistant_message_tokens: int = 0
    user_message_tokens: int = 0
    redirected_context_tokens: int = 0
    unattributed_tokens: int = 0
    tool_calls_by_type: tuple[ToolCallTokens, ...] = ()
    attachments_by_type: tuple[ContextItem, ...] = ()


class ApiUsage(Payload):
    input_tokens: int = 0
    output_tokens: int = 0
    cache_creation_input_tokens: int = 0
    cache_read_input_tokens: int = 0


class ColdResumeQuota(Payload, rename="camel"):
    percent_per_million_tokens: float = 0.0
    min_percent: float = 0.0


class ContextUsage(Payload, rename="camel"):
    categories: tuple[ContextCategory, ...] = ()
    total_tokens: int = 0
    max_tokens: int = 0
    raw_max_tokens: int = 0
    percentage: float = 0.0
    grid_rows: tuple[tuple[ContextGridSquare, ...], ...] = ()
    model: str = ""
    memory_files: tuple[MemoryFile, ...] = ()
    mcp_tools: tuple[ContextMcpTool, ...] = ()
    mcp_instructions: tuple[ContextMcpInstructions, ...] = ()
    deferred_builtin_tools: tuple[ContextItem, ...] = ()
    system_tools: tuple[ContextItem, ...] = ()
    system_prompt_sections: tuple[ContextItem, ...] = ()
    agents: tuple[ContextAgent, ...] = ()
    slash_commands: ContextSlashCommands | None = None
    skills: ContextSkills | None = None
    auto_compact_threshold: int | None = None
    autocompact_source: str | None = None
    is_auto_compact_enabled: bool = False
    message_breakdown: MessageBreakdown | None = None
    api_usage: ApiUsage | None = None
    cold_resume_quota: ColdResumeQuota | None = None


class GetContextUsage(Request[ContextUsage], tag="get_context_usage"):
    since = "2.1.120"
    detail: Literal["summary", "full"] | UnsetType = UNSET


class StopTask(Request[Acknowledged], tag="stop_task"):
    since = "2.1.52"
    task_id: str


class TasksBackgrounded(Payload):
    backgrounded: bool | None = None


class BackgroundTasks(Request[TasksBackgrounded], tag="background_tasks"):
    since = "2.1.197"
    tool_use_id: str | UnsetType = UNSET


class TaskOutput(Payload):
    output: str = ""
    total_bytes: int = 0
    truncated: bool = False


class GetTaskOutput(Request[TaskOutput], tag="get_task_output"):
    since = "2.1.325"
    task_id: str


class AsyncMessageCancelled(Payload):
    cancelled: bool = False


class CancelAsyncMessage(Request[AsyncMessageCancelled], tag="cancel_async_message"):
    since = "2.1.120"
    message_uuid: str


# ---------------------------------------------------------------------------------------------------------------------
# Files


class RewindResult(Payload, rename="camel"):
    can_rewind: bool = False
    error: str | None = None
    files_changed: tuple[str, ...] = ()
    insertions: int | None = None
    deletions: int | None = None
    skipped_links: int | None = None


class RewindFiles(Request[RewindResult], tag="rewind_files"):
    """Back to before the user message with this uuid; needs file checkpointing, switched on at launch."""

    timeout = SLOW
    user_message_id: str
    dry_run: bool | UnsetType = UNSET


class FileContents(Payload):
    contents: str = ""
    abs_path: str = field(default="", name="absPath")
    requested_path: str | None = None
    truncated: bool = False
    encoding: Literal["base64"] | str | None = None
    lossy: bool | None = None
    anchor: Literal["workspace_root", "diff_root", "repo", "as_written"] | str | None = None
    offset: int | None = None
    read_bytes: int | None = None
    total_bytes: int | None = None
    etag: str | None = None
    upload_screened: bool = False


class FileAnchor(Payload):
    kind: str


class ReadFile(Request[FileContents], tag="read_file"):
    since = "2.1.120"
    path: str
    max_bytes: int | UnsetType = UNSET
    encoding: Literal["utf-8", "base64"] | UnsetType = UNSET
    anchor: FileAnchor | UnsetType = UNSET
    offset: int | UnsetType = UNSET
    for_upload: bool | UnsetType = UNSET
    live_reply: bool | UnsetType = field(default=UNSET, name="liveReply")


class SeedReadState(Request[Acknowledged], tag="seed_read_state"):
    since = "2.1.120"
    path: str
    mtime: float


class FileSuggestion(Payload):
    path: str = ""
    score: float | None = None


class SuggestedFiles(Payload):
    suggestions: tuple[FileSuggestion, ...] = ()
    cwd: str | None = None


class FileSuggestions(Request[SuggestedFiles], tag="file_suggestions"):
    since = "2.1.197"
    query: str


class RepoRootRegistered(Payload):
    directory: str = ""


class RegisterRepoRoot(Request[RepoRootRegistered], tag="register_repo_root"):
    since = "2.1.197"
    directory: str
    reload_claude_md: bool | UnsetType = UNSET
    reload_plugins: bool | UnsetType = UNSET
    reload_skills: bool | UnsetType = UNSET


# ---------------------------------------------------------------------------------------------------------------------
# MCP, plugins, skills


class McpServerInfo(Payload):
    name: str = ""
    version: str = ""


class McpToolAnnotations(Payload, rename="camel"):
    read_only: bool | None = None
    destructive: bool | None = None
    open_world: bool | None = None


class McpTool(Payload):
    name: str = ""
    description: str | None = None
    annotations: McpToolAnnotations | None = None
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class McpServerStatus(Payload, rename="camel"):
    name: str = ""
    status: Literal["connected", "failed", "needs-auth", "pending", "disabled", "connecting"] | str = ""
    server_info: McpServerInfo | None = None
    error: str | None = None
    config: dict[str, Any] | None = None
    transport: str | None = None
    scope: str | None = None
    source: str | None = None
    tools: tuple[McpTool, ...] = ()


class McpServers(Payload, rename="camel"):
    mcp_servers: tuple[McpServerStatus, ...] = ()


class McpStatus(Request[McpServers], tag="mcp_status"):
    timeout = SLOW
    live_reply: bool | UnsetType = field(default=UNSET, name="liveReply")


class McpServersSet(Payload):
    """A server that failed is in `added` and in `errors`."""

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    errors: dict[str, str] = {}


class McpSetServers(Request[McpServersSet], tag="mcp_set_servers"):
    """Replaces the whole dynamic set: a server that lives in the host is removed too, unless `servers` names it."""

    timeout = SLOW
    servers: Mapping[str, Any]
    hint: str | UnsetType = UNSET
    denied_tools: Sequence[str] | UnsetType = UNSET


class McpReconnect(Request[Acknowledged], tag="mcp_reconnect"):
    timeout = SLOW
    server_name: str = field(name="serverName")


class McpToggle(Request[Acknowledged], tag="mcp_toggle"):
    timeout = SLOW
    server_name: str = field(name="serverName")
    enabled: bool


class StagedInput(Payload):
    name: str
    lane_path: str


class StagedOutput(Payload):
    name: str
    lane_path: str
    if_match: str | UnsetType = UNSET


class McpStaging(Payload):
    ok: bool = False
    outputs: tuple[Any, ...] = ()
    inputs_used: tuple[Any, ...] = ()
    error_code: str | None = None
    detail: str | None = None
    retryable: bool | None = None
    refusal_limit: bool = False


class McpCallResult(Payload):
    content: Any = None
    structured_content: dict[str, Any] | None = field(default=None, name="structuredContent")
    meta: dict[str, Any] | None = field(default=None, name="_meta")
    staging: McpStaging | None = None


class McpCall(Request[McpCallResult], tag="mcp_call"):
    """`tool` is the full name, `mcp__server__tool`. With `check_permissions` the CLI asks `can_use_tool` first."""

    timeout = SLOW
    since = "2.1.120"
    tool: str
    arguments: Mapping[str, Any] | UnsetType = UNSET
    expires_at: str | UnsetType = UNSET
    timeout_ms: float | UnsetType = UNSET
    result_not_for_model: bool | UnsetType = UNSET
    check_permissions: bool | UnsetType = UNSET
    input_files: Sequence[StagedInput] | UnsetType = UNSET
    output_files: Sequence[StagedOutput] | UnsetType = UNSET


class McpResourceContent(Payload):
    uri: str = ""
    mime_type: str | None = field(default=None, name="mimeType")
    text: str | None = None
    blob: str | None = None
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class McpResource(Payload):
    contents: tuple[McpResourceContent, ...] = ()


class McpReadResource(Request[McpResource], tag="mcp_read_resource"):
    """Only `ui://` resources are served this way."""

    timeout = SLOW
    since = "2.1.325"
    server_name: str = field(name="serverName")
    uri: str


class McpReply(Payload):
    """To the CLI, the JSON-RPC response; notifications want one too."""

    mcp_response: Any = None


class McpMessage(Request[McpReply], tag="mcp_message"):
    """A JSON-RPC message to or from an MCP server that lives in the host."""

    sender = "either"
    timeout = SLOW
    server_name: str = ""
    message: Any = None


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
    payload: dict[str, Any] = {}
    tool_use_id: str | None = None


class PluginInfo(Payload):
    name: str = ""
    path: str = ""
    source: str | None = None
    version: str | None = None


class CacheImpact(Payload):
    mcp_servers_added: tuple[str, ...] = ()
    mcp_servers_removed: tuple[str, ...] = ()
    lsp_tool_change: Literal["adds", "may-add", "removes", "may-remove"] | str | None = None


class PluginsReloaded(Payload):
    commands: tuple[SlashCommand, ...] = ()
    agents: tuple[AgentInfo, ...] = ()
    plugins: tuple[PluginInfo, ...] = ()
    mcp_servers: tuple[McpServerStatus, ...] = field(default=(), name="mcpServers")
    error_count: int = 0
    held: bool = False
    cache_impact: CacheImpact | None = None


class ReloadPlugins(Request[PluginsReloaded], tag="reload_plugins"):
    since = "2.1.120"
    hold_on_cache_impact: bool | UnsetType = UNSET
    add_plugins: Sequence[Mapping[str, Any]] | UnsetType = UNSET
    refuse_if_busy: bool | UnsetType = UNSET


class SkillsReloaded(Payload):
    skills: tuple[SlashCommand, ...] = ()


class ReloadSkills(Request[SkillsReloaded], tag="reload_skills"):
    since = "2.1.197"


class OutputStylesReloaded(Payload):
    available_output_styles: tuple[str, ...] = ()


class ReloadOutputStyles(Request[OutputStylesReloaded], tag="reload_output_styles"):
    since = "2.1.325"


# ---------------------------------------------------------------------------------------------------------------------
# The oldest form: a `tool_use` of `PermissionPromptTool` whose input is a whole control frame, answered without an
# envelope.


class PromptToolRequest(Payload, tag_field="type", tag="control_request"):
    request_id: str = ""
    tool_name: str = ""
    tool_input: dict[str, Any] = {}


class PromptToolReply(Payload, tag_field="type", tag="control_response"):
    request_id: str
    approved: bool
    denial_message: str | UnsetType = UNSET


# ---------------------------------------------------------------------------------------------------------------------
# Registries


def _leaves(struct: type[PayloadT]) -> list[type[PayloadT]]:
    subclasses = struct.__subclasses__()
    return [leaf for subclass in subclasses for leaf in _leaves(subclass)] or [struct]


def _by_tag(structs: Iterable[type[PayloadT]]) -> Mapping[str, type[PayloadT]]:
    return MappingProxyType({str(struct.__struct_config__.tag): struct for struct in structs})


_REQUESTS: list[type[Request[Any]]] = _leaves(Request)

HOST_REQUESTS = _by_tag(request for request in _REQUESTS if request.sender != "cli")
"""Every request the host can send, by subtype."""

CLI_REQUESTS = _by_tag(request for request in _REQUESTS if request.sender != "host")
"""Every request the CLI can send, by subtype. A subtype that is not here is still owed an answer: an error."""

HOOK_EVENTS = _by_tag(_leaves(HookInput))
"""What each hook event's `input` decodes to. Newer CLIs have more events."""

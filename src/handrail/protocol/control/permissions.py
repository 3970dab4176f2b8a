"""May this tool run: the request, its two answers, and the changes of rules that go with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

from msgspec import UNSET, UnsetType, field

from handrail.protocol.blocks import Unknown
from handrail.protocol.control.base import (
    DecisionClassification,
    Payload,
    PermissionMode,
    Request,
    RuleBehavior,
    RuleDestination,
)

__all__ = [
    "AddDirectories",
    "AddRules",
    "CanUseTool",
    "ComputerFolder",
    "MatchedAskRule",
    "McpServerOrigin",
    "PermissionAllow",
    "PermissionDeny",
    "PermissionResult",
    "PermissionUpdate",
    "RemoveDirectories",
    "RemoveRules",
    "ReplaceRules",
    "Rule",
    "SetMode",
]


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
    input: dict[str, Any] = field(default_factory=dict)
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

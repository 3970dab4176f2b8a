"""One tool call and the rules around it, and the rules that speak of a tool by its name or by a field of its input."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from handrail.policy.rules.grammar import Rule
from handrail.policy.rules.ruleset import Rules
from handrail.policy.situation import Situation
from handrail.policy.verdict import Behavior, Verdict

__all__ = ["Call", "by_field", "by_name", "by_rule", "current_name", "names"]

_FORMER_NAMES = {"Task": "Agent", "KillShell": "TaskStop"}
"""Former names of tools, which rules and calls may still use."""

PRIMARY_FIELDS = {"command", "file_path", "path", "notebook_path", "url"}
"""Fields that a tool's own patterns are about, so that `Tool(field:value)` does not reach them."""

_NOT_A_PREFIX = {"Read", "Edit", "Write", "MultiEdit", "NotebookEdit", "Glob"}
"""Tools where a spec that ends in `:*` is not a rule on a field."""

_NO_WILDCARDS = {"WebSearch"}


@dataclass(frozen=True, slots=True)
class Call:
    """What a verdict is about."""

    tool: str
    input: Mapping[str, Any]
    rules: Rules
    situation: Situation

    def text(self, field: str) -> str | None:
        """A field of the input, if it is a text."""
        value = self.input.get(field)
        return value if isinstance(value, str) else None


def by_rule(behavior: Behavior, rule: Rule, covers: str) -> Verdict:
    """The verdict of a rule, with what it covers in words."""
    return Verdict(behavior, f"the {behavior} rule {rule.text} covers {covers}", rule.text)


def by_name(call: Call, behavior: Behavior) -> Verdict | None:
    """The verdict of a rule on every call of this tool."""
    for rule in call.rules.of(behavior):
        if rule.is_whole_tool and names(rule, call.tool):
            return by_rule(behavior, rule, f"every {call.tool} call")
    return None


def names(rule: Rule, tool: str) -> bool:
    """Whether the rule's name stands for this tool: itself, its MCP server, or a wildcard that reaches it."""
    if rule.tool.startswith("mcp__"):
        return rule.spec is None and _names_mcp_tool(rule, tool)
    if "*" in rule.tool:
        return rule.behavior != "allow" and _wildcard(rule.tool).fullmatch(tool) is not None
    return current_name(rule.tool) == current_name(tool)


def current_name(tool: str) -> str:
    """The name that a tool has now."""
    return _FORMER_NAMES.get(tool, tool)


def _names_mcp_tool(rule: Rule, tool: str) -> bool:
    if "*" not in rule.tool:
        is_server = "__" not in rule.tool.removeprefix("mcp__")
        return tool == rule.tool or (is_server and tool.startswith(rule.tool + "__"))
    if rule.behavior == "allow" and not re.match(r"mcp__(?:(?!__)[^*])+__", rule.tool):
        return False
    return _wildcard(rule.tool).fullmatch(tool) is not None


def by_field(call: Call, behavior: Behavior) -> Verdict | None:
    """The verdict of an ask or deny rule `Tool(field:value)`; MCP tools have none."""
    if call.tool.startswith("mcp__"):
        return None
    for rule in call.rules.of(behavior):
        is_about_it = rule.spec is not None and current_name(rule.tool) == current_name(call.tool)
        if is_about_it and _field_matches(call, rule.spec or ""):
            return by_rule(behavior, rule, "this call")
    return None


def _field_matches(call: Call, spec: str) -> bool:
    field, colon, wanted = spec.partition(":")
    if not colon or field in PRIMARY_FIELDS or not _is_about_a_field(call.tool, spec):
        return False
    value = _scalar_text(call.input.get(field))
    return value is not None and _wildcard(wanted.strip()).fullmatch(value.strip()) is not None


def _is_about_a_field(tool: str, spec: str) -> bool:
    if tool in _NO_WILDCARDS:
        return "*" not in spec
    return tool not in _NOT_A_PREFIX or not spec.endswith(":*")


def _scalar_text(value: object) -> str | None:
    """A scalar as JavaScript writes it, because that is what the CLI compares with."""
    match value:
        case bool():
            return "true" if value else "false"
        case float() if value.is_integer():
            return str(int(value))
        case str() | int() | float():
            return str(value)
        case _:
            return None


@lru_cache(maxsize=1024)
def _wildcard(pattern: str) -> re.Pattern[str]:
    return re.compile(".*".join(map(re.escape, pattern.split("*"))), re.DOTALL)

"""The CLI's suggestions for "always", in words: what would be allowed, and where that is written down."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from handrail.policy.describing.json_text import compact_json
from handrail.policy.describing.visible import one_line

__all__ = ["describe_mode", "describe_reach", "describe_suggestion"]

_PLACES: Mapping[str, str] = {
    "session": "for this session",
    "cliArg": "for this session",
    "localSettings": "saved in .claude/settings.local.json",
    "projectSettings": "saved in .claude/settings.json, which the project shares",
    "userSettings": "saved in ~/.claude/settings.json, for all your projects",
}
_REACHES: Mapping[str, str] = {
    "session": "this session",
    "cliArg": "this session",
    "localSettings": "this project, for you",
    "projectSettings": "this project, for everybody",
    "userSettings": "all your projects",
}
_MODES: Mapping[str, str] = {
    "default": "ask before each edit and command",
    "acceptEdits": "accept every edit of a file without asking",
    "plan": "plan only",
    "dontAsk": "deny whatever is not allowed beforehand, without asking",
    "bypassPermissions": "ALLOW EVERYTHING without asking",
    "auto": "let a classifier decide instead of asking",
}


def describe_mode(mode: str) -> str:
    """What a permission mode does."""
    return _MODES.get(mode) or f"switch to the mode {one_line(mode)}"


def describe_reach(suggestion: Mapping[str, Any]) -> str:
    """For what a suggestion holds, in a few words; empty if that is not known."""
    return _REACHES.get(str(suggestion.get("destination")), "")


def describe_suggestion(suggestion: Mapping[str, Any]) -> str:
    """One suggestion, such as: allow Bash(pytest *), saved in .claude/settings.local.json."""
    what = _what(suggestion)
    place = _PLACES.get(str(suggestion.get("destination")))
    if what is None or place is None:
        return one_line(compact_json(suggestion))
    return f"{what}, {place}"


def _what(suggestion: Mapping[str, Any]) -> str | None:
    match suggestion.get("type"):
        case "addRules" | "replaceRules" | "removeRules" as kind:
            rules = ", ".join(_rule(rule) for rule in _items(suggestion, "rules"))
            behavior = one_line(str(suggestion.get("behavior", "")))
            return {
                "addRules": f"{behavior} {rules}",
                "replaceRules": f"{behavior} only {rules}, in place of what was there",
                "removeRules": f"remove the rule to {behavior} {rules}",
            }[str(kind)]
        case "addDirectories":
            return f"work in {_directories(suggestion)} too"
        case "removeDirectories":
            return f"no longer work in {_directories(suggestion)}"
        case "setMode":
            return describe_mode(str(suggestion.get("mode", "")))
    return None


def _items(suggestion: Mapping[str, Any], key: str) -> list[Any]:
    found = suggestion.get(key)
    return found if isinstance(found, list) else []


def _rule(rule: Any) -> str:
    if not isinstance(rule, Mapping):
        return one_line(str(rule))
    tool, content = str(rule.get("toolName", "")), rule.get("ruleContent")
    return one_line(tool if content is None else f"{tool}({content})")


def _directories(suggestion: Mapping[str, Any]) -> str:
    return ", ".join(one_line(str(each)) for each in _items(suggestion, "directories"))

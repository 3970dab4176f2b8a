"""Why a well-formed rule can never match a call, and what to write instead."""

from __future__ import annotations

import re
from typing import NamedTuple

from handrail.policy.rules.grammar import Problem, Rule

__all__ = ["why_dead"]


class _Flaw(NamedTuple):
    wrong: str
    instead: str | None = None


def why_dead(rule: Rule) -> Problem | None:
    """The problem of a rule that can never match; None for one that can."""
    flaw = _name_flaw(rule) or _spec_flaw(rule)
    return Problem(rule.text, rule.behavior, "dead", flaw.wrong, flaw.instead, rule.tool) if flaw else None


def _name_flaw(rule: Rule) -> _Flaw | None:
    name = rule.tool
    if "?" in name:
        return _Flaw("only * is a wildcard in the name of a tool", rule.text.replace("?", "*"))
    if name.startswith("mcp__"):
        return _mcp_flaw(rule)
    if "*" in name and rule.behavior == "allow":
        return _Flaw("an allow rule names its tool; * may only follow mcp__server__", "one rule for each tool")
    if "*" in name and not rule.is_whole_tool:
        return _Flaw("a name with * takes no parentheses", name)
    if name[0].islower():
        likely = _likely_name(name)
        # With what stands in the parentheses, or the advice would widen the rule.
        advice = likely + rule.text[len(name) :] if likely and likely.isidentifier() else likely
        return _Flaw("no built-in tool is written like this; names are exact", advice)
    return None


def _mcp_flaw(rule: Rule) -> _Flaw | None:
    _, server, *tool = rule.tool.split("__", 2)
    if not server or tool == [""]:
        return _Flaw("it names no MCP server or tool", f"mcp__{server or 'server'}__*")
    if rule.spec is not None:
        return _Flaw("rules on MCP tools take no parentheses", rule.tool)
    if rule.behavior == "allow" and ("*" in server):
        return _Flaw("in an allow rule, * may only follow mcp__server__", "mcp__server__* for each server")
    return None


def _likely_name(name: str) -> str:
    known = {tool.lower(): tool for tool in (*_PATH_TOOL_INSTEAD, "Bash", "Read", "Edit", "WebFetch", "WebSearch")}
    return known.get(name.lower(), f"mcp__server__{name} for the tool of an MCP server")


def _spec_flaw(rule: Rule) -> _Flaw | None:
    if rule.is_whole_tool:
        return None
    check = _SPEC_CHECKS.get(rule.tool)
    return check(rule, rule.spec or "") if check else None


_PARAMETER = re.compile(r"([A-Za-z_]\w*):(.+)", re.DOTALL)
_PRIMARY_FIELDS = {"command", "file_path", "path", "notebook_path", "url"}


def _bash_flaw(rule: Rule, spec: str) -> _Flaw | None:
    head, colon_star, tail = spec.partition(":*")
    if colon_star and not head:
        return _Flaw("there is no command before :*", "Bash for every command")
    if colon_star and tail:
        return _Flaw(":* has a meaning only at the end", f"Bash({head} *{tail})")
    if rule.behavior == "allow" and re.match(r"(run_in_background|dangerouslyDisableSandbox):", spec):
        return _Flaw("rules on other fields than the command exist only in ask and deny")
    return None


def _path_flaw(rule: Rule, spec: str) -> _Flaw | None:
    parameter = _PARAMETER.fullmatch(spec)
    if parameter and not spec.startswith(("/", "~", ".")):
        return _field_flaw(rule, parameter[1], parameter[2])
    if spec.startswith("!") and rule.behavior == "allow":
        return None
    return _pattern_flaw(rule.tool, spec)


def _field_flaw(rule: Rule, field: str, value: str) -> _Flaw | None:
    if rule.behavior == "allow":
        return _Flaw(f"rules on the field {field} exist only in ask and deny", rule.tool)
    if field in _PRIMARY_FIELDS:
        return _Flaw(f"{field} is matched as a pattern, not as a field", f"{rule.tool}({value})")
    if value == "*":
        return _Flaw(":* is for commands; a field is compared with a value", f"{rule.tool} for every call")
    return None


def _pattern_flaw(tool: str, spec: str) -> _Flaw | None:
    def pattern(text: str) -> str:
        return f"{tool}({text})"

    if spec.endswith(":*"):
        return _Flaw(":* is for commands, not for paths", pattern(spec.removesuffix(":*")))
    if spec.startswith("/") and not spec.startswith("//"):
        rest = spec.lstrip("/")
        return _Flaw(
            "a single leading slash is relative to where the rules are kept, which matches no file of the project",
            f"{pattern('//' + rest)} for an absolute path, {pattern(rest)} below the working directory",
        )
    if ".." in spec.split("/"):
        return _Flaw(".. never matches", pattern("//absolute/path"))
    if re.match(r"\$\w|\$\{", spec):
        return _Flaw("variables are not expanded", pattern("~/…") if "HOME" in spec else pattern("//absolute/path"))
    if re.search(r"\{[^}]*,[^}]*\}", spec):
        return _Flaw("braces are not expanded", "one rule for each alternative")
    if spec.startswith("!"):
        return _Flaw("only allow rules have exceptions", pattern("\\" + spec) + " if the name begins with !")
    if spec.startswith("#"):
        return _Flaw("a pattern that begins with # is a comment", pattern("\\" + spec))
    if spec in ("~", ".", "./", "~/", "//"):
        return _Flaw(
            "it names a directory without what is in it", pattern("//**" if spec == "//" else spec.rstrip("/") + "/**")
        )
    return None


_PATH_TOOL_INSTEAD = {
    "Write": "Edit",
    "MultiEdit": "Edit",
    "NotebookEdit": "Edit",
    "Glob": "Read",
    "Grep": "Read",
    "LS": "Read",
}


def _pathless_flaw(rule: Rule, spec: str) -> _Flaw | None:
    parameter = _PARAMETER.fullmatch(spec)
    if parameter:
        return _field_flaw(rule, parameter[1], parameter[2])
    instead = _PATH_TOOL_INSTEAD[rule.tool]
    return _Flaw(f"{rule.tool} takes no paths; rules on {instead} cover it", f"{instead}({spec})")


def _web_flaw(rule: Rule, spec: str) -> _Flaw | None:
    if not spec.startswith("domain:"):
        host = re.sub(r"\A(?:url:)?(?:\w+://)?", "", spec).split("/")[0]
        likely = f"WebFetch(domain:{host})" if "." in host else "WebFetch(domain:host)"
        return _Flaw("WebFetch rules are about a domain", likely)
    domain = spec.removeprefix("domain:")
    host = re.sub(r"\A\s*(?:\w+://)?|[:/].*\Z|\s", "", domain)
    if domain != host or not host:
        return _Flaw("a domain has no scheme, port or path", f"WebFetch(domain:{host or 'host'})")
    if "?" in domain:
        return _Flaw("only * is a wildcard in a domain", rule.text.replace("?", "*"))
    return None


_AGENT_FIELDS = {"subagent_type", "description", "prompt", "model", "run_in_background", "name", "isolation"}


def _agent_flaw(rule: Rule, spec: str) -> _Flaw | None:
    parameter = _PARAMETER.fullmatch(spec)
    if parameter and parameter[1] in _AGENT_FIELDS:
        return None
    if "*" in spec:
        return _Flaw("names of agents are exact", f"{rule.tool}(subagent_type:{spec.removesuffix(':*')})")
    if rule.behavior == "ask":
        return _Flaw("an agent's name works only in deny", f"{rule.tool}(subagent_type:{spec})")
    return None


def _skill_flaw(rule: Rule, spec: str) -> _Flaw | None:
    parameter = _PARAMETER.fullmatch(spec)
    if parameter and parameter[1] in ("skill", "args"):
        return _Flaw("rules on fields exist only in ask and deny") if rule.behavior == "allow" else None
    name = spec.removesuffix(":*")
    if "*" in name or " " in name:
        return _Flaw("a skill is named exactly, or by a prefix that ends in :*", f"Skill({name.rstrip(' *')}:*)")
    return None


def _search_flaw(rule: Rule, spec: str) -> _Flaw | None:
    if _PARAMETER.fullmatch(spec) and rule.behavior != "allow" and "*" not in spec:
        return None
    return _Flaw("WebSearch rules are about every search, or in ask and deny about its query", "WebSearch")


_SPEC_CHECKS = {
    "Bash": _bash_flaw,
    "Read": _path_flaw,
    "Edit": _path_flaw,
    **dict.fromkeys(_PATH_TOOL_INSTEAD, _pathless_flaw),
    "WebFetch": _web_flaw,
    "WebSearch": _search_flaw,
    "Agent": _agent_flaw,
    "Task": _agent_flaw,
    "Skill": _skill_flaw,
}

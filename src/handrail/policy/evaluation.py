"""What the rules, the mode and the CLI's own habits say about one tool call."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Mapping
from typing import Any

from handrail.errors import PolicyError
from handrail.policy.calls.base import Call, by_field, by_name, by_rule, current_name, names
from handrail.policy.calls.file_tools import EDITING, SEARCHING, judge_edit, judge_read, judge_search
from handrail.policy.calls.skills import judge_skill
from handrail.policy.calls.web import judge_fetch
from handrail.policy.files import Disk, Files
from handrail.policy.rules.grammar import Problem, Rule
from handrail.policy.rules.ruleset import Rules
from handrail.policy.situation import MODES, SOURCES, Situation, Source
from handrail.policy.verdict import Verdict

__all__ = ["evaluate"]

_MODE_ALIASES = {"manual": "default"}

_FOR_A_PERSON = {"AskUserQuestion", "ExitPlanMode"}
"""Tools that exist to hear from a person, so that no rule and no mode answers for one."""

_UNASKED = {
    "Agent", "CronCreate", "CronDelete", "CronList", "EnterPlanMode", "EnterWorktree", "ExitWorktree", "ScheduleWakeup",
    "SendMessage", "TaskCreate", "TaskGet", "TaskList", "TaskStop", "TaskUpdate", "TodoWrite", "ToolSearch",
}  # fmt: skip
"""Tools that the CLI runs without a rule: what they start asks for itself, or they change only the session."""


def evaluate(
    rules: Rules,
    tool_name: str,
    tool_input: Mapping[str, Any],
    *,
    cwd: str,
    home: str,
    mode: str = "default",
    add_dirs: Iterable[str] = (),
    source: Source = "settings",
    files: Files | None = None,
) -> Verdict:
    """Whether the call is allowed, denied, or for a person to answer.

    `files` is how rules look at files, this machine's by default; give another where the CLI runs elsewhere.
    Raises `PolicyError` for arguments that make no sense; any tool name and any input get a verdict.
    """
    situation = Situation(cwd, home, _MODE_ALIASES.get(mode, mode), tuple(add_dirs), source, files or Disk())
    _check(rules, tool_name, tool_input, situation)
    # A repository's own settings may forbid, but what they allow counts only once a person trusts it.
    heard = rules.without_allow() if source == "project" else rules
    call = Call(tool_name, tool_input, heard, situation)
    return _in_mode(_heed_broken_rules(call, _judge(call)), situation)


def _check(rules: Rules, tool_name: str, tool_input: Mapping[str, Any], situation: Situation) -> None:
    if not isinstance(rules, Rules):
        raise PolicyError(f"`rules` is a Rules(allow=…, ask=…, deny=…), not {rules!r}")
    if not isinstance(tool_name, str):
        raise PolicyError(f"`tool_name` is a string, not {tool_name!r}")
    if not isinstance(tool_input, Mapping):
        raise PolicyError(f"`tool_input` is a mapping of the tool's fields, not {tool_input!r}")
    if situation.mode not in MODES:
        raise PolicyError(f"`mode` is one of {', '.join(MODES)}, not {situation.mode!r}")
    if situation.source not in SOURCES:
        raise PolicyError(f"`source` is one of {', '.join(SOURCES)}, not {situation.source!r}")
    directories = [("cwd", situation.cwd), ("home", situation.home)]
    directories += [("add_dirs", directory) for directory in situation.add_dirs]
    for name, path in directories:
        if not isinstance(path, str) or not posixpath.isabs(path):
            raise PolicyError(f"`{name}` is an absolute path, not {path!r}")


def _judge(call: Call) -> Verdict:
    if call.tool == "Bash":
        return _judge_bash(call)
    if call.tool == "Read":
        return judge_read(call)
    if call.tool in SEARCHING:
        return judge_search(call)
    if call.tool in EDITING:
        return judge_edit(call)
    if call.tool == "WebFetch":
        return judge_fetch(call)
    if call.tool == "Skill":
        return judge_skill(call)
    return _judge_by_name(call)


def _judge_bash(call: Call) -> Verdict:
    denied = by_name(call, "deny") or by_field(call, "deny")
    if denied:
        return denied
    command = call.text("command")
    if command is None:
        return Verdict("ask", "the call names no command")
    # Imported late, because the shell grammar costs time that most calls need not spend.
    from handrail.policy.shell.judge import judge_command

    verdict = judge_command(command, call.rules, call.situation)
    return verdict if verdict.behavior == "deny" else by_field(call, "ask") or verdict


def _judge_by_name(call: Call) -> Verdict:
    """The verdict on a tool that has no patterns of its own: MCP tools, agents, what nobody knows."""
    return (
        by_name(call, "deny")
        or by_field(call, "deny")
        or _denied_agent(call)
        or by_name(call, "ask")
        or by_field(call, "ask")
        or _by_kind(call)
        or by_name(call, "allow")
        or Verdict("ask", f"no rule covers this {call.tool} call")
    )


def _denied_agent(call: Call) -> Verdict | None:
    if current_name(call.tool) != "Agent":
        return None
    agent = call.text("subagent_type") or "general-purpose"
    for rule in call.rules.deny:
        if current_name(rule.tool) == "Agent" and (rule.spec or "").casefold() == agent.casefold():
            return by_rule("deny", rule, f"the agent {agent}")
    return None


def _by_kind(call: Call) -> Verdict | None:
    """What holds for some tools whatever the allow rules say."""
    mode = call.situation.mode
    if call.tool in _FOR_A_PERSON:
        return Verdict("ask", "this is for a person to answer")
    if mode == "bypassPermissions":
        return Verdict("allow", "the mode is bypassPermissions")
    if mode == "plan" and call.tool.startswith("mcp__"):
        return Verdict("ask", "in plan mode MCP tools are asked about, as they may change something")
    if current_name(call.tool) in _UNASKED:
        return Verdict("allow", f"{call.tool} runs without a rule: what it starts is judged by itself")
    return None


def _heed_broken_rules(call: Call, verdict: Verdict) -> Verdict:
    """Where an allow rule decides, say which deny or ask rule on the same tool is dead; ask if one is unreadable."""
    if verdict.behavior != "allow" or verdict.rule is None:
        return verdict
    broken = [problem for problem in call.rules.problems if problem.behavior != "allow" and _concerns(problem, call)]
    unreadable = next((problem for problem in broken if problem.kind == "malformed"), None)
    if unreadable:
        return Verdict("ask", f"it would be allowed, but the {unreadable}", unreadable.rule)
    if broken:
        return Verdict("allow", f"{verdict.reason}; note that the {broken[0]}", verdict.rule)
    return verdict


def _concerns(problem: Problem, call: Call) -> bool:
    if problem.tool is None:
        return False
    return names(Rule(problem.rule, problem.behavior, problem.tool, None), call.tool)


def _in_mode(verdict: Verdict, situation: Situation) -> Verdict:
    if situation.mode == "dontAsk" and verdict.behavior == "ask":
        return Verdict("deny", f"the mode dontAsk denies what is not allowed: {verdict.reason}", verdict.rule)
    return verdict

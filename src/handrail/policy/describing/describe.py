"""Describes an ask, for every surface alike: what exactly would happen, to what, and what about it stands out.

It runs where the CLI's files are. Nothing of the input is left out: what has no form of its own is in `fields`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from handrail.policy.describing.changes import PATH_FIELDS, change_of
from handrail.policy.describing.dangers import command_findings
from handrail.policy.describing.deceptions import Kind, deceptions, lookalikes
from handrail.policy.describing.described_forms import form_of, questions_of
from handrail.policy.describing.json_text import fields_of, storable, strings_in, text_in
from handrail.policy.describing.suggestions import describe_suggestion
from handrail.policy.describing.touched import Ground, path_flags
from handrail.policy.describing.web_addresses import address_flags, host_of
from handrail.policy.files import Files
from handrail.protocol.asks import Ask
from handrail.protocol.descriptions import (
    AffectedPath,
    Call,
    Change,
    Command,
    Description,
    Fetch,
    Flag,
    Level,
    PlanReview,
    Reason,
    Risk,
    What,
)

__all__ = ["describe"]

LEVELS: tuple[Level, ...] = ("high", "medium", "low")
NOTHING_STOOD_OUT = "nothing in it stood out"

_READS: Mapping[str, str] = {
    "Glob": "path",
    "Grep": "path",
    "LS": "path",
    "NotebookRead": "notebook_path",
    "Read": "file_path",
}
"""The tools that look at files, and the field that says where."""
_TITLES: Mapping[str, str] = {
    "Agent": "Start a subagent",
    "EnterPlanMode": "Plan before changing anything",
    "Glob": "Look for files",
    "Grep": "Search in files",
    "KillShell": "Stop a background command",
    "Skill": "Use a skill",
    "SlashCommand": "Run a slash command",
    "Task": "Start a subagent",
    "TaskStop": "Stop a background task",
    "TodoWrite": "Change the list of things to do",
    "WebSearch": "Search the web",
}
_ACTING = re.compile(
    r"(delete|remove|drop|destroy|purge|truncate|write|create|update|edit|insert|send|post|publish|deploy|push|merge|"
    r"execute|exec|run|eval|install|upload|transfer|pay|approve|grant|revoke)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class _Part:
    """What one kind of ask adds to its description. `shown` are the input's fields that `what` holds."""

    title: str
    what: What
    shown: frozenset[str] = frozenset()
    paths: tuple[AffectedPath, ...] = ()
    flags: tuple[Flag, ...] = ()


def describe(ask: Ask, *, cwd: str, home: str, files: Files, plan: str | None = None) -> Description:
    """`ask` as it is shown. `plan` is the text of a plan that the ask's input does not carry."""
    ground = Ground(cwd, home, files)
    given = _given(ask)
    part = _part(ask, given, ground, plan)
    purpose = _purpose(ask)
    shown = part.shown | {"description"} if purpose and given.get("description") == purpose else part.shown
    flags = _ordered([*part.flags, *_text_flags(ask, given, plan)])
    return Description(
        title=storable(part.title),
        kind=ask.kind,
        tool=storable(ask.tool_name),
        what=part.what,
        fields=fields_of(given, shown),
        cwd=storable(cwd),
        paths=part.paths,
        agent_id=storable(ask.agent_id) if isinstance(ask.agent_id, str) else None,
        agent=storable(ask.agent),
        purpose=purpose,
        reasons=tuple(_reasons(ask.request)),
        suggestions=tuple(describe_suggestion(each) for each in ask.suggestions if isinstance(each, Mapping)),
        risk=_risk(flags),
        flags=flags,
    )


def _given(ask: Ask) -> Mapping[str, Any]:
    """The input of an ask; an elicitation's is its request."""
    if ask.kind == "elicitation":
        return {key: value for key, value in ask.request.items() if key != "subtype"}
    name = "payload" if ask.kind == "dialog" else "input"
    raw = ask.request.get(name)
    return ask.input if isinstance(raw, dict) or raw is None else {**ask.input, name: raw}


def _part(ask: Ask, given: Mapping[str, Any], ground: Ground, plan: str | None) -> _Part:
    match ask.kind:
        case "plan":
            return _plan(given, plan)
        case "question":
            return _questions(ask, given)
        case "elicitation":
            return _elicitation(given)
        case "dialog":
            return _Part(f"Dialog: {ask.message}", Call(tool=storable(ask.message)))
        case "budget":
            return _Part("Budget", Call(tool="budget"))
    return _tool_call(ask.tool_name, given, ground)


# ---------------------------------------------------------------- tools


def _tool_call(tool: str, given: Mapping[str, Any], ground: Ground) -> _Part:
    if tool in ("Bash", "PowerShell") and isinstance(given.get("command"), str):
        return _command(tool, given, ground)
    if tool in PATH_FIELDS and isinstance(given.get(PATH_FIELDS[tool]), str):
        return _file_change(tool, given, ground)
    if tool in _READS:
        return _reading(tool, given, ground)
    if tool == "WebFetch" and isinstance(given.get("url"), str):
        return _fetch(given)
    if tool.startswith("mcp__"):
        return _mcp_call(tool)
    return _Part(_TITLES.get(tool) or f"Use {tool or 'a tool without a name'}", Call(tool=storable(tool)))


def _command(tool: str, given: Mapping[str, Any], ground: Ground) -> _Part:
    text = text_in(given, "command")
    flags = list(_command_options(given))
    paths: tuple[AffectedPath, ...] = ()
    if tool == "Bash":
        findings = command_findings(text, ground)
        paths = findings.paths
        flags += [*findings.flags, *lookalikes(text, "command")]
    else:
        flags.append(Flag(code="not-understood", words=f"commands of {tool} are not looked into"))
    what = Command(text=text, language="bash" if tool == "Bash" else "powershell")
    return _Part("Run a command", what, frozenset({"command"}), paths, tuple(flags))


def _command_options(given: Mapping[str, Any]) -> Iterator[Flag]:
    if given.get("run_in_background") is True:
        yield Flag(code="background", words="goes on in the background", where="run_in_background", level="low")
    if given.get("dangerouslyDisableSandbox") is True:
        words = "runs outside of the sandbox"
        yield Flag(code="no-sandbox", words=words, where="dangerouslyDisableSandbox", level="high")


def _file_change(tool: str, given: Mapping[str, Any], ground: Ground) -> _Part:
    field = PATH_FIELDS[tool]
    path = text_in(given, field)
    touched = ground.touched(path, "write")
    flags = (*path_flags(touched, field), *lookalikes(path, field))
    title = f"{'Edit' if tool in ('Edit', 'MultiEdit') else tool} {_short(touched, ground)}"
    changed = change_of(tool, given, touched.absolute, ground.files)
    if changed is None:
        return _Part(title, Call(tool=tool), paths=(touched,), flags=flags)
    change, shown = changed
    if path == change.path:
        shown.add(field)
    return _Part(title, Change(change=change), frozenset(shown), (touched,), flags)


def _short(touched: AffectedPath, ground: Ground) -> str:
    """A path as people say it: from the project on, or from the home directory."""
    for root, sign in ((ground.cwd, ""), (ground.home, "~/")):
        prefix = root.rstrip("/") + "/"
        if root and touched.absolute.startswith(prefix):
            return sign + touched.absolute.removeprefix(prefix)
    return touched.absolute


def _reading(tool: str, given: Mapping[str, Any], ground: Ground) -> _Part:
    path = given.get(_READS[tool])
    if not isinstance(path, str):
        return _Part(_TITLES.get(tool, tool), Call(tool=tool))
    touched = ground.touched(storable(path), "read")
    title = _TITLES.get(tool) or f"Read {_short(touched, ground)}"
    flags = (*path_flags(touched, _READS[tool]), *lookalikes(path, _READS[tool]))
    return _Part(title, Call(tool=tool), paths=(touched,), flags=flags)


def _fetch(given: Mapping[str, Any]) -> _Part:
    url = text_in(given, "url")
    host = storable(host_of(url))
    network = Flag(code="network", words=f"uses the network: {host or url}", where="url", level="low")
    return _Part(
        f"Fetch {host or url}",
        Fetch(url=url, host=host),
        frozenset({"url"}),
        flags=(network, *address_flags(url, "url")),
    )


def _mcp_call(tool: str) -> _Part:
    server, _, name = tool.removeprefix("mcp__").partition("__")
    words = f"a tool of the MCP server {server}, which alone knows what it does"
    flags = [Flag(code="mcp", words=words, where=tool, level="low")]
    if acting := _ACTING.search(name):
        flags.append(Flag(code="mcp", words=f"its name suggests that it acts: {acting[0]}", where=tool))
    title = f"{server} · {name}" if name else server
    return _Part(title, Call(tool=storable(name or tool), server=storable(server)), flags=tuple(flags))


# ---------------------------------------------------------------- plans, questions, forms


def _plan(given: Mapping[str, Any], plan: str | None) -> _Part:
    own = text_in(given, "plan")
    shown = frozenset(name for name in ("plan", "planFilePath") if isinstance(given.get(name), str))
    text = own if own.strip() else storable(plan or own)
    return _Part("Approve a plan", PlanReview(plan=text, path=text_in(given, "planFilePath")), shown)


def _questions(ask: Ask, given: Mapping[str, Any]) -> _Part:
    found = questions_of(given)
    if found is None:
        return _Part("Answer a question", Call(tool=ask.tool_name))
    title = "Answer a question" if len(found.questions) == 1 else f"Answer {len(found.questions)} questions"
    return _Part(title, found, frozenset({"questions"}))


def _elicitation(given: Mapping[str, Any]) -> _Part:
    form, shown = form_of(given)
    flags = [
        Flag(code="secrets", words=f"asks for what seems to be a secret: {field.title or field.name}", where=field.name)
        for field in form.form_fields
        if re.search(r"passw|secret|token|api.?key|\bpin\b|credential", f"{field.name} {field.title}", re.IGNORECASE)
    ]
    if form.url:
        flags += address_flags(form.url, "url")
    return _Part(f"{form.server or 'An MCP server'} wants to know", form, frozenset(shown), flags=tuple(flags))


# ---------------------------------------------------------------- around it


def _purpose(ask: Ask) -> str:
    return storable(ask.message) if ask.kind in ("permission", "plan", "enter_plan", "budget") else ""


def _reasons(request: Mapping[str, Any]) -> Iterator[Reason]:
    for name in ("decision_reason", "decision_reason_hook_source", "server_prompt"):
        if words := text_in(request, name):
            yield Reason(code=name, words=words)
    rule = request.get("matched_ask_rule")
    if isinstance(rule, Mapping):
        content = text_in(rule, "rule_content")
        named = text_in(rule, "tool_name") + (f"({content})" if content else "")
        yield Reason(code="matched_ask_rule", words=f"{named} in {text_in(rule, 'source') or 'the settings'}")
    if blocked := text_in(request, "blocked_path"):
        yield Reason(code="blocked_path", words=blocked)


# ---------------------------------------------------------------- flags

_CODE_FIELDS = frozenset({"command", "url", "file_path", "notebook_path", "path", "pattern", "glob", "cell_id"})
_PROSE_FIELDS = frozenset(
    {"description", "plan", "prompt", "message", "questions", "title", "query", "requested_schema"}
)


def _text_flags(ask: Ask, given: Mapping[str, Any], plan: str | None) -> Iterator[Flag]:
    """What is hidden in any text of the ask."""
    for name, value in given.items():
        yield from deceptions(_all_text(value), storable(name), _kind_of(name))
    names = "\n".join(given)
    yield from deceptions(names, "the names of the fields", "code")
    if plan:
        yield from deceptions(plan, "plan", "prose")
    yield from deceptions("\n.\n".join([ask.tool_name, ask.message]), "what the CLI says", "prose")


def _kind_of(name: str) -> Kind:
    return "code" if name in _CODE_FIELDS else "prose" if name in _PROSE_FIELDS else "content"


def _all_text(value: Any) -> str:
    # Set apart by a line with a dot, so that empty texts in a row do not look like a gap.
    return value if isinstance(value, str) else "\n.\n".join(strings_in(value))


def _ordered(flags: Iterable[Flag]) -> tuple[Flag, ...]:
    """Each finding once, the worst first."""
    distinct: dict[tuple[str, str], Flag] = {}
    for flag in flags:
        distinct.setdefault((flag.code, flag.words), flag)
    return tuple(map(_storable_flag, sorted(distinct.values(), key=lambda flag: LEVELS.index(flag.level))))


def _storable_flag(flag: Flag) -> Flag:
    return Flag(code=flag.code, words=storable(flag.words), where=storable(flag.where), level=flag.level)


def _risk(flags: tuple[Flag, ...]) -> Risk:
    level = flags[0].level if flags else "low"
    words = tuple(dict.fromkeys(flag.words for flag in flags if flag.level != "low"))
    return Risk(level=level, reasons=words or (NOTHING_STOOD_OUT,))

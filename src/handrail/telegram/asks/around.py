"""What surrounds an ask: its title, who asks and where, what stands out, what it is for, and why it is asked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from handrail.policy.describing.hidden import hidden_in
from handrail.protocol import descriptions as d
from handrail.rendering.amounts import count
from handrail.sessions.exporting.noise import is_any_hook
from handrail.telegram.asks.fitting import stacked
from handrail.telegram.asks.reading import Asked
from handrail.telegram.asks.words import exact, in_short, line, words
from handrail.telegram.text.rich import RichText, bold, code, plain

__all__ = ["AskedIn", "around", "heading", "title"]

TITLES: Mapping[str, str] = {"plan": "Plan", "enter_plan": "Plan mode", "question": "Question"}
SIGNS: Mapping[str, str] = {"high": "✗", "medium": "▲", "low": "·"}
ACCESS: Mapping[str, str] = {"read": "reads", "write": "writes", "delete": "deletes"}
REASONS: Mapping[str, str] = {
    "decision_reason": "Why asked",
    "decision_reason_hook_source": "Hook",
    "server_prompt": "Server",
    "matched_ask_rule": "Rule",
    "blocked_path": "Touches",
}


class AskedIn(msgspec.Struct, frozen=True, omit_defaults=True):
    """Where it is asked. What is plain from the chat may be left out."""

    session_id: str
    title: str = ""
    host: str = ""


def title(asked: Asked) -> str:
    """What is asked, on one line."""
    description = asked.description
    if description.kind in TITLES:
        return TITLES[description.kind]
    if not description.tool or description.kind != "permission":
        return in_short(description.title)
    tool, named = _tool(description.tool), in_short(description.title)
    return named if named.startswith(tool) else f"{tool} · {named}"


def _tool(name: str) -> str:
    """A tool's name; for an MCP server's tool, whose it is."""
    server, separator, tool = name.removeprefix("mcp__").partition("__")
    is_of_server = name.startswith("mcp__") and separator
    return f"{in_short(server, 60)} · {in_short(tool, 80)}" if is_of_server else in_short(name, 80)


def heading(asked: Asked, about: AskedIn, *, sign: str = "⏸", lead: str = "Needs you") -> RichText:
    """The first lines: that somebody is needed, for what, and who asks."""
    danger = " · HIGH RISK" if asked.is_answerable and asked.description.risk.level == "high" else ""
    named = " · ".join(part for part in (lead, title(asked)) if part)
    origin = " · ".join(_origin(asked.description, about))
    return bold(f"{sign} {named}{danger}".lstrip()) + (plain(f"\n{origin}") if origin else plain(""))


def _origin(description: d.Description, about: AskedIn) -> Iterator[str]:
    if about.title:
        yield in_short(about.title, 120)
    if about.host:
        yield f"on {in_short(about.host, 60)}"
    if description.agent_id is not None:
        agent = in_short(description.agent, 60) or f"subagent {in_short(description.agent_id, 60)}"
        yield f"asked by {agent}"


def around(asked: Asked) -> RichText:
    """Everything that is said about it, row by row."""
    description = asked.description
    rows = [*_hidden(description), *_flags(description), *_purpose(description), *_reasons(description)]
    return stacked([*rows, *_where(description), *_paths(description)])


def _hidden(description: d.Description) -> Iterator[RichText]:
    if hidden := hidden_in(description):
        verb = "is" if hidden == 1 else "are"
        yield bold(f"▲ {count(hidden, 'hidden character')} {verb} shown as <U+…>")


def _flags(description: d.Description) -> Iterator[RichText]:
    for flag in description.flags:
        said = f"{SIGNS[flag.level]} {line(flag.words)}"
        where = plain(" ") + code(line(flag.where)) if line(flag.where) else plain("")
        yield (bold(said) if flag.level == "high" else plain(said)) + where


def _purpose(description: d.Description) -> Iterator[RichText]:
    said = description.purpose if description.kind not in ("budget", "dialog") else ""
    # For tools on files it is only the file's name again.
    path = description.paths[0].path if description.paths and isinstance(description.what, d.Change | d.Call) else ""
    is_shown = isinstance(description.what, d.Form) and words(said) == words(description.what.message)
    if words(said) and not is_shown and said != description.tool and not (path and path.endswith(said)):
        yield plain(f"What for: {words(said)}")


def _reasons(description: d.Description) -> Iterator[RichText]:
    for reason in description.reasons:
        if not is_any_hook(reason):
            yield plain(f"{REASONS.get(reason.code, line(reason.code))}: {words(reason.words)}")


def _where(description: d.Description) -> Iterator[RichText]:
    if isinstance(description.what, d.Command) and description.cwd:
        yield plain("Runs in: ") + code(exact(description.cwd))
    if isinstance(description.what, d.PlanReview) and description.what.path:
        yield plain("File: ") + code(exact(description.what.path))


def _paths(description: d.Description) -> Iterator[RichText]:
    if isinstance(description.what, d.Change) and _is_plain(description.paths):
        return  # a change names its file already
    for path in description.paths:
        elsewhere = plain(" leads to ") + code(exact(path.resolved)) if path.resolved != path.absolute else plain("")
        outside = "" if path.inside_project else " (outside the project)"
        yield plain(f"{ACCESS[path.access]} ") + code(exact(path.path)) + elsewhere + outside


def _is_plain(paths: tuple[d.AffectedPath, ...]) -> bool:
    return len(paths) == 1 and paths[0].inside_project and paths[0].resolved == paths[0].absolute

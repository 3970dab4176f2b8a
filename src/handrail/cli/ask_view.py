"""An ask as a panel: who asks, exactly what would happen, and why it was asked. Pure; the answers are elsewhere."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec
from rich import box
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.panel import Panel
from rich.text import Text

from handrail.cli.layout import Hanging
from handrail.cli.listing import text_listing
from handrail.cli.style import MARKS, NEEDS_YOU, PLAN, QUIET, exact, markdown, prose
from handrail.cli.tools import call_input, tool_title
from handrail.cli.visible import hidden_characters, visible
from handrail.protocol.asks import Ask

__all__ = ["Asking", "ask_panel", "option_labels", "plan_text", "question_panel"]

NARROW = 60


class Asking(msgspec.Struct, frozen=True, kw_only=True):
    """What is known around an ask."""

    who: str = ""
    """The subagent that asks; empty for the main conversation."""
    call: Mapping[str, Any] | None = None
    """The tool call's input as the model wrote it: a plan may be there and not in the ask."""
    waiting: int = 0
    """How many further asks wait behind this one."""
    edited: bool = False


def ask_panel(ask: Ask, asking: Asking) -> RenderableType:
    """The panel for any kind of ask but questions, which have one each."""
    if ask.kind == "plan":
        return _panel("Plan", _plan_body(ask, asking), asking, PLAN)
    if ask.kind == "enter_plan":
        return _panel("Plan mode", [Text("Claude wants to plan before it changes anything.")], asking, PLAN)
    if ask.kind == "elicitation":
        return _panel(f"{_text(ask, 'mcp_server_name')} wants to know", _elicitation_body(ask), asking, NEEDS_YOU)
    if ask.kind == "dialog":
        return _panel(f"Dialog · {ask.message}", [_json(ask.input)], asking, NEEDS_YOU)
    return _panel(tool_title(ask.tool_name), _permission_body(ask, asking), asking, NEEDS_YOU)


def question_panel(question: Mapping[str, Any], asking: Asking) -> RenderableType:
    """One question with its numbered choices."""
    header = question.get("header")
    title = f"Question · {header}" if isinstance(header, str) and header else "Question"
    body: list[RenderableType] = [prose(str(question.get("question", "")), "bold"), Text()]
    for number, option in enumerate(_options(question), start=1):
        body.extend(_option(number, option))
    return _panel(title, body, asking, NEEDS_YOU)


def option_labels(question: Mapping[str, Any]) -> list[str]:
    """The choices of a question, as they must be sent back."""
    return [str(option.get("label", "")) for option in _options(question)]


def plan_text(ask: Ask, asking: Asking) -> str:
    """The plan: newer CLIs may leave it out of the ask, and then it is in the tool call."""
    for source in (ask.input, asking.call or {}):
        plan = source.get("plan")
        if isinstance(plan, str) and plan.strip():
            return plan
    return ""


# ---------------------------------------------------------------- bodies


def _permission_body(ask: Ask, asking: Asking) -> list[RenderableType]:
    body = call_input(ask.tool_name, ask.input, described=ask.message) or [Text("(no input)", style=QUIET)]
    return [*body, *_notes(ask, asking)]


def _plan_body(ask: Ask, asking: Asking) -> list[RenderableType]:
    plan = plan_text(ask, asking)
    body: list[RenderableType] = [markdown(plan) if plan else Text("(the CLI sent no text of the plan)", style=QUIET)]
    path = ask.input.get("planFilePath")
    rest = {key: value for key, value in ask.input.items() if key not in ("plan", "planFilePath")}
    body += call_input(ask.tool_name, rest)
    notes = [_row("File", exact(path))] if isinstance(path, str) else []
    return [*body, *_spaced([*notes, *_who(asking), *_hidden(plan)])]


def _elicitation_body(ask: Ask) -> list[RenderableType]:
    body: list[RenderableType] = [prose(ask.message)]
    url = ask.request.get("url")
    if isinstance(url, str):
        body += [Text(), exact(url, "bold")]
    return body


def _option(number: int, option: Mapping[str, Any]) -> Iterator[RenderableType]:
    body: list[RenderableType] = [prose(str(option.get("label", "")), "bold")]
    description, preview = option.get("description"), option.get("preview")
    if isinstance(description, str) and description:
        body.append(prose(description, QUIET))
    if isinstance(preview, str) and preview:
        body.append(markdown(preview))
    yield Hanging(Text(f"{number}  ", style=f"bold {NEEDS_YOU}"), Group(*body))


def _options(question: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    found = question.get("options")
    return [option for option in found if isinstance(option, dict)] if isinstance(found, list) else []


# ---------------------------------------------------------------- notes


def _notes(ask: Ask, asking: Asking) -> list[RenderableType]:
    rows = [*_purpose(ask), *_reasons(ask), *_who(asking), *_hidden(_encoded(ask.input))]
    return _spaced(rows)


def _spaced(rows: list[RenderableType]) -> list[RenderableType]:
    return [Text(), *rows] if rows else []


def _purpose(ask: Ask) -> Iterator[RenderableType]:
    # For tools on files the CLI's description is only the file's name again.
    path = str(ask.input.get("file_path") or ask.input.get("notebook_path") or ask.input.get("url") or "")
    if ask.message and ask.message != ask.tool_name and not path.endswith(ask.message):
        yield _row("What for", prose(ask.message))


def _reasons(ask: Ask) -> Iterator[RenderableType]:
    if reason := _text(ask, "decision_reason"):
        yield _row("Why asked", prose(reason))
    rule = ask.request.get("matched_ask_rule")
    if isinstance(rule, dict):
        content = rule.get("rule_content")
        named = f"{rule.get('tool_name', '')}" + (f"({content})" if content else "")
        yield _row("Rule", exact(f"{named} in {rule.get('source', 'the settings')}"))
    if blocked := _text(ask, "blocked_path"):
        yield _row("Touches", exact(blocked))


def _who(asking: Asking) -> Iterator[RenderableType]:
    if asking.who:
        yield _row("Asked by", exact(asking.who))


def _hidden(text: str) -> Iterator[RenderableType]:
    count = hidden_characters(text)
    if count:
        noun = "hidden character is" if count == 1 else "hidden characters are"
        yield Text(f"{MARKS[NEEDS_YOU]} {count} {noun} shown as <U+…>", style=f"bold {NEEDS_YOU}")


def _row(label: str, value: Text) -> RenderableType:
    return Hanging(Text(f"{label:<11}", style=QUIET), value)


def _encoded(given: Mapping[str, Any]) -> str:
    """All strings of an input, with their own characters."""
    return "\n".join(_strings(given))


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield str(key)
            yield from _strings(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _strings(item)


def _json(value: Any) -> RenderableType:
    return text_listing(json.dumps(value, indent=2, ensure_ascii=False))


def _text(ask: Ask, name: str) -> str:
    value = ask.request.get(name)
    return value if isinstance(value, str) else ""


# ---------------------------------------------------------------- the frame around it


def _panel(title: str, body: Iterable[RenderableType], asking: Asking, colour: str) -> RenderableType:
    waiting = f" · {asking.waiting} more behind it" if asking.waiting else ""
    edited = " · edited by you" if asking.edited else ""
    return _Framed(Group(*body), f"Needs you · {visible(title)}{edited}{waiting}", colour)


class _Framed:
    """A panel; where there is little room, only lines above and below. A tall one says that all of it is there."""

    def __init__(self, body: RenderableType, title: str, colour: str) -> None:
        self._body = body
        self._title = title
        self._colour = colour

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        narrow = options.max_width < NARROW
        inside = options.update(width=options.max_width - (0 if narrow else 4))
        height = len(console.render_lines(self._body, inside, pad=False))
        yield Panel(
            self._body,
            title=Text(self._title, style=f"bold {self._colour}"),
            title_align="left",
            subtitle=Text(f"{height} lines, all shown: scroll up") if height > console.height - 6 else None,
            subtitle_align="left",
            border_style=self._colour,
            box=box.HORIZONTALS if narrow else box.ROUNDED,
            padding=(0, 0) if narrow else (0, 1),
        )

"""What a tool call is, in words: one line for the transcript, everything for an ask."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from handrail.cli.layout import Hanging
from handrail.cli.listing import Line, Listing, diff_listing, text_listing
from handrail.cli.style import QUIET, exact, one_line
from handrail.cli.visible import visible

__all__ = ["call_input", "call_line", "tool_title"]

_MAIN_FIELD: Mapping[str, str] = {
    "Agent": "description",
    "Bash": "command",
    "Edit": "file_path",
    "Glob": "pattern",
    "Grep": "pattern",
    "MultiEdit": "file_path",
    "NotebookEdit": "notebook_path",
    "Read": "file_path",
    "Skill": "skill",
    "Task": "description",
    "WebFetch": "url",
    "WebSearch": "query",
    "Write": "file_path",
}
_TITLES: Mapping[str, str] = {"AskUserQuestion": "Question", "EnterPlanMode": "Plan mode", "ExitPlanMode": "Plan"}
_LONGEST_IN_A_ROW = 60


def tool_title(name: str) -> str:
    """A tool's name; for an MCP server's tool, whose it is."""
    if name.startswith("mcp__"):
        _, _, rest = name.partition("mcp__")
        server, _, tool = rest.partition("__")
        return visible(f"{server} · {tool}" if tool else rest)
    return _TITLES.get(name) or visible(name)


def call_line(name: str, given: Any, cwd: str = "") -> str:
    """A call's essence on one line, without the tool's name. It may be cut to fit."""
    if not isinstance(given, Mapping):
        return ""
    if name in ("Edit", "Write", "MultiEdit", "Read", "NotebookEdit"):
        return _file_line(name, given, cwd)
    if name == "AskUserQuestion":
        questions = given.get("questions")
        asked = questions if isinstance(questions, list) else []
        return one_line(" / ".join(str(each.get("question", "")) for each in asked if isinstance(each, dict)))
    if name == "ExitPlanMode":
        return "ready for review"
    value = given.get(_MAIN_FIELD.get(name, ""))
    return one_line(value) if isinstance(value, str) else one_line(_compact(given))


def _file_line(name: str, given: Mapping[str, Any], cwd: str) -> str:
    path = one_line(_relative(str(given.get(_MAIN_FIELD[name], "")), cwd))
    old, new = given.get("old_string"), given.get("new_string")
    if isinstance(old, str) and isinstance(new, str):
        return f"{path}  {_counts(old, new)}"
    if name == "Write":
        return f"{path}  {_lines(str(given.get('content', '')))}"
    return path


def _relative(path: str, cwd: str) -> str:
    if cwd and path.startswith(cwd.rstrip("/") + "/"):
        return os.path.relpath(path, cwd)
    return path


def _counts(old: str, new: str) -> str:
    gutters = [line.gutter for line in diff_listing(old, new).lines]
    return f"+{gutters.count('+ ')} −{gutters.count('- ')}"


def _lines(text: str) -> str:
    count = text.count("\n") + (not text.endswith("\n"))
    return "1 line" if count == 1 else f"{count} lines"


def _compact(given: Mapping[str, Any]) -> str:
    return ", ".join(f"{key}: {_value(value)}" for key, value in given.items())


def _value(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


# ---------------------------------------------------------------- everything, for an ask


def call_input(name: str, given: Mapping[str, Any], *, described: str = "") -> list[RenderableType]:
    """The whole input: what matters first, then every other field. `described` is a text shown elsewhere already."""
    shown, first = _main_part(name, given)
    rest = {key: value for key, value in given.items() if key not in shown}
    if rest.get("description") == described:
        rest.pop("description", None)
    return [*first, *_fields(rest)]


def _main_part(name: str, given: Mapping[str, Any]) -> tuple[set[str], list[RenderableType]]:
    """The fields that have a form of their own, and that form."""
    if name == "Bash" and isinstance(given.get("command"), str):
        return {"command"}, [text_listing(given["command"])]
    path = given.get("file_path")
    if not isinstance(path, str):
        return set(), []
    if isinstance(given.get("old_string"), str) and isinstance(given.get("new_string"), str):
        return {"file_path", "old_string", "new_string"}, [
            _bold(path),
            diff_listing(given["old_string"], given["new_string"]),
        ]
    if name == "Write" and isinstance(given.get("content"), str):
        content = given["content"]
        return {"file_path", "content"}, [
            _bold(path),
            text_listing(content),
            Text(f"{_lines(content)} in all", style=QUIET),
        ]
    return {"file_path"}, [_bold(path)]


def _bold(text: str) -> Listing:
    return Listing([Line(text, style="bold")])


def _fields(fields: Mapping[str, Any]) -> Iterator[RenderableType]:
    for key, value in fields.items():
        text = value if isinstance(value, str) else _indented(value)
        if "\n" in text or len(text) > _LONGEST_IN_A_ROW:
            yield exact(f"{key}:", QUIET)
            yield text_listing(text)
        else:
            yield Hanging(exact(f"{key}: ", QUIET), text_listing(text))


def _indented(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)

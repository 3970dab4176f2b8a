"""What a tool call is, on one line of the transcript."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

from handrail.policy.describing.diffs import changed_blocks, split_lines
from handrail.policy.describing.visible import one_line, visible

__all__ = ["call_line", "tool_title"]

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
    blocks = changed_blocks(split_lines(old), split_lines(new))
    added = sum(block.new_end - block.new_start for block in blocks)
    removed = sum(block.old_end - block.old_start for block in blocks)
    return f"+{added} −{removed}"


def _lines(text: str) -> str:
    count = text.count("\n") + (not text.endswith("\n"))
    return "1 line" if count == 1 else f"{count} lines"


def _compact(given: Mapping[str, Any]) -> str:
    return ", ".join(f"{key}: {_value(value)}" for key, value in given.items())


def _value(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)

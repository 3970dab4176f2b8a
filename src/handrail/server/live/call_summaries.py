"""What came of a tool call, in two or three words: lines changed, files found, the exit code."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

import msgspec

__all__ = ["group_of", "summary_of"]

_EXIT_CODE = re.compile(rb'^"(?:<tool_use_error>)?Exit code (\d{1,3})\b')
_DONE = "completed"

GROUPS: dict[str, str] = {
    **dict.fromkeys(("Read", "NotebookRead", "LS", "ReadMcpResourceTool"), "read"),
    **dict.fromkeys(("Glob", "Grep", "LSP", "ToolSearch", "ListMcpResourcesTool"), "search"),
    **dict.fromkeys(("Write", "Edit", "MultiEdit", "NotebookEdit"), "edit"),
    **dict.fromkeys(
        ("Bash", "Shell", "PowerShell", "KillShell", "KillBash", "BashOutput", "Monitor", "TaskStop"), "command"
    ),
    **dict.fromkeys(("WebSearch", "WebFetch", "web_search", "web_fetch"), "web"),
    **dict.fromkeys(("Task", "Agent", "TaskOutput", "AgentOutputTool"), "task"),
}


def group_of(tool: str) -> str:
    """What kind of line a run of such calls is folded into."""
    return GROUPS.get(tool, "other")


def summary_of(tool: str, phase: str, given: msgspec.Raw, result: msgspec.Raw, content: msgspec.Raw) -> str:
    """What is known of a call at this phase; its input, structured result and content are given as JSON."""
    failed = _EXIT_CODE.match(bytes(memoryview(content)[:64]))
    if failed is not None:
        return f"exit code {int(failed[1])}"
    summarise = _SUMMARIES.get(tool)
    if summarise is None:
        return ""
    try:
        return summarise(phase, given, result)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return ""  # a tool of another version gives something else


class _Hunk(msgspec.Struct, frozen=True):
    lines: list[str] = []


class _Patched(msgspec.Struct, frozen=True):
    structuredPatch: list[_Hunk] = []  # noqa: N815  (the CLI's name)


class _Edited(msgspec.Struct, frozen=True):
    old_string: str = ""
    new_string: str = ""


class _Written(msgspec.Struct, frozen=True):
    content: str = ""


class _Found(msgspec.Struct, frozen=True):
    numFiles: int | None = None  # noqa: N815  (the CLI's name)


class _FileRead(msgspec.Struct, frozen=True):
    numLines: int | None = None  # noqa: N815  (the CLI's name)


class _Read(msgspec.Struct, frozen=True):
    file: _FileRead = _FileRead()


class _Todo(msgspec.Struct, frozen=True):
    status: str = ""


class _Todos(msgspec.Struct, frozen=True):
    todos: list[_Todo] = []


class _Shell(msgspec.Struct, frozen=True):
    backgroundTaskId: str | None = None  # noqa: N815  (the CLI's name)


def _read(raw: msgspec.Raw, kind: type[Any]) -> Any:
    return msgspec.json.decode(raw, type=kind) if raw else kind()


def _edit(phase: str, given: msgspec.Raw, result: msgspec.Raw) -> str:
    changed = _changed(line for hunk in _read(result, _Patched).structuredPatch for line in hunk.lines)
    if changed or phase == _DONE:
        return changed
    edited = _read(given, _Edited)
    return _lines(_number_of_lines(edited.new_string), _number_of_lines(edited.old_string))


def _write(phase: str, given: msgspec.Raw, result: msgspec.Raw) -> str:
    if phase == _DONE:
        return _changed(line for hunk in _read(result, _Patched).structuredPatch for line in hunk.lines)
    return _lines(_number_of_lines(_read(given, _Written).content), 0)


def _changed(lines: Iterable[str]) -> str:
    added = removed = 0
    for line in lines:
        added += line.startswith("+")
        removed += line.startswith("-")
    return _lines(added, removed)


def _number_of_lines(text: str) -> int:
    return text.count("\n") + (not text.endswith("\n")) if text else 0


def _lines(added: int, removed: int) -> str:
    return f"+{added} −{removed}" if added or removed else ""


def _found(phase: str, given: msgspec.Raw, result: msgspec.Raw) -> str:
    return _count(_read(result, _Found).numFiles, "file")


def _file(phase: str, given: msgspec.Raw, result: msgspec.Raw) -> str:
    return _count(_read(result, _Read).file.numLines, "line")


def _todos(phase: str, given: msgspec.Raw, result: msgspec.Raw) -> str:
    todos = _read(given, _Todos).todos
    return f"{sum(todo.status == _DONE for todo in todos)} of {len(todos)} done" if todos else ""


def _shell(phase: str, given: msgspec.Raw, result: msgspec.Raw) -> str:
    return "in the background" if _read(result, _Shell).backgroundTaskId else ""


def _count(number: int | None, what: str) -> str:
    return "" if number is None else f"{number:,} {what}" + ("" if number == 1 else "s")


_SUMMARIES: dict[str, Callable[[str, msgspec.Raw, msgspec.Raw], str]] = {
    "Edit": _edit,
    "MultiEdit": _edit,
    "Write": _write,
    "Glob": _found,
    "Grep": _found,
    "Read": _file,
    "TodoWrite": _todos,
    "Bash": _shell,
}

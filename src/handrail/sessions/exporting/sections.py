"""What stands inside of a call or an ask, as sections that every format knows how to write."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from handrail.policy.describing.diffs import unified_hunks
from handrail.policy.describing.json_text import compact_json, json_text
from handrail.policy.describing.visible import one_line
from handrail.protocol.descriptions import Hunk
from handrail.sessions.exporting.story import Call

__all__ = [
    "Code",
    "Diff",
    "Lines",
    "Output",
    "Picture",
    "Prose",
    "Section",
    "call_line",
    "content_sections",
    "given_sections",
    "result_sections",
    "tool_name",
]

LONGEST_LINE = 300


@dataclass(frozen=True, slots=True)
class Code:
    """Text in a language: `diff`, `json`, `bash`, or what a file's name says."""

    text: str
    language: str = ""
    file_name: str = ""
    label: str = ""


@dataclass(frozen=True, slots=True)
class Diff(Code):
    """A change of a file. `numbered`: the numbers of its lines are those of the file."""

    hunks: tuple[Hunk, ...] = ()
    numbered: bool = True


@dataclass(frozen=True, slots=True)
class Output:
    """What a program printed, with its colours."""

    text: str
    label: str = ""


@dataclass(frozen=True, slots=True)
class Prose:
    """Markdown that somebody wrote."""

    text: str
    label: str = ""


@dataclass(frozen=True, slots=True)
class Lines:
    """A list."""

    lines: tuple[str, ...]
    label: str = ""


@dataclass(frozen=True, slots=True)
class Picture:
    """An image, in base64."""

    media_type: str
    data: str


Section: TypeAlias = Code | Output | Prose | Lines | Picture


# ---------------------------------------------------------------- the line of a call


def call_line(call: Call, cwd: str) -> tuple[str, str]:
    """What a call is, on one line: the tool, and what it is about."""
    name = tool_name(call)
    label = _LABELS.get(name) or _mcp_label(name) or one_line(name)
    about = "" if name in _LABELS or _mcp_label(name) else call.started.title
    about = about.removeprefix(f"{label} ").removeprefix(f"{name} ")
    if call.started.kind == "file_change" or name in ("Read", "NotebookRead"):
        about = _relative(about, cwd)
    if about in (label, name, ""):
        about = _input_line(call)
    line = one_line(about)
    changed = _changed_lines(call)
    return label, (line if len(line) <= LONGEST_LINE else line[:LONGEST_LINE] + " …") + changed


def tool_name(call: Call) -> str:
    """The tool that was called."""
    name = call.detail.get("tool_name")
    return name if isinstance(name, str) and name else call.started.kind


def _mcp_label(name: str) -> str:
    if not name.startswith("mcp__"):
        return ""
    server, _, tool = name.removeprefix("mcp__").partition("__")
    return one_line(f"{server} · {tool}" if tool else server)


def _input_line(call: Call) -> str:
    given = _given(call)
    if tool_name(call) in _LABELS or not given:
        return ""
    values = {key: value if isinstance(value, str) else compact_json(value) for key, value in given.items()}
    return ", ".join(f"{key}: {value}" for key, value in values.items())


def _relative(path: str, cwd: str) -> str:
    return posixpath.relpath(path, cwd) if cwd and path.startswith(cwd.rstrip("/") + "/") else path


def _changed_lines(call: Call) -> str:
    hunks = _hunks(call) if call.started.kind == "file_change" else ()
    lines = [line for hunk in hunks for line in hunk.lines]
    added, removed = (sum(line.startswith(sign) for line in lines) for sign in "+-")
    return f"  +{added} −{removed}" if added or removed else ""


_LABELS: Mapping[str, str] = {
    "AskUserQuestion": "Question",
    "EnterPlanMode": "Plan mode",
    "ExitPlanMode": "Plan",
    "TodoWrite": "Todos",
}


# ---------------------------------------------------------------- what was given


def given_sections(call: Call) -> Iterator[Section]:
    """What a call was given."""
    yield from _INPUTS.get(tool_name(call), _any_input)(call, _given(call))


def _given(call: Call) -> dict[str, Any]:
    given = call.detail.get("tool_input")
    return given if isinstance(given, dict) else {}


def _any_input(call: Call, given: dict[str, Any]) -> Iterator[Section]:
    shown = [name for name, value in given.items() if isinstance(value, str) and call.started.title.endswith(value)]
    yield from _rest(given, *shown)


def _rest(given: dict[str, Any], *shown: str) -> Iterator[Section]:
    """Whatever of the input stands nowhere else."""
    rest = {name: value for name, value in given.items() if name not in shown}
    if rest:
        yield Code(json_text(rest), "json")


def _command(call: Call, given: dict[str, Any]) -> Iterator[Section]:
    command = given.get("command")
    if isinstance(command, str):
        yield Code(command, "bash")
    yield from _rest(given, "command", "description")


def _edit(call: Call, given: dict[str, Any]) -> Iterator[Section]:
    hunks = _hunks(call)
    if hunks:
        yield _diff(hunks, numbered=bool(_patched(call)))
        yield from _rest(given, "file_path", "old_string", "new_string", "replace_all", "edits")
    else:
        yield from _any_input(call, given)


def _write(call: Call, given: dict[str, Any]) -> Iterator[Section]:
    hunks = _patched(call)
    content = given.get("content")
    if hunks:
        yield _diff(hunks, numbered=True)
    elif isinstance(content, str):
        yield Code(content, file_name=str(given.get("file_path", "")))
    yield from _rest(given, "file_path", "content")


def _delegate(call: Call, given: dict[str, Any]) -> Iterator[Section]:
    prompt = given.get("prompt")
    if isinstance(prompt, str):
        yield Prose(prompt, "Task")
    yield from _rest(given, "prompt", "description")


def _plan(call: Call, given: dict[str, Any]) -> Iterator[Section]:
    plan = given.get("plan")
    asked_before = any(asked.opened.kind == "plan" for asked in call.asked)
    if isinstance(plan, str) and not asked_before:
        yield Prose(plan)
    yield from _rest(given, "plan", "planFilePath")


def _questions(call: Call, given: dict[str, Any]) -> Iterator[Section]:
    if not any(asked.opened.kind == "question" for asked in call.asked):
        yield from _any_input(call, given)


def _todos(call: Call, given: dict[str, Any]) -> Iterator[Section]:
    todos = given.get("todos")
    if isinstance(todos, list) and all(isinstance(todo, dict) for todo in todos):
        yield Lines(tuple(_todo(todo) for todo in todos))
    else:
        yield from _any_input(call, given)


def _todo(todo: dict[str, Any]) -> str:
    sign = {"completed": "☑", "in_progress": "▶"}.get(str(todo.get("status")), "☐")
    return f"{sign} {todo.get('content', '')}"


_INPUTS: Mapping[str, Callable[[Call, dict[str, Any]], Iterator[Section]]] = {
    "Bash": _command,
    "Edit": _edit,
    "MultiEdit": _edit,
    "Write": _write,
    "Agent": _delegate,
    "Task": _delegate,
    "ExitPlanMode": _plan,
    "AskUserQuestion": _questions,
    "TodoWrite": _todos,
}


# ---------------------------------------------------------------- changes of files


def _diff(hunks: tuple[Hunk, ...], *, numbered: bool) -> Diff:
    text = "\n".join(line for hunk in hunks for line in (hunk.header, *hunk.lines))
    return Diff(text, "diff", hunks=hunks, numbered=numbered)


def _hunks(call: Call) -> tuple[Hunk, ...]:
    return _patched(call) or tuple(_replaced(_given(call)))


def _patched(call: Call) -> tuple[Hunk, ...]:
    """What the CLI says that it changed: with the line numbers of the file."""
    result = call.detail.get("tool_use_result")
    patch = result.get("structuredPatch") if isinstance(result, dict) else None
    return tuple(hunk for part in patch if (hunk := _hunk(part)) is not None) if isinstance(patch, list) else ()


def _hunk(part: Any) -> Hunk | None:
    if not isinstance(part, dict):
        return None
    numbers = [part.get(name) for name in ("oldStart", "oldLines", "newStart", "newLines")]
    lines = part.get("lines")
    if not isinstance(lines, list) or not all(isinstance(number, int) for number in numbers):
        return None
    return Hunk(
        old_start=numbers[0],  # type: ignore[arg-type]
        old_count=numbers[1],  # type: ignore[arg-type]
        new_start=numbers[2],  # type: ignore[arg-type]
        new_count=numbers[3],  # type: ignore[arg-type]
        lines=tuple(str(line) for line in lines),
    )


def _replaced(given: dict[str, Any]) -> Iterator[Hunk]:
    """What the call says that it replaces: its line numbers are those of the piece."""
    edits = given.get("edits")
    for edit in edits if isinstance(edits, list) else [given]:
        old, new = (edit.get("old_string"), edit.get("new_string")) if isinstance(edit, dict) else (None, None)
        if isinstance(old, str) and isinstance(new, str):
            yield from unified_hunks(old, new)


# ---------------------------------------------------------------- what came back

_CHANGES_FILES = frozenset({"Edit", "MultiEdit", "NotebookEdit", "Write"})
_QUIET_SUCCESS = _CHANGES_FILES | {"TodoWrite", "AskUserQuestion", "ExitPlanMode"}
"""Tools whose success has nothing to say that the call did not say already."""
_WRITES_PROSE = frozenset({"Agent", "Task"})


def result_sections(call: Call) -> Iterator[Section]:
    """What a call gave back."""
    if call.ended is None or (call.state == "done" and tool_name(call) in _QUIET_SUCCESS):
        return
    why = call.detail.get("reason")
    if isinstance(why, str):
        yield Output(why)
    for section in content_sections(call.detail.get("content")):
        if isinstance(section, Prose):
            text = section.text.removeprefix("<tool_use_error>").removesuffix("</tool_use_error>")
            if text in _answers(call):
                continue
            yield Prose(text, "Report") if tool_name(call) in _WRITES_PROSE else Output(text, "Output")
        else:
            yield section


def _answers(call: Call) -> set[Any]:
    """What people answered when they were asked about a call: that stands beside it."""
    answers = [asked.closed.answer or {} for asked in call.asked if asked.closed is not None]
    return {text for answer in answers for name in ("message", "feedback") if isinstance(text := answer.get(name), str)}


def content_sections(content: Any) -> Iterator[Section]:
    """The content of a message or a result: a text, or blocks. What is no text and no image is shown as JSON."""
    for block in content if isinstance(content, list | tuple) else [content]:
        if isinstance(block, str):
            yield from _text(block)
        elif isinstance(block, dict):
            yield from _block(block)


def _text(text: str) -> Iterator[Section]:
    if text.strip():
        yield Prose(text)


def _block(block: dict[str, Any]) -> Iterator[Section]:
    source = block.get("source")
    if block.get("type") == "text" and isinstance(block.get("text"), str):
        yield from _text(block["text"])
    elif block.get("type") == "image" and isinstance(source, dict) and source.get("type") == "base64":
        yield Picture(str(source.get("media_type")), str(source.get("data")))
    else:
        yield Code(json_text(block), "json")

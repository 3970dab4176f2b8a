"""A tool call and what came of it, as lines: its essence, its folded output, the difference that it made to a file."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from handrail.cli.showing.amounts import count, short_duration
from handrail.cli.showing.layout import Hanging
from handrail.cli.showing.listing import Listing, diff_listing, hunk_listing
from handrail.cli.showing.style import DONE, FAILED, MARKS, QUIET, RUNNING, exact
from handrail.cli.showing.tools import call_line, tool_title
from handrail.events.model import Action
from handrail.protocol.descriptions import Hunk

__all__ = ["Call", "call_essence", "call_of", "label_of", "render_call", "render_outcome", "render_running"]

_SHOWN_LINES = 4
_SHOWN_CHANGES = 24
_SLOW_SECONDS = 2

_QUIET_SUCCESS = frozenset({"Edit", "MultiEdit", "NotebookEdit", "Write"})
"""Tools whose success has nothing to say that the difference does not show."""
_NOTHING = frozenset({"(Bash completed with no output)", "(no content)"})
_HOOK_PREFIX = re.compile(r"^PreToolUse:\S+ hook error: ")
_DENIED_BY_POLICY = "Handrail's policy"


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call, as far as its start told."""

    id: str
    name: str
    input: Any
    title: str
    at: float = 0.0
    parent: str | None = None
    is_agent: bool = False


def call_of(action: Action) -> Call:
    """The call that an action is."""
    return Call(
        id=action.id,
        name=str(action.detail.get("tool_name") or ""),
        input=action.detail.get("tool_input"),
        title=action.title,
        at=action.at,
        parent=action.parent,
        is_agent=action.kind == "subagent",
    )


# ---------------------------------------------------------------- the call


def label_of(call: Call, cwd: str = "") -> str:
    """A call in a few words."""
    essence = call_essence(call, cwd)
    return f"{tool_title(call.name)} {essence}" if call.name else essence


def render_call(call: Call, cwd: str = "", *, colour: str = RUNNING, after: str = "") -> Text:
    """A call as one line, cut where the terminal ends."""
    line = Text(no_wrap=True, overflow="ellipsis")
    line.append(f"{MARKS[RUNNING]} ", colour)
    if call.name:
        line.append(tool_title(call.name), "bold").append("  ")
    line.append_text(exact(call_essence(call, cwd)))
    return line.append(f"  {after}", QUIET) if after else line


def render_running(call: Call, cwd: str, now: float) -> Text:
    """A call that goes on, and for how long it has."""
    seconds = max(0.0, now - call.at) if call.at else 0.0
    return render_call(call, cwd, after=short_duration(seconds) if seconds >= _SLOW_SECONDS else "")


def call_essence(call: Call, cwd: str) -> str:
    """What a call is about, without the tool's name."""
    if call.input is None or not call.name:
        return exact(call.title.replace("\n", " ⏎ ")).plain
    return call_line(call.name, call.input, cwd)


# ---------------------------------------------------------------- how it ended


def render_outcome(action: Action, call: Call, *, label: str = "", whole: bool = False) -> RenderableType:
    """How a call ended: its output folded, or what it changed; `label` says which call, where that is not plain."""
    changes = _changes(action, call) if action.ok else None
    if changes is not None and not label:
        return Group(*_folded(changes, None if whole else _SHOWN_CHANGES))
    return _output_lines(action, call, label, whole)


def _output_lines(action: Action, call: Call, label: str, whole: bool) -> RenderableType:
    colour = DONE if action.ok else FAILED
    lines = _output(action, call.name).rstrip().split("\n")
    shown = lines if whole else lines[:_SHOWN_LINES]
    # Which rule denied a call is worth more than one line.
    cut = not shown[0].startswith(_DENIED_BY_POLICY)
    said = Text(no_wrap=cut, overflow="ellipsis" if cut else "fold")
    if label:
        said.append_text(exact(label, "bold")).append("  ")
    head = Hanging(Text("  ").append(f"{MARKS[colour]} ", colour), said.append_text(exact(shown[0], QUIET)))
    below = [Text("    ", no_wrap=not whole, overflow="ellipsis").append_text(exact(line, QUIET)) for line in shown[1:]]
    if len(shown) < len(lines):
        below.append(Text(f"    … {count(len(lines) - len(shown), 'more line')}", style=QUIET))
    return Group(head, *below)


def _output(action: Action, name: str) -> str:
    if reason := action.detail.get("reason"):
        return str(reason)
    text = _text_of(action.detail.get("content"))
    if not action.ok:
        text = _HOOK_PREFIX.sub("", text)
        return text.removeprefix("<tool_use_error>").removesuffix("</tool_use_error>") or "failed"
    if name in _QUIET_SUCCESS:
        return "done"
    if name == "Read" and text:
        return count(text.rstrip("\n").count("\n") + 1, "line")
    return text if text.strip() and text.strip() not in _NOTHING else "no output"


def _text_of(content: Any) -> str:
    """The text of a result; what is no text is named."""
    if isinstance(content, str):
        return content
    if not isinstance(content, Sequence):
        return "" if content is None else str(content)
    return "\n".join(_part(part) for part in content)


def _part(part: Any) -> str:
    if not isinstance(part, Mapping):
        return str(part)
    text = part.get("text")
    return text if isinstance(text, str) else f"[{part.get('type', 'something')}]"


# ---------------------------------------------------------------- what it changed


def _changes(action: Action, call: Call) -> Listing | None:
    """The difference that a call made: as the CLI tells it, or else as the call says."""
    if action.kind != "file_change":
        return None
    result = action.detail.get("tool_use_result")
    patch = result.get("structuredPatch") if isinstance(result, Mapping) else None
    hunks = [hunk for item in patch if (hunk := _hunk(item))] if isinstance(patch, list) else []
    if hunks:
        return hunk_listing(hunks, begin=hunks[0].old_start)
    return _from_input(call.input)


def _hunk(item: Any) -> Hunk | None:
    if not isinstance(item, Mapping):
        return None
    numbers = [item.get(name) for name in ("oldStart", "oldLines", "newStart", "newLines")]
    lines = item.get("lines")
    if not all(isinstance(number, int) for number in numbers) or not isinstance(lines, list):
        return None
    old_start, old_count, new_start, new_count = (int(number or 0) for number in numbers)
    texts = tuple(line for line in lines if isinstance(line, str) and line)
    return Hunk(old_start=old_start, old_count=old_count, new_start=new_start, new_count=new_count, lines=texts)


def _from_input(given: Any) -> Listing | None:
    if not isinstance(given, Mapping):
        return None
    old, new = given.get("old_string"), given.get("new_string")
    if isinstance(old, str) and isinstance(new, str):
        return diff_listing(old, new)
    content = given.get("content")
    return diff_listing("", content) if isinstance(content, str) and content else None


def _folded(listing: Listing, at_most: int | None) -> list[RenderableType]:
    lines = listing.lines
    if at_most is None or len(lines) <= at_most + 1:
        return [Hanging(Text("    "), listing)]
    left_out = Text(f"    … {count(len(lines) - at_most, 'more line')}", style=QUIET)
    return [Hanging(Text("    "), Listing(lines[:at_most])), left_out]

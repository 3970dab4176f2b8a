"""Tool calls from their start to their end, as actions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import msgspec

from handrail.events.model import Action, ActionKind
from handrail.events.tools import changes_made, describe_call
from handrail.protocol.blocks import McpToolUse, ServerToolUse, ToolUse
from handrail.protocol.frames import ToolProgress
from handrail.protocol.lenient import plain_value

__all__ = ["Actions", "OpenAction", "structured"]

SMALL_RESULT = 16 * 1024
"""A tool's structured output repeats its content: it is kept where it is small, or shows what changed in a file."""
PATCH_MARK = b'"structuredPatch"'
LEFT_OUT_OF_A_PATCH = ("originalFile", "content", "oldString", "newString")


@dataclass(slots=True, frozen=True)
class OpenAction:
    """A tool call whose result has not come."""

    id: str
    name: str
    kind: ActionKind
    title: str
    parent: str | None
    input: Any
    changes: tuple[dict[str, str], ...] = ()


class Actions:
    """The tool calls that are open."""

    def __init__(self) -> None:
        self.open: dict[str, OpenAction] = {}

    def start(
        self, call: ToolUse | ServerToolUse | McpToolUse, *, block: str, message_id: str, parent: str | None
    ) -> list[Action]:
        """A tool is called. A call that was told already (the CLI repeats itself) gives nothing."""
        if call.id in self.open:
            return []
        words = describe_call(call.name, call.input)
        opened = OpenAction(call.id, call.name, words.kind, words.title, parent, call.input, words.changes)
        self.open[call.id] = opened
        detail: dict[str, Any] = {"tool_name": call.name, "tool_input": call.input, "message_id": message_id}
        if parent is not None:
            detail["parent_tool_use_id"] = parent
        if words.changes:
            detail["changes"] = [dict(change) for change in words.changes]
        if isinstance(call, McpToolUse) and call.server_name:
            detail["server_name"] = call.server_name
        return [_action(opened, "started", detail | {"block": block})]

    def progress(self, frame: ToolProgress) -> Action:
        """A call goes on."""
        opened = self.open.get(frame.tool_use_id) or _unseen(frame.tool_use_id, frame.tool_name)
        detail: dict[str, Any] = {"elapsed_time_seconds": frame.elapsed_time_seconds}
        for name in ("task_id", "heartbeat", "subagent_type", "subagent_retry"):
            if (value := getattr(frame, name)) is not None:
                detail[name] = value
        return _action(opened, "updated", detail, parent=opened.parent or frame.parent_tool_use_id)

    def update(self, tool_use_id: str, detail: dict[str, Any]) -> Action:
        """Something became known of a call."""
        return _action(self.open.get(tool_use_id) or _unseen(tool_use_id), "updated", detail)

    def complete(
        self, tool_use_id: str, content: Any, *, ok: bool, message_id: str, parent: str | None, result: Any = None
    ) -> Action:
        """The result of a call."""
        opened = self.open.pop(tool_use_id, None) or _unseen(tool_use_id)
        detail: dict[str, Any] = {"tool_use_id": tool_use_id, "content": content, "message_id": message_id}
        if opened.name:
            detail["tool_name"] = opened.name
        if opened.changes:
            detail["changes"] = [dict(change) for change in changes_made(opened.changes, result)]
        if result is not None:
            detail["tool_use_result"] = result
        return _action(opened, "completed", detail, ok=ok, parent=opened.parent or parent)

    def cut(self, why: str, which: Callable[[OpenAction], bool] = lambda action: True) -> list[Action]:
        """The calls among `which` will get no result any more."""
        ended = [action for action in self.open.values() if which(action)]
        for action in ended:
            del self.open[action.id]
        return [_cut(action, why) for action in ended]


def structured(json: msgspec.Raw, *, alone: bool) -> Any:
    """What to keep of a tool's structured output; `alone` is false if it may belong to another result."""
    line = bytes(json)
    if not line or not alone or line == b"null":
        return None
    patch = PATCH_MARK in line
    if len(line) > SMALL_RESULT and not patch:
        return None
    try:
        value = plain_value(line)
    except (ValueError, RecursionError):
        return None
    if len(line) > SMALL_RESULT and isinstance(value, dict):
        return {name: item for name, item in value.items() if name not in LEFT_OUT_OF_A_PATCH}
    return value


def _cut(action: OpenAction, why: str) -> Action:
    detail: dict[str, Any] = {"tool_use_id": action.id, "reason": why}
    if action.name:
        detail["tool_name"] = action.name
    if action.changes:
        detail["changes"] = [dict(change) for change in action.changes]
    return _action(action, "completed", detail, ok=False)


def _unseen(tool_use_id: str, name: str = "") -> OpenAction:
    """A call whose start was not seen: it belongs to an earlier process of the session."""
    words = describe_call(name, None)
    return OpenAction(tool_use_id, name, words.kind, words.title, None, None)


def _action(
    opened: OpenAction, phase: Any, detail: dict[str, Any], *, ok: bool | None = None, parent: str | None = None
) -> Action:
    return Action(
        id=opened.id,
        kind=opened.kind,
        title=opened.title,
        phase=phase,
        ok=ok,
        detail=detail,
        parent=parent or opened.parent,
    )

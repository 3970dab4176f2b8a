"""A session as a screen shows it: what was said and done, in order and nested, and what goes on now.

`handrail.events.reduce` makes it from events. Everything here is plain data that a renderer reads.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import msgspec

from handrail.events.model import ActionKind, Meta, Phase, RateLimit

__all__ = [
    "ActionItem",
    "AskItem",
    "Item",
    "LiveBlock",
    "NoticeItem",
    "PromptItem",
    "RunItem",
    "SessionView",
    "Status",
    "TaskItem",
    "TextItem",
    "ThinkingItem",
    "content_text",
]

Status: TypeAlias = Literal["needs_you", "running", "idle", "failed", "stopped"]


class _Item(msgspec.Struct, kw_only=True, omit_defaults=True, tag_field="type"):
    """One entry of the timeline. `seq` and `at` are those of the event that began it."""

    seq: int = 0
    at: float = 0.0
    run: int | None = None


class PromptItem(_Item, tag="prompt"):
    """A message to Claude."""

    uuid: str
    content: Any = None
    state: str = "sent"
    by: str = ""
    surface: str = ""
    reason: str = ""
    answered_by: int | None = None

    @property
    def text(self) -> str:
        """The message's text; images and documents are left out."""
        return content_text(self.content)


class TextItem(_Item, tag="text"):
    """What Claude said."""

    block: str
    text: str
    partial: bool = False


class ThinkingItem(_Item, tag="thinking"):
    """What Claude thought."""

    block: str
    text: str
    partial: bool = False
    redacted: bool = False


class ActionItem(_Item, tag="action"):
    """Something the session does, or a remark: all its phases in one. `children` happened inside it."""

    id: str
    kind: ActionKind
    title: str
    phase: Phase = "started"
    ok: bool | None = None
    detail: dict[str, Any] = msgspec.field(default_factory=dict)
    """Of all its phases together: later ones add to it."""
    parent: str | None = None
    ended_at: float | None = None
    children: list[Item] = msgspec.field(default_factory=list)

    @property
    def output(self) -> str:
        """What a tool gave back, as text."""
        return content_text(self.detail.get("content"))

    @property
    def changes(self) -> list[dict[str, str]]:
        """The files that it changes."""
        return list(self.detail.get("changes", ()))


class AskItem(_Item, tag="ask"):
    """Something that waits for an answer, or waited."""

    ask_id: str
    kind: str
    digest: str
    title: str
    ask: dict[str, Any] = msgspec.field(default_factory=dict)
    outcome: str | None = None
    """Nothing while it is open."""
    answer: dict[str, Any] | None = None
    by: str = ""
    surface: str = ""
    message: str = ""
    ended_at: float | None = None
    granted_by: str = ""
    """The ask whose answer decided this one."""


class NoticeItem(_Item, tag="notice"):
    """Something that happened to the session: compacted, another model, another id, the process gone."""

    kind: str
    text: str
    ok: bool | None = None
    detail: dict[str, Any] = msgspec.field(default_factory=dict)


Item: TypeAlias = PromptItem | TextItem | ThinkingItem | ActionItem | AskItem | NoticeItem


class TaskItem(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A subagent or work in the background. `children` were begun by it."""

    id: str
    title: str = ""
    kind: str = ""
    status: str = ""
    phase: Phase = "started"
    ok: bool | None = None
    background: bool = False
    tool_use_id: str | None = None
    parent: str | None = None
    summary: str = ""
    detail: dict[str, Any] = msgspec.field(default_factory=dict)
    started_at: float = 0.0
    ended_at: float | None = None
    children: list[str] = msgspec.field(default_factory=list)


class RunItem(msgspec.Struct, kw_only=True, omit_defaults=True):
    """One run."""

    number: int
    started_at: float = 0.0
    ended_at: float | None = None
    cause: str = ""
    messages: tuple[str, ...] = ()
    ok: bool | None = None
    interrupted: bool = False
    """Whether somebody stopped it, and nothing else went wrong."""
    answer: str = ""
    error: str | None = None
    cost_usd: float = 0.0
    duration_ms: float = 0.0
    num_turns: int = 0
    usage: dict[str, Any] | None = None


@dataclass(slots=True)
class LiveBlock:
    """A block that is being written, as far as its deltas came."""

    kind: Literal["text", "thinking", "input"]
    parent: str | None = None
    parts: list[str] = field(default_factory=list)
    length: int = 0

    @property
    def text(self) -> str:
        if len(self.parts) > 1:
            self.parts = ["".join(self.parts)]
        return self.parts[0] if self.parts else ""

    def put(self, offset: int, text: str) -> None:
        """Put a piece in its place. One that leaves a gap is not taken: the whole block will come."""
        if offset > self.length:
            return
        if offset < self.length:
            self.parts = [self.text[:offset]]
        self.parts.append(text)
        self.length = offset + len(text)


@dataclass(slots=True)
class SessionView:
    """Everything a screen needs of a session. Made by `view_of`, kept up to date by `reduce`."""

    seq: int = 0
    """The number of the last event in it."""
    at: float = 0.0
    """When that happened."""
    title: str = ""
    resume: str | None = None
    meta: Meta = field(default_factory=Meta)
    """The session as the CLI described it last."""
    cwd: str = ""
    model: str = ""
    mode: str = ""
    cli_version: str = ""
    context_tokens: int = 0
    output_tokens: int = 0
    context_window: int | None = None
    cost_usd: float = 0.0
    runs: list[RunItem] = field(default_factory=list)
    run: RunItem | None = None
    """The run that goes on."""
    items: list[Item] = field(default_factory=list)
    """The timeline."""
    prompts: dict[str, PromptItem] = field(default_factory=dict)
    """By uuid."""
    actions: dict[str, ActionItem] = field(default_factory=dict)
    """By id: every tool call."""
    now: dict[str, ActionItem] = field(default_factory=dict)
    """The tool calls that go on."""
    asks: dict[str, AskItem] = field(default_factory=dict)
    """What waits for an answer."""
    closed_asks: dict[str, AskItem] = field(default_factory=dict)
    tasks: dict[str, TaskItem] = field(default_factory=dict)
    """By id, in the order in which they began; `children` and `parent` make it a tree."""
    hooks: dict[str, str] = field(default_factory=dict)
    """The hooks that run: id → name."""
    notices: list[NoticeItem] = field(default_factory=list)
    """Also in the timeline."""
    live: dict[str, LiveBlock] = field(default_factory=dict)
    """The blocks that are being written, by their ids."""
    settled: OrderedDict[str, None] = field(default_factory=OrderedDict)
    """The ids of blocks that came whole lately: late deltas of them say nothing new."""
    rate_limits: dict[str, RateLimit] = field(default_factory=dict)
    """The last word on each limit."""
    retry: str = ""
    """Why the API is being tried again, while it is."""
    compacting: bool = False
    exited: bool = False
    """Whether the process is gone."""
    exit_was_expected: bool = False

    @property
    def status(self) -> Status:
        """In one word: what waits for a person comes first."""
        if self.asks:
            return "needs_you"
        if self.run is not None:
            return "running"
        failed = bool(self.runs) and self.runs[-1].ok is False and not self.runs[-1].interrupted
        if self.exited:
            return "failed" if failed and not self.exit_was_expected else "stopped"
        return "failed" if failed else "idle"

    @property
    def running_tasks(self) -> list[TaskItem]:
        """Subagents and work in the background that go on."""
        return [task for task in self.tasks.values() if task.phase != "completed"]

    @property
    def last_run(self) -> RunItem | None:
        return self.runs[-1] if self.runs else None


def content_text(content: Any) -> str:
    """The text of a message's or a result's content, in whatever form it came."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list | tuple):
        return ""
    texts = (block.get("text") for block in content if isinstance(block, dict))
    return "\n".join(text for text in texts if isinstance(text, str))

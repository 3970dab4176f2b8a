"""Events: what happened in a session, normalised, numbered and durable; and deltas, which are live and droppable.

Each event is JSON with a `type`. Its `seq` is given by the owner of the session's journal, without gaps, from 1; `run`
is the number of the run that it belongs to, or nothing if it belongs to the session as a whole.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import msgspec

__all__ = [
    "Action",
    "ActionKind",
    "AnyEvent",
    "ApiRetry",
    "AskClosed",
    "AskOpened",
    "Compacting",
    "Completed",
    "Delta",
    "Event",
    "Hook",
    "Meta",
    "ModeChanged",
    "ModelChanged",
    "Phase",
    "ProcessExited",
    "Prompt",
    "RateLimit",
    "SessionRekeyed",
    "Started",
    "Task",
    "Text",
    "Thinking",
    "Titled",
    "Unknown",
    "Usage",
]

Phase: TypeAlias = Literal["started", "updated", "completed"]
ActionKind: TypeAlias = Literal[
    "command", "file_change", "tool", "web_search", "note", "warning", "telemetry", "subagent"
]


class Event(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="type"):
    """Something that happened. `seq` and `at` (seconds since the epoch) are set when the journal takes it."""

    seq: int = 0
    at: float = 0.0
    run: int | None = None


class Meta(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The session as the CLI described it when a run began."""

    cwd: str = ""
    model: str = ""
    tools: tuple[str, ...] = ()
    permission_mode: str = msgspec.field(default="", name="permissionMode")
    output_style: str = ""
    cli_version: str = ""
    mcp_servers: tuple[dict[str, Any], ...] = ()
    slash_commands: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()
    skills: tuple[str, ...] = ()
    api_key_source: str = msgspec.field(default="", name="apiKeySource")


class Started(Event, frozen=True, tag="started"):
    """A run begins. Without `resume`, the CLI ended before it said which session this is."""

    engine: str = "claude"
    resume: str | None = None
    meta: Meta | None = None
    cause: Literal["message", "background", "unknown"] = "message"
    messages: tuple[str, ...] = ()
    """The uuids of the messages that caused it, as far as the CLI says."""


class Action(Event, frozen=True, tag="action"):
    """Something the session does: a tool call from its start to its end, or a remark (note, warning, telemetry)."""

    id: str
    kind: ActionKind
    title: str
    phase: Phase
    ok: bool | None = None
    detail: dict[str, Any] = {}
    parent: str | None = None
    """The action (a subagent's) inside which it happens."""


class Completed(Event, frozen=True, tag="completed"):
    """A run is over: always its last event."""

    ok: bool
    answer: str = ""
    error: str | None = None
    resume: str | None = None
    subtype: str = ""
    usage: dict[str, Any] | None = None
    model_usage: dict[str, Any] | None = msgspec.field(default=None, name="modelUsage")
    cost_usd: float = 0.0
    """What this run cost."""
    total_cost_usd: float = 0.0
    """What the CLI process has cost so far."""
    duration_ms: float = 0.0
    num_turns: int = 0
    messages: tuple[str, ...] = ()
    """The uuids of the messages it answers, as far as the CLI says."""
    structured_output: Any = None
    stop_reason: str = ""
    detail: dict[str, Any] = {}
    """What else the CLI said of the end: why it stopped, what caused the run, which call was put off."""


class Text(Event, frozen=True, tag="text"):
    """What Claude said: one whole block of text. `partial`: it was cut off, this is what had arrived."""

    block: str
    text: str
    message_id: str = ""
    parent: str | None = None
    partial: bool = False
    citations: tuple[dict[str, Any], ...] = ()


class Thinking(Event, frozen=True, tag="thinking"):
    """What Claude thought: one whole block. `redacted`: it was not shown."""

    block: str
    text: str
    message_id: str = ""
    parent: str | None = None
    partial: bool = False
    redacted: bool = False


class Prompt(Event, frozen=True, tag="prompt"):
    """A message to Claude. It is told again when its state changes, without its content; once answered, `answered_by`
    says by which run. A message may be dropped by the CLI, or lost because the process ended before it was done with
    it."""

    uuid: str
    state: Literal["queued", "sent", "started", "answered", "dropped", "lost"] | str = "sent"
    content: Any = None
    """Text, or content blocks."""
    by: str = ""
    surface: str = ""
    reason: str = ""
    answered_by: int | None = None


class AskOpened(Event, frozen=True, tag="ask_opened"):
    """Something waits for an answer; told again, with another digest, if more became known about it."""

    ask_id: str
    kind: str
    digest: str
    title: str
    ask: dict[str, Any] = {}
    """The ask, whole: what a surface needs to show it and to answer it."""


class AskClosed(Event, frozen=True, tag="ask_closed"):
    """An ask is over. `unsent`: it was decided, but the CLI ended, and whether it was told is not known. `resumed`: its
    process had ended, and it was answered by resuming the session."""

    ask_id: str
    outcome: Literal["decided", "cancelled", "expired", "lost", "unsent", "resumed"] | str
    answer: dict[str, Any] | None = None
    by: str = ""
    surface: str = ""
    decided_at: float | None = None
    message: str = ""
    granted_by: str = ""
    """The ask whose answer decided this one: the same had been asked by a process that ended, and was answered then."""


class ModeChanged(Event, frozen=True, tag="mode_changed"):
    """The permission mode is another one now."""

    mode: str
    previous: str | None = None


class ModelChanged(Event, frozen=True, tag="model_changed"):
    """The model is another one now."""

    model: str
    previous: str | None = None
    reason: str = ""


class SessionRekeyed(Event, frozen=True, tag="session_rekeyed"):
    """The CLI's own id of the session changed: the resume token is another one."""

    resume: str
    previous: str | None = None
    reason: str = ""


class Compacting(Event, frozen=True, tag="compacting"):
    """The conversation is being compacted, or was."""

    phase: Literal["started", "completed", "failed"]
    trigger: str = ""
    tokens_before: int | None = None
    tokens_after: int | None = None
    error: str | None = None
    detail: dict[str, Any] = {}


class RateLimit(Event, frozen=True, tag="rate_limit"):
    """How near a rate limit is."""

    status: str
    limit_type: str = ""
    utilization: float | None = None
    resets_at: float | None = None
    detail: dict[str, Any] = {}


class ApiRetry(Event, frozen=True, tag="api_retry"):
    """The API failed, and the CLI tries again."""

    attempt: int
    max_retries: int
    delay_ms: float = 0.0
    error: str = ""
    status: int | None = None


class Task(Event, frozen=True, tag="task"):
    """A subagent or work in the background."""

    id: str
    phase: Phase
    title: str = ""
    kind: str = ""
    status: str = ""
    ok: bool | None = None
    background: bool | None = None
    tool_use_id: str | None = None
    """The action that started it."""
    parent: str | None = None
    """The task inside which it runs."""
    summary: str = ""
    detail: dict[str, Any] = {}


class Hook(Event, frozen=True, tag="hook"):
    """A hook of the CLI's own settings runs, or ran."""

    id: str
    phase: Phase
    name: str = ""
    event: str = ""
    ok: bool | None = None
    detail: dict[str, Any] = {}


class Usage(Event, frozen=True, tag="usage"):
    """How full the context is: the tokens of the last request, cached ones included."""

    context_tokens: int
    output_tokens: int = 0
    context_window: int | None = None
    model: str = ""
    parent: str | None = None


class ProcessExited(Event, frozen=True, tag="process_exited"):
    """The CLI process is gone. `expected`: it was asked to go."""

    exit_code: int | None = None
    expected: bool = False
    reason: str = ""
    stderr: str = ""


class Titled(Event, frozen=True, tag="titled"):
    """The session has another title."""

    title: str
    by: str = ""


class Unknown(Event, frozen=True, tag="unknown"):
    """A frame that this version of Handrail does not know; `frame` is all of it."""

    frame_type: str
    frame: Any = None


AnyEvent: TypeAlias = (
    Started
    | Action
    | Completed
    | Text
    | Thinking
    | Prompt
    | AskOpened
    | AskClosed
    | ModeChanged
    | ModelChanged
    | SessionRekeyed
    | Compacting
    | RateLimit
    | ApiRetry
    | Task
    | Hook
    | Usage
    | ProcessExited
    | Titled
    | Unknown
)


class Delta(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="delta", tag_field="type"):
    """A piece of a block that is being written: `text` belongs at `offset` (in characters) of `block`.

    It comes after the event with the number `after`, and the event that carries the whole block takes its place.
    """

    block: str
    kind: Literal["text", "thinking", "input"]
    offset: int
    text: str
    after: int = 0
    parent: str | None = None

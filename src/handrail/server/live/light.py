"""Events without what is heavy in them: enough for the rows of a screen, read from JSON without building the rest.

A session's tool results, images and inputs are most of its bytes, and a list of rows shows none of them: whoever opens
a row reads the whole event again. What a row does show of them, a few words, is put into `detail["summary"]`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import msgspec

from handrail.events import model as e
from handrail.events.codec import decode_event, encode_event
from handrail.events.view import content_text
from handrail.server.live.call_summaries import summary_of

__all__ = ["LONGEST_TEXT", "light_event"]

LONGEST_TEXT = 100_000
"""How much of a text is kept; the rest is read when somebody opens the row."""
LONGEST_LINE = 2_000

NOTHING = msgspec.Raw(b"")


class _Detail(msgspec.Struct, frozen=True):
    """What may be needed of an action's detail. What may be large is left as the bytes it came in."""

    block: str = ""
    tool_name: str = ""
    tool_use_id: str = ""
    tool_input: msgspec.Raw = NOTHING
    tool_use_result: msgspec.Raw = NOTHING
    content: msgspec.Raw = NOTHING
    meta: msgspec.Raw = NOTHING


class _Action(e.Event, frozen=True, tag="action"):
    id: str
    kind: e.ActionKind
    title: str
    phase: e.Phase
    ok: bool | None = None
    detail: _Detail = _Detail()
    parent: str | None = None


class _EndDetail(msgspec.Struct, frozen=True):
    terminal_reason: Any = None


class _Completed(e.Event, frozen=True, tag="completed"):
    ok: bool
    error: str | None = None
    resume: str | None = None
    cost_usd: float = 0.0
    duration_ms: float = 0.0
    num_turns: int = 0
    messages: tuple[str, ...] = ()
    detail: _EndDetail = _EndDetail()


class _AskOpened(e.Event, frozen=True, tag="ask_opened"):
    ask_id: str
    kind: str
    digest: str
    title: str


class _AskClosed(e.Event, frozen=True, tag="ask_closed"):
    ask_id: str
    outcome: str
    by: str = ""
    surface: str = ""
    granted_by: str = ""


class _Unknown(e.Event, frozen=True, tag="unknown"):
    frame_type: str


class _ProcessExited(e.Event, frozen=True, tag="process_exited"):
    exit_code: int | None = None
    expected: bool = False
    reason: str = ""


class _Compacting(e.Event, frozen=True, tag="compacting"):
    phase: Any
    trigger: str = ""
    tokens_before: int | None = None
    tokens_after: int | None = None
    error: str | None = None


class _Hook(e.Event, frozen=True, tag="hook"):
    id: str
    phase: e.Phase
    name: str = ""
    event: str = ""
    ok: bool | None = None


_AnyLight = (
    e.Started
    | _Action
    | _Completed
    | e.Text
    | e.Thinking
    | e.Prompt
    | _AskOpened
    | _AskClosed
    | e.ModeChanged
    | e.ModelChanged
    | e.SessionRekeyed
    | _Compacting
    | e.RateLimit
    | e.ApiRetry
    | e.Task
    | _Hook
    | e.Usage
    | _ProcessExited
    | e.Titled
    | _Unknown
)


@cache
def _decoder() -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(_AnyLight)


def light_event(body: bytes) -> e.Event:
    """The event of a line of JSON, without what is heavy in it. Never fails: see `decode_event`."""
    try:
        return _lightened(_decoder().decode(body))
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        pass
    event = decode_event(body)  # as far as it can be understood
    try:
        return _lightened(_decoder().decode(encode_event(event)))
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return e.Unknown(seq=event.seq, at=event.at, run=event.run, frame_type=str(event.__struct_config__.tag))


def _lightened(event: e.Event) -> e.Event:
    lighten = _LIGHTENED.get(type(event))
    return event if lighten is None else lighten(event)


def _action(event: _Action) -> e.Action:
    found = event.detail
    summary = summary_of(found.tool_name, event.phase, found.tool_input, found.tool_use_result, found.content)
    named = {"block": found.block, "tool_name": found.tool_name, "tool_use_id": found.tool_use_id, "summary": summary}
    detail: dict[str, Any] = {name: value for name, value in named.items() if value}
    if event.kind == "telemetry" and found.meta:
        detail["meta"] = msgspec.json.decode(found.meta)
    return e.Action(
        seq=event.seq,
        at=event.at,
        run=event.run,
        id=event.id,
        kind=event.kind,
        title=_cut(event.title, LONGEST_LINE),
        phase=event.phase,
        ok=event.ok,
        detail=detail,
        parent=event.parent,
    )


def _completed(event: _Completed) -> e.Completed:
    stopped = event.detail.terminal_reason
    return e.Completed(
        seq=event.seq,
        at=event.at,
        run=event.run,
        ok=event.ok,
        error=_cut(event.error, LONGEST_LINE) if event.error is not None else None,
        resume=event.resume,
        cost_usd=event.cost_usd,
        duration_ms=event.duration_ms,
        num_turns=event.num_turns,
        messages=event.messages,
        detail={"terminal_reason": stopped} if isinstance(stopped, str) else {},
    )


def _said(event: e.Text) -> e.Text:
    if len(event.text) <= LONGEST_TEXT and not event.citations:
        return event
    return msgspec.structs.replace(event, text=_cut(event.text, LONGEST_TEXT), citations=())


def _thought(event: e.Thinking) -> e.Thinking:
    if len(event.text) <= LONGEST_TEXT:
        return event
    return msgspec.structs.replace(event, text=_cut(event.text, LONGEST_TEXT))


def _prompt(event: e.Prompt) -> e.Prompt:
    """Its text only. A message of blocks keeps that it is one: its images are read when it is shown."""
    content = event.content
    if content is None:
        return event
    text = _cut(content_text(content), LONGEST_TEXT)
    light = text if isinstance(content, str) else [{"type": "text", "text": text}]
    return msgspec.structs.replace(event, content=light)


def _asked(event: _AskOpened) -> e.AskOpened:
    return e.AskOpened(
        seq=event.seq,
        at=event.at,
        run=event.run,
        ask_id=event.ask_id,
        kind=event.kind,
        digest=event.digest,
        title=_cut(event.title, LONGEST_LINE),
    )


def _answered(event: _AskClosed) -> e.AskClosed:
    return e.AskClosed(
        seq=event.seq,
        at=event.at,
        run=event.run,
        ask_id=event.ask_id,
        outcome=event.outcome,
        by=event.by,
        surface=event.surface,
        granted_by=event.granted_by,
    )


def _compacting(event: _Compacting) -> e.Compacting:
    return e.Compacting(**msgspec.structs.asdict(event))


def _exited(event: _ProcessExited) -> e.ProcessExited:
    return e.ProcessExited(**msgspec.structs.asdict(event))


def _hook(event: _Hook) -> e.Hook:
    return e.Hook(**msgspec.structs.asdict(event))


def _unknown(event: _Unknown) -> e.Unknown:
    return e.Unknown(**msgspec.structs.asdict(event))


def _rate_limit(event: e.RateLimit) -> e.RateLimit:
    return msgspec.structs.replace(event, detail={})


TASK_DETAILS = ("last_tool_name", "subagent_type", "description")


def _task(event: e.Task) -> e.Task:
    detail = {name: event.detail[name] for name in TASK_DETAILS if isinstance(event.detail.get(name), str)}
    usage = event.detail.get("usage")
    if isinstance(usage, dict):
        detail["usage"] = {name: value for name, value in usage.items() if isinstance(value, int | float)}
    return msgspec.structs.replace(event, detail=detail, summary=_cut(event.summary, LONGEST_LINE))


def _started(event: e.Started) -> e.Started:
    if event.meta is None:
        return event
    return msgspec.structs.replace(event, meta=msgspec.structs.replace(event.meta, tools=(), agents=(), skills=()))


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[:longest]} … ({len(text) - longest:,} more characters)"


_LIGHTENED: dict[type[e.Event], Callable[[Any], e.Event]] = {
    _Action: _action,
    _Completed: _completed,
    e.Text: _said,
    e.Thinking: _thought,
    e.Prompt: _prompt,
    e.Started: _started,
    e.Task: _task,
    e.RateLimit: _rate_limit,
    _AskOpened: _asked,
    _AskClosed: _answered,
    _Compacting: _compacting,
    _ProcessExited: _exited,
    _Hook: _hook,
    _Unknown: _unknown,
}

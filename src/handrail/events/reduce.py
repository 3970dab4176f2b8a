"""Events → what a screen shows.

`reduce` changes the view it is given and returns it: a session of a hundred thousand events is read in seconds, and a
live one costs each event once. Keep a view for yourself if others may change it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from handrail.events import model as events
from handrail.events.endings import was_interrupted
from handrail.events.model import Delta, Event, Meta
from handrail.events.view import (
    ActionItem,
    AskItem,
    Item,
    LiveBlock,
    NoticeItem,
    PromptItem,
    RunItem,
    SessionView,
    TaskItem,
    TextItem,
    ThinkingItem,
)

__all__ = ["SessionView", "reduce", "view_of"]

REMEMBERED_BLOCKS = 1024


def view_of(items: Iterable[Event | Delta]) -> SessionView:
    """The view that these events make, in order."""
    view = SessionView()
    for item in items:
        reduce(view, item)
    return view


def reduce(view: SessionView, item: Event | Delta) -> SessionView:
    """Take one more event, or delta, into the view. An event that is in it already changes nothing."""
    if isinstance(item, Delta):
        _on_delta(view, item)
    elif item.seq > view.seq:
        view.seq, view.at = item.seq, item.at
        handle = _HANDLERS.get(type(item))
        if handle is not None:
            handle(view, item)
    return view


# ---------------------------------------------------------------- runs


def _on_started(view: SessionView, event: events.Started) -> None:
    view.run = RunItem(
        number=event.run or len(view.runs) + 1, started_at=event.at, cause=event.cause, messages=event.messages
    )
    view.runs.append(view.run)
    view.resume = event.resume or view.resume
    view.exited = False
    if event.meta is not None:
        _describe(view, event.meta)


def _describe(view: SessionView, meta: Meta) -> None:
    view.meta = meta
    view.cwd = meta.cwd or view.cwd
    view.model = meta.model or view.model
    view.mode = meta.permission_mode or view.mode
    view.cli_version = meta.cli_version or view.cli_version


def _on_completed(view: SessionView, event: events.Completed) -> None:
    run = view.run or RunItem(number=event.run or len(view.runs) + 1, started_at=event.at)
    if view.run is None:
        view.runs.append(run)
    run.ended_at = event.at
    run.ok, run.answer, run.error = event.ok, event.answer, event.error
    run.interrupted = was_interrupted(event)
    run.cost_usd, run.duration_ms, run.num_turns, run.usage = (
        event.cost_usd,
        event.duration_ms,
        event.num_turns,
        event.usage,
    )
    run.messages = event.messages or run.messages
    view.cost_usd += event.cost_usd
    view.resume = event.resume or view.resume
    view.run, view.retry = None, ""
    view.live = {name: block for name, block in view.live.items() if block.parent is not None}


def _on_exited(view: SessionView, event: events.ProcessExited) -> None:
    view.exited, view.exit_was_expected = True, event.expected
    view.live.clear()
    view.hooks.clear()
    view.compacting, view.retry = False, ""
    for task in view.running_tasks:  # whatever ran in the background went with the process
        task.phase, task.status, task.ok, task.ended_at = "completed", "stopped", False, event.at
    if not event.expected:
        code = "" if event.exit_code is None else f" with code {event.exit_code}"
        text = f"The CLI exited{code}" + (f": {event.reason}" if event.reason else "")
        _notice(view, event, "process_exited", text, ok=False, detail={"stderr": event.stderr} if event.stderr else {})


# ---------------------------------------------------------------- the conversation


def _on_prompt(view: SessionView, event: events.Prompt) -> None:
    known = view.prompts.get(event.uuid)
    if known is None:
        known = PromptItem(uuid=event.uuid, seq=event.seq, at=event.at, run=event.run)
        view.prompts[event.uuid] = known
        view.items.append(known)
    known.state = event.state
    known.content = event.content if event.content is not None else known.content
    known.by, known.surface = event.by or known.by, event.surface or known.surface
    known.reason = event.reason or known.reason
    known.answered_by = event.answered_by if event.answered_by is not None else known.answered_by


def _on_text(view: SessionView, event: events.Text) -> None:
    _settle(view, event.block)
    view.retry = ""
    item = TextItem(
        block=event.block, text=event.text, partial=event.partial, seq=event.seq, at=event.at, run=event.run
    )
    _place(view, item, event.parent)


def _on_thinking(view: SessionView, event: events.Thinking) -> None:
    _settle(view, event.block)
    view.retry = ""
    item = ThinkingItem(
        block=event.block,
        text=event.text,
        partial=event.partial,
        redacted=event.redacted,
        seq=event.seq,
        at=event.at,
        run=event.run,
    )
    _place(view, item, event.parent)


def _on_delta(view: SessionView, delta: Delta) -> None:
    if delta.block in view.settled:
        return
    block = view.live.get(delta.block)
    if block is None:
        block = view.live[delta.block] = LiveBlock(delta.kind, delta.parent)
    block.put(delta.offset, delta.text)
    view.retry = ""


def _settle(view: SessionView, block: str) -> None:
    view.live.pop(block, None)
    view.settled[block] = None
    if len(view.settled) > REMEMBERED_BLOCKS:
        view.settled.popitem(last=False)


def _on_action(view: SessionView, event: events.Action) -> None:
    block = event.detail.get("block")
    if isinstance(block, str):
        _settle(view, block)
    if event.kind == "telemetry":
        _on_telemetry(view, event)
        return
    item = view.actions.get(event.id)
    if item is None or _is_another(item, event):
        item = _new_action(view, event)
    _merge(item, event)
    if item.phase == "completed":
        view.now.pop(item.id, None)
    else:
        view.now[item.id] = item


def _is_another(item: ActionItem, event: events.Action) -> bool:
    """Whether an action that is over has nothing to do with this one: two processes may name their remarks alike."""
    if item.phase != "completed" or event.phase == "updated":
        return False
    return event.phase == "started" or "tool_use_id" not in event.detail


def _new_action(view: SessionView, event: events.Action) -> ActionItem:
    item = ActionItem(
        id=event.id,
        kind=event.kind,
        title=event.title,
        parent=event.parent,
        seq=event.seq,
        at=event.at,
        run=event.run,
    )
    view.actions[event.id] = item
    _place(view, item, event.parent)
    return item


def _merge(item: ActionItem, event: events.Action) -> None:
    """A later phase adds to an earlier one. One whose start was not seen by its teller does not know what it is."""
    if event.phase == "started" or "tool_name" in event.detail:
        item.kind, item.title = event.kind, event.title
    item.detail = {**item.detail, **event.detail}
    if item.phase == "completed" and event.phase == "updated":
        return
    item.phase, item.ok = event.phase, event.ok
    item.ended_at = event.at if event.phase == "completed" else None


def _on_telemetry(view: SessionView, event: events.Action) -> None:
    """For programs; but a description of the session that came late counts."""
    if event.title == "init" and isinstance(event.detail.get("meta"), dict):
        try:
            _describe(view, msgspec.convert(event.detail["meta"], Meta))
        except msgspec.ValidationError:
            return  # from a version that describes sessions otherwise


def _place(view: SessionView, item: Item, parent: str | None) -> None:
    """Put an item where it belongs: inside the action that it happened in, or at the end."""
    outer = view.actions.get(parent) if parent is not None else None
    (outer.children if outer is not None and outer is not item else view.items).append(item)


# ---------------------------------------------------------------- asks and tasks


def _on_ask_opened(view: SessionView, event: events.AskOpened) -> None:
    item = view.asks.get(event.ask_id)
    if item is None:
        item = AskItem(
            ask_id=event.ask_id,
            kind=event.kind,
            digest=event.digest,
            title=event.title,
            seq=event.seq,
            at=event.at,
            run=event.run,
        )
        view.asks[event.ask_id] = item
        view.items.append(item)
    item.kind, item.digest, item.title, item.ask = event.kind, event.digest, event.title, event.ask


def _on_ask_closed(view: SessionView, event: events.AskClosed) -> None:
    item = view.asks.pop(event.ask_id, None) or view.closed_asks.get(event.ask_id)
    if item is None:
        return
    view.closed_asks[event.ask_id] = item
    item.outcome, item.answer, item.message = event.outcome, event.answer, event.message
    item.by, item.surface, item.ended_at = event.by, event.surface, event.at
    item.granted_by = event.granted_by


def _on_task(view: SessionView, event: events.Task) -> None:
    task = view.tasks.get(event.id)
    if task is None:
        task = view.tasks[event.id] = TaskItem(id=event.id, started_at=event.at)
    task.title, task.kind = event.title or task.title, event.kind or task.kind
    task.status, task.summary = event.status or task.status, event.summary or task.summary
    task.background = task.background if event.background is None else event.background
    task.tool_use_id = event.tool_use_id or task.tool_use_id
    task.detail = {**task.detail, **event.detail}
    _nest(view, task, event.parent)
    if not (task.phase == "completed" and event.phase == "updated"):
        task.phase, task.ok = event.phase, event.ok
        task.ended_at = event.at if event.phase == "completed" else None


def _nest(view: SessionView, task: TaskItem, parent: str | None) -> None:
    if parent is None or task.parent is not None or parent == task.id:
        return
    task.parent = parent
    outer = view.tasks.get(parent)
    if outer is not None:
        outer.children.append(task.id)


# ---------------------------------------------------------------- the session


def _on_mode(view: SessionView, event: events.ModeChanged) -> None:
    view.mode = event.mode
    if event.previous is not None:
        _notice(view, event, "mode_changed", f"The permission mode is {event.mode} now (it was {event.previous})")


def _on_model(view: SessionView, event: events.ModelChanged) -> None:
    view.model = event.model
    if event.previous is not None:
        why = f": {event.reason}" if event.reason else ""
        _notice(view, event, "model_changed", f"The model is {event.model} now (it was {event.previous}){why}")


def _on_rekeyed(view: SessionView, event: events.SessionRekeyed) -> None:
    view.resume = event.resume
    why = f" ({event.reason})" if event.reason else ""
    _notice(view, event, "session_rekeyed", f"The session goes on as {event.resume}{why}")


def _on_compacting(view: SessionView, event: events.Compacting) -> None:
    view.compacting = event.phase == "started"
    if event.phase == "completed":
        before = f" It had {event.tokens_before} tokens." if event.tokens_before is not None else ""
        _notice(view, event, "compacting", f"The conversation was compacted.{before}", ok=True, detail=event.detail)
    elif event.phase == "failed":
        why = f": {event.error}" if event.error else ""
        _notice(view, event, "compacting", f"The conversation could not be compacted{why}", ok=False)


def _on_usage(view: SessionView, event: events.Usage) -> None:
    if event.parent is None:
        view.context_tokens, view.output_tokens = event.context_tokens, event.output_tokens
        view.context_window = event.context_window or view.context_window


def _on_rate_limit(view: SessionView, event: events.RateLimit) -> None:
    before = view.rate_limits.get(event.limit_type)
    view.rate_limits[event.limit_type] = event
    if event.status not in ("allowed", "") and (before is None or before.status != event.status):
        named = event.limit_type.replace("_", " ") or "rate"
        words = "is reached" if event.status == "rejected" else "is near"
        _notice(view, event, "rate_limit", f"The {named} limit {words}", ok=event.status != "rejected")


def _on_retry(view: SessionView, event: events.ApiRetry) -> None:
    error = event.error or (f"status {event.status}" if event.status is not None else "no answer")
    view.retry = f"{error}, attempt {event.attempt} of {event.max_retries}"


def _on_hook(view: SessionView, event: events.Hook) -> None:
    if event.phase != "completed":
        view.hooks[event.id] = event.name or event.event
        return
    view.hooks.pop(event.id, None)
    if event.ok is False:
        name = event.name or event.event
        _notice(view, event, "hook", f"The hook {name} failed", ok=False, detail=event.detail)


def _on_titled(view: SessionView, event: events.Titled) -> None:
    view.title = event.title


def _on_unknown(view: SessionView, event: events.Unknown) -> None:
    _notice(view, event, "unknown", f"The CLI sent something unknown: {event.frame_type}")


def _notice(
    view: SessionView, event: Event, kind: str, text: str, *, ok: bool | None = None, detail: Any = None
) -> None:
    item = NoticeItem(kind=kind, text=text, ok=ok, detail=detail or {}, seq=event.seq, at=event.at, run=event.run)
    view.notices.append(item)
    view.items.append(item)


_HANDLERS: dict[type[Event], Callable[[SessionView, Any], None]] = {
    events.Started: _on_started,
    events.Completed: _on_completed,
    events.ProcessExited: _on_exited,
    events.Prompt: _on_prompt,
    events.Text: _on_text,
    events.Thinking: _on_thinking,
    events.Action: _on_action,
    events.AskOpened: _on_ask_opened,
    events.AskClosed: _on_ask_closed,
    events.Task: _on_task,
    events.ModeChanged: _on_mode,
    events.ModelChanged: _on_model,
    events.SessionRekeyed: _on_rekeyed,
    events.Compacting: _on_compacting,
    events.Usage: _on_usage,
    events.RateLimit: _on_rate_limit,
    events.ApiRetry: _on_retry,
    events.Hook: _on_hook,
    events.Titled: _on_titled,
    events.Unknown: _on_unknown,
}

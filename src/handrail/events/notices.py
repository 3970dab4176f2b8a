"""Frames that need no memory: each says one thing by itself.

A remark of the CLI becomes a `note`, something that went wrong a `warning`, with a hint where there is one, and what
only a program would look at `telemetry`. All three are actions that are over at once.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from handrail.events.hints import DISK_FULL, LOG_IN, hint_for
from handrail.events.model import Action, ApiRetry, Event, Hook, RateLimit, Titled
from handrail.protocol import frames

__all__ = ["NOTICES", "malformed", "note", "telemetry", "warning"]

TITLE_LENGTH = 200
SHOWN_OF_A_LINE = 500


def note(text: Any, *, id: str | None = None, parent: str | None = None, **detail: Any) -> Action:
    """A remark. The title is its first line; if there is more, all of it is in the detail's `text`."""
    return _remark("note", text, id, parent, detail)


def warning(text: Any, *, id: str | None = None, hint: str = "", parent: str | None = None, **detail: Any) -> Action:
    """Something that went wrong, and what to do about it."""
    if hint:
        detail["hint"] = hint
    return _remark("warning", text, id, parent, detail)


def telemetry(text: Any, *, id: str | None = None, **detail: Any) -> Action:
    """Something that only programs look at."""
    return _remark("telemetry", text, id, None, detail)


def _remark(kind: Any, text: Any, id: str | None, parent: str | None, detail: dict[str, Any]) -> Action:
    whole = _words(text)
    first, _, rest = whole.strip().partition("\n")
    told = {name: value for name, value in detail.items() if value is not None and value != ""}
    if rest or len(first) > TITLE_LENGTH:
        told["text"] = whole
    ok = False if kind == "warning" else None
    return Action(
        id=id or "", kind=kind, title=first[:TITLE_LENGTH] or kind, phase="completed", ok=ok, detail=told, parent=parent
    )


def _words(text: Any) -> str:
    if isinstance(text, str):
        return text
    return "" if text is None else json.dumps(text, ensure_ascii=False, default=str)


def malformed(frame: frames.Malformed) -> Action:
    """A line that is no frame."""
    beginning = frame.raw[:SHOWN_OF_A_LINE].decode("utf-8", "replace")
    return warning(frame.reason, reason=frame.kind, line=beginning, size=frame.size)


# ---------------------------------------------------------------- what went wrong


def _api_error(frame: frames.ApiError) -> Action:
    error = frame.error
    inner = error.get("error", error) if isinstance(error, dict) else error
    name = inner.get("type") if isinstance(inner, dict) else None
    text = inner.get("message") if isinstance(inner, dict) else inner
    title = text if isinstance(text, str) and text else "The API reported an error"
    return warning(title, id=frame.uuid, hint=hint_for(name if isinstance(name, str) else None), error=error)


def _auth_status(frame: frames.AuthStatus) -> Action:
    words = frame.error or "\n".join(frame.output)
    title = words or ("The CLI is logging in" if frame.is_authenticating else "The CLI has logged in")
    hint = LOG_IN if frame.error else ""
    return warning(title, id=frame.uuid, hint=hint, authenticating=frame.is_authenticating, output=list(frame.output))


def _mirror_error(frame: frames.MirrorError) -> Action:
    return warning("The session's mirror could not be written", id=frame.uuid, error=frame.error, key=frame.key)


def _writes_lost(frame: frames.SessionWritesLost) -> Action:
    return warning(
        f"The CLI could not write its {frame.lost or 'files'} ({frame.error_code or 'unknown error'})",
        id=frame.uuid,
        hint=DISK_FULL,
        lost=frame.lost,
        error=frame.error_code,
        sessions=list(frame.transcript_session_ids),
    )


def _shutting_down(frame: frames.WorkerShuttingDown) -> Action:
    return warning(f"The CLI is shutting down: {frame.reason or 'no reason given'}", id=frame.uuid, reason=frame.reason)


def _refused(frame: frames.ModelRefusalNoFallback) -> Action:
    title = frame.content or frame.api_refusal_explanation or "The model refused to answer"
    return warning(
        title,
        id=frame.uuid,
        hint="Say it differently, or choose another model.",
        model=frame.original_model,
        category=frame.api_refusal_category,
        explanation=frame.api_refusal_explanation,
        refused=frame.refused_user_message_uuid,
    )


# ---------------------------------------------------------------- remarks


def _informational(frame: frames.Informational) -> Action:
    say = warning if frame.level == "warning" else note
    return say(
        frame.content,
        id=frame.uuid,
        level=frame.level,
        tool_use_id=frame.tool_use_id,
        tag=frame.tag,
        prevent_continuation=frame.prevent_continuation,
    )


def _notification(frame: frames.Notification) -> Action:
    return note(frame.text, id=frame.uuid, key=frame.key, priority=frame.priority, color=frame.color)


def _plugin_install(frame: frames.PluginInstall) -> Action:
    what = f"Plugin {frame.name or ''} {frame.status}".replace("  ", " ")
    if frame.status == "failed":
        return warning(f"{what}: {frame.error or 'no reason given'}", id=frame.uuid, error=frame.error)
    return note(what, id=frame.uuid, status=frame.status, name=frame.name)


def _files_persisted(frame: frames.FilesPersisted) -> Action:
    told: dict[str, Any] = {"files": list(frame.files), "processed_at": frame.processed_at}
    if frame.failed:
        title = f"{len(frame.failed)} files could not be kept"
        return warning(title, id=frame.uuid, failed=list(frame.failed), **told)
    return note(f"{len(frame.files)} files were kept", id=frame.uuid, **told)


def _memory_recall(frame: frames.MemoryRecall) -> Action:
    title = f"Recalled {len(frame.memories)} memories"
    return note(title, id=frame.uuid, mode=frame.mode, memories=list(frame.memories))


def _active_goal(frame: frames.ActiveGoal) -> Action:
    goal = frame.value or {}
    condition = goal.get("condition")
    title = f"Goal: {condition}" if isinstance(condition, str) else "No goal is set any more"
    return note(title, id=frame.uuid, goal=frame.value)


def _attachment(frame: frames.Attachment) -> Event:
    attached = frame.attachment or {}
    kind = attached.get("type")
    if isinstance(kind, str) and kind.startswith("hook_"):
        return _replayed_hook(attached, "completed", ok=kind == "hook_success")
    return note(f"Attached: {kind or 'something'}", id=frame.uuid, attachment=attached)


def _progress(frame: frames.Progress) -> Event:
    told = frame.progress or {}
    if told.get("type") == "hook_progress":
        return _replayed_hook({"toolUseID": frame.tool_use_id, **told}, "started")
    return telemetry("progress", id=frame.uuid, tool_use_id=frame.tool_use_id, progress=told)


def _replayed_hook(told: dict[str, Any], phase: Any, ok: bool | None = None) -> Hook:
    """Hooks of a call that was put off, as some versions tell of them when it is resumed."""
    event = str(told.get("hookEvent", ""))
    name = str(told.get("hookName", ""))
    return Hook(id=f"{event}:{told.get('toolUseID')}", phase=phase, name=name, event=event, ok=ok, detail=told)


# ---------------------------------------------------------------- the rest


def _rate_limit(frame: frames.RateLimitEvent) -> RateLimit:
    info = frame.rate_limit_info or frames.RateLimitInfo()
    whole = frame.data.get("rate_limit_info")
    return RateLimit(
        status=info.status or "",
        limit_type=info.rate_limit_type or "",
        utilization=info.utilization,
        resets_at=info.resets_at,
        detail=whole if isinstance(whole, dict) else {},
    )


def _api_retry(frame: frames.ApiRetry) -> ApiRetry:
    return ApiRetry(
        attempt=frame.attempt,
        max_retries=frame.max_retries,
        delay_ms=frame.retry_delay_ms,
        error=frame.error or "",
        status=frame.error_status,
    )


def _control_progress(frame: frames.ControlRequestProgress) -> Action:
    return telemetry(
        f"control request {frame.status}",
        id=frame.uuid,
        request_id=frame.request_id,
        attempt=frame.attempt,
        max_retries=frame.max_retries,
        delay_ms=frame.retry_delay_ms,
        status=frame.error_status,
    )


_NOTICES: dict[type[frames.Frame], Callable[[Any], Event]] = {
    frames.ActiveGoal: _active_goal,
    frames.ApiError: _api_error,
    frames.ApiRetry: _api_retry,
    frames.Attachment: _attachment,
    frames.AuthStatus: _auth_status,
    frames.CommandsChanged: lambda frame: telemetry("commands", id=frame.uuid, commands=list(frame.commands)),
    frames.ControlRequestProgress: _control_progress,
    frames.ElicitationComplete: lambda frame: telemetry(
        "elicitation complete", id=frame.uuid, server=frame.mcp_server_name, elicitation_id=frame.elicitation_id
    ),
    frames.FilesPersisted: _files_persisted,
    frames.Informational: _informational,
    frames.LocalCommandOutput: lambda frame: note(frame.content, id=frame.uuid),
    frames.Malformed: malformed,
    frames.MemoryRecall: _memory_recall,
    frames.MirrorError: _mirror_error,
    frames.ModelRefusalNoFallback: _refused,
    frames.Notification: _notification,
    frames.PluginInstall: _plugin_install,
    frames.Progress: _progress,
    frames.PromptSuggestion: lambda frame: note(f"Suggested: {frame.suggestion}", suggestion=frame.suggestion),
    frames.RateLimitEvent: _rate_limit,
    frames.SessionTitleChanged: lambda frame: Titled(title=frame.title or "", by="claude"),
    frames.SessionWritesLost: _writes_lost,
    frames.StreamlinedText: lambda frame: note(frame.text, id=frame.uuid),
    frames.StreamlinedToolUseSummary: lambda frame: note(frame.tool_summary, id=frame.uuid),
    frames.ToolUseSummary: lambda frame: note(
        frame.summary, id=frame.uuid, tool_use_ids=list(frame.preceding_tool_use_ids)
    ),
    frames.WorkerShuttingDown: _shutting_down,
}


def _told(make: Callable[[Any], Event]) -> Callable[[Any], list[Event]]:
    def tell(frame: frames.Frame) -> list[Event]:
        event = make(frame)
        if isinstance(event, Action) and (extra := frame.extra):
            event.detail["extra"] = extra  # what this version does not model
        return [event]

    return tell


NOTICES: dict[type[frames.Frame], Callable[[Any], list[Event]]] = {kind: _told(make) for kind, make in _NOTICES.items()}
"""What each of these frames says."""

"""Frames as lines for a person. Pure: a frame in, what to print out, or None for what a person need not see.

Conversation (text, tool calls, their results) is put together by `handrail.cli.view`, since it spans frames; the pieces
it is made of are here too.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from handrail.cli.layout import Hanging
from handrail.cli.style import DONE, FAILED, MARKS, NEEDS_YOU, QUIET, RUNNING, exact, markdown, prose
from handrail.cli.tools import call_line, tool_title
from handrail.policy.describing.suggestions import describe_mode
from handrail.policy.describing.visible import one_line
from handrail.protocol import frames as f
from handrail.protocol.blocks import Text as TextBlock
from handrail.protocol.blocks import ToolResult

__all__ = ["notice", "render_call", "render_notice", "render_result", "render_resume", "render_tool_result"]

_SHOWN_LINES = 4
NOT_LOGGED_IN = (
    "log in once: start `claude` and type /login; or pass --use-api-billing, if ANTHROPIC_API_KEY is to be billed"
)
_QUIET_SUCCESS = frozenset({"Edit", "MultiEdit", "NotebookEdit", "Write"})
"""Tools whose success has nothing to say that the call did not say already."""


def notice(colour: str, text: str) -> RenderableType:
    """A remark with the sign of its colour."""
    return Hanging(Text(f"{MARKS[colour]} ", style=colour), prose(text, "" if colour == DONE else colour))


# ---------------------------------------------------------------- tools


def render_call(name: str, given: Any, cwd: str = "") -> Text:
    """A tool call as one line, cut where the terminal ends."""
    line = Text(no_wrap=True, overflow="ellipsis")
    line.append(f"{MARKS[RUNNING]} ", RUNNING)
    line.append(tool_title(name), "bold")
    return line.append("  ").append_text(exact(call_line(name, given, cwd)))


_HOOK_PREFIX = re.compile(r"^PreToolUse:\S+ hook error: ")
_DENIED_BY_POLICY = "Handrail's policy"


def render_tool_result(result: ToolResult, *, name: str = "", label: str = "", whole: bool = False) -> RenderableType:
    """How a call ended, with the first lines of its output; `label` says which call, where that is not plain."""
    colour = FAILED if result.is_error else DONE
    lines = _output(result, name).rstrip().split("\n")
    shown = lines if whole else lines[:_SHOWN_LINES]
    # Which rule denied a call is worth more than one line.
    cut = not shown[0].startswith(_DENIED_BY_POLICY)
    head = Text("  ", no_wrap=cut, overflow="ellipsis" if cut else "fold").append(f"{MARKS[colour]} ", colour)
    if label:
        head.append_text(exact(label, "bold")).append("  ")
    head.append_text(exact(shown[0], QUIET))
    below = [Text("    ", no_wrap=not whole, overflow="ellipsis").append_text(exact(line, QUIET)) for line in shown[1:]]
    if len(shown) < len(lines):
        below.append(Text(f"    … {_count(len(lines) - len(shown), 'more line')}", style=QUIET))
    return Group(head, *below)


def _output(result: ToolResult, name: str) -> str:
    text = result.text
    parts = result.content if isinstance(result.content, tuple) else ()
    others = "".join(f"[{part.type}] " for part in parts if not isinstance(part, TextBlock))
    if result.is_error:
        text = _HOOK_PREFIX.sub("", text)
        return text.removeprefix("<tool_use_error>").removesuffix("</tool_use_error>") or "failed"
    if name in _QUIET_SUCCESS:
        return "done"
    if name == "Read" and text:
        return _count(text.rstrip("\n").count("\n") + 1, "line")
    return others + text if (others + text).strip() else "no output"


# ---------------------------------------------------------------- the end


def render_result(result: f.Result, *, stopped: bool = False, said: bool = False) -> RenderableType:
    """The end of a turn: how it went, and what it took. `said`: the error was shown as Claude's words already."""
    took = " · ".join([_duration(result.duration_ms), _count(result.num_turns, "turn"), _cost(result.total_cost_usd)])
    if result.ok:
        return Text.assemble((f"{MARKS[DONE]} ", DONE), "done", (f" · {took}", QUIET))
    lines = [notice(FAILED, _failure(result, stopped, said)), Text(f"  {took}", style=QUIET)]
    if not stopped and _needs_login(result):
        lines.append(notice(NEEDS_YOU, NOT_LOGGED_IN))
    return Group(*lines)


def _failure(result: f.Result, stopped: bool, said: bool) -> str:
    if stopped:
        # The CLI's own words for this are meant for its developers.
        return "stopped by you"
    return "this error ended the turn" if said else result.error or "failed"


def _needs_login(result: f.Result) -> bool:
    return result.api_error_status == 401 or "/login" in (result.error or "")


def render_resume(command: str) -> Text:
    """How to go on."""
    return Text("  go on with: ", style=QUIET).append_text(exact(command, "not dim"))


def _duration(milliseconds: float) -> str:
    seconds = milliseconds / 1000
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes} min {rest} s"


def _cost(dollars: float) -> str:
    return f"${dollars:.4f}" if dollars < 0.01 else f"${dollars:.2f}"


def _count(number: int, noun: str) -> str:
    return f"1 {noun}" if number == 1 else f"{number} {noun}s"


# ---------------------------------------------------------------- everything else


def render_notice(frame: f.Frame) -> RenderableType | None:
    """What a frame outside the conversation has to say."""
    render = _NOTICES.get(type(frame))
    return None if render is None else render(frame)


def _init(frame: f.Init) -> RenderableType:
    parts = [f"Claude Code {frame.claude_code_version}", frame.model, f"mode {frame.permission_mode}", frame.cwd]
    return exact(" · ".join(part for part in parts if part), QUIET)


def _status(frame: f.Status) -> RenderableType | None:
    if frame.compact_error:
        return notice(FAILED, f"the conversation could not be compacted: {frame.compact_error}")
    if frame.status == "compacting":
        return notice(RUNNING, "compacting the conversation")
    if frame.permission_mode:
        return notice(QUIET, f"mode {frame.permission_mode}: {describe_mode(frame.permission_mode)}")
    return None


def _compacted(frame: f.CompactBoundary) -> RenderableType:
    before = (frame.compact_metadata or {}).get("pre_tokens")
    return notice(QUIET, "the conversation was compacted" + (f" (it had {before} tokens)" if before else ""))


def _retry(frame: f.ApiRetry) -> RenderableType:
    what = " ".join(str(part) for part in (frame.error, frame.error_status) if part) or "no answer"
    return notice(
        NEEDS_YOU,
        f"the API failed ({what}): retry {frame.attempt} of {frame.max_retries} in {frame.retry_delay_ms / 1000:.1f} s",
    )


def _rate_limit(frame: f.RateLimitEvent) -> RenderableType | None:
    info = frame.rate_limit_info
    if info is None or info.status in (None, "allowed"):
        return None
    used = f", {info.utilization:.0%} used" if info.utilization is not None else ""
    resets = f", resets at {time.strftime('%H:%M', time.localtime(info.resets_at))}" if info.resets_at else ""
    kind = f" ({info.rate_limit_type})" if info.rate_limit_type else ""
    return notice(FAILED if info.status == "rejected" else NEEDS_YOU, f"rate limit{kind}: {info.status}{used}{resets}")


def _task_started(frame: f.TaskStarted) -> RenderableType | None:
    if frame.skip_transcript or frame.ambient or not frame.is_backgrounded:
        return None
    return notice(RUNNING, f"in the background: {frame.description}")


def _task_ended(frame: f.TaskNotification) -> RenderableType | None:
    if frame.skip_transcript or frame.ambient:
        return None
    colour = DONE if frame.status == "completed" else FAILED
    return notice(colour, f"task {frame.status}: {_plain(frame.summary)}")


def _denied(frame: f.PermissionDenied) -> RenderableType:
    why = frame.decision_reason or frame.message or ""
    return notice(FAILED, f"Claude Code denied {frame.tool_name} by itself" + (f": {why}" if why else ""))


def _informational(frame: f.Informational) -> RenderableType:
    return notice(NEEDS_YOU if frame.level in ("warning", "error") else QUIET, _plain(frame.content))


def _notification(frame: f.Notification) -> RenderableType:
    return notice(NEEDS_YOU if frame.priority == "immediate" else QUIET, frame.text)


def _local_output(frame: f.LocalCommandOutput) -> RenderableType:
    return markdown(_plain(frame.content))


def _reset(frame: f.ConversationReset) -> RenderableType:
    return notice(QUIET, f"the conversation starts anew; its session is {frame.new_conversation_id}")


def _refusal(frame: f.ModelRefusalFallback) -> RenderableType:
    return notice(NEEDS_YOU, f"{frame.original_model} refused; {frame.fallback_model} goes on")


def _refused(frame: f.ModelRefusalNoFallback) -> RenderableType:
    why = frame.api_refusal_explanation or frame.api_refusal_category or ""
    return notice(FAILED, f"{frame.original_model or 'the model'} refused" + (f": {why}" if why else ""))


def _auth(frame: f.AuthStatus) -> RenderableType | None:
    return notice(FAILED, f"not logged in: {frame.error}") if frame.error else None


def _plugin(frame: f.PluginInstall) -> RenderableType | None:
    return notice(FAILED, f"plugin {frame.name or ''}: {frame.error}") if frame.error else None


def _api_error(frame: f.ApiError) -> RenderableType:
    return notice(FAILED, f"the API failed: {_plain(frame.error)}")


def _lost(frame: f.SessionWritesLost) -> RenderableType:
    return notice(FAILED, f"parts of this session could not be saved: {frame.lost or frame.error_code or ''}")


def _mirror(frame: f.MirrorError) -> RenderableType:
    return notice(NEEDS_YOU, f"the session's copy could not be written: {_plain(frame.error)}")


def _plain(value: Any) -> str:
    if isinstance(value, str):
        return value
    return "" if value is None else one_line(str(value))


_NOTICES: Mapping[type[f.Frame], Callable[[Any], RenderableType | None]] = {
    f.Init: _init,
    f.Status: _status,
    f.CompactBoundary: _compacted,
    f.ApiRetry: _retry,
    f.RateLimitEvent: _rate_limit,
    f.TaskStarted: _task_started,
    f.TaskNotification: _task_ended,
    f.PermissionDenied: _denied,
    f.Informational: _informational,
    f.Notification: _notification,
    f.LocalCommandOutput: _local_output,
    f.ConversationReset: _reset,
    f.ModelRefusalFallback: _refusal,
    f.ModelRefusalNoFallback: _refused,
    f.AuthStatus: _auth,
    f.PluginInstall: _plugin,
    f.ApiError: _api_error,
    f.SessionWritesLost: _lost,
    f.MirrorError: _mirror,
}

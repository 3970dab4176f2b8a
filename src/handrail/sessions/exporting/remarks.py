"""Events that are no part of the conversation, in a few words each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple, TypeAlias

from handrail.events import model as e
from handrail.policy.describing.json_text import json_text
from handrail.policy.describing.suggestions import describe_mode
from handrail.sessions.exporting.words import moment

__all__ = ["Tone", "Words", "remark_of"]

Tone: TypeAlias = Literal["quiet", "running", "done", "failed", "needs_you", "plan"]
"""What something means to a reader; each has one colour and one sign."""


class Words(NamedTuple):
    """A remark: its tone, its text, and what is folded below it."""

    tone: Tone
    text: str
    detail: str = ""


def remark_of(event: e.Event) -> Words | None:
    """What `event` has to say to a reader; None if that is nothing."""
    make = _REMARKS.get(type(event))
    return None if make is None else make(event)


def _mode(event: e.ModeChanged) -> Words:
    return Words("plan" if event.mode == "plan" else "quiet", f"mode {event.mode}: {describe_mode(event.mode)}")


def _model(event: e.ModelChanged) -> Words:
    return Words("quiet", f"the model is {event.model} now" + (f" ({event.reason})" if event.reason else ""))


def _rekeyed(event: e.SessionRekeyed) -> Words:
    why = f" ({event.reason})" if event.reason else ""
    return Words("quiet", f"Claude Code goes on with this conversation as session {event.resume}{why}")


def _compacting(event: e.Compacting) -> Words | None:
    if event.phase == "failed":
        return Words("failed", f"the conversation could not be compacted: {event.error or 'no reason was given'}")
    if event.phase == "completed":
        size = f" (it had {event.tokens_before:,} tokens)" if event.tokens_before else ""
        return Words("quiet", f"the conversation was compacted{size}")
    return None


def _rate_limit(event: e.RateLimit) -> Words | None:
    if event.status in ("", "allowed"):
        return None
    kind = f" ({event.limit_type})" if event.limit_type else ""
    used = f", {event.utilization:.0%} used" if event.utilization is not None else ""
    resets = f", resets at {moment(event.resets_at)}" if event.resets_at else ""
    tone: Tone = "failed" if event.status == "rejected" else "needs_you"
    return Words(tone, f"rate limit{kind}: {event.status}{used}{resets}")


def _retry(event: e.ApiRetry) -> Words:
    what = " ".join(str(part) for part in (event.error, event.status) if part) or "no answer"
    return Words("needs_you", f"the API failed ({what}): retry {event.attempt} of {event.max_retries}")


def _task(event: e.Task) -> Words | None:
    if event.phase == "started":
        return Words("running", f"in the background: {event.title}") if event.background else None
    if event.phase == "completed" and (event.background or event.ok is False):
        result = event.status or ("done" if event.ok else "failed")
        return Words("done" if event.ok else "failed", f"task {result}: {event.title}", event.summary)
    return None


def _hook(event: e.Hook) -> Words | None:
    if event.phase != "completed" or event.ok is not False:
        return None
    detail = json_text(event.detail) if event.detail else ""
    return Words("failed", f"the hook {event.name or event.event} failed", detail)


def _exited(event: e.ProcessExited) -> Words | None:
    if event.expected:
        return None
    code = "" if event.exit_code is None else f" with exit code {event.exit_code}"
    text = event.reason or f"Claude Code ended by itself{code}"
    return Words("failed", text, event.stderr)


def _titled(event: e.Titled) -> Words | None:
    """A title that nobody gave is the session's first one, which stands above the story."""
    return Words("quiet", f"the session is called “{event.title}” now, says {event.by}") if event.by else None


def _unknown(event: e.Unknown) -> Words:
    text = f"something that this version of Handrail does not know: {event.frame_type}"
    return Words("quiet", text, json_text(event.frame))


_REMARKS: Mapping[type[e.Event], Callable[[Any], Words | None]] = {
    e.ModeChanged: _mode,
    e.ModelChanged: _model,
    e.SessionRekeyed: _rekeyed,
    e.Compacting: _compacting,
    e.RateLimit: _rate_limit,
    e.ApiRetry: _retry,
    e.Task: _task,
    e.Hook: _hook,
    e.ProcessExited: _exited,
    e.Titled: _titled,
    e.Unknown: _unknown,
}

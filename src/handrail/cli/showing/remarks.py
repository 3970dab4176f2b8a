"""Events outside the conversation as lines. Pure: an event in, what to print out, or None for what nobody need see."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from handrail.cli.showing.amounts import duration, tokens
from handrail.cli.showing.layout import Hanging
from handrail.cli.showing.style import DONE, FAILED, MARKS, NEEDS_YOU, PLAN, QUIET, RUNNING, exact, markdown, prose
from handrail.events import model as e
from handrail.policy.describing.suggestions import describe_mode
from handrail.policy.describing.visible import one_line

__all__ = ["notice", "remark", "render_started", "said_of_event"]


def notice(colour: str, text: str) -> RenderableType:
    """A remark with the sign of its colour."""
    return Hanging(Text(f"{MARKS[colour]} ", style=colour), prose(text, "" if colour == DONE else colour))


def remark(event: e.Event, *, verbose: bool = False) -> RenderableType | None:
    """What an event outside the conversation has to say; with `verbose`, each has a line."""
    render = _REMARKS.get(type(event))
    rendered = render(event) if render is not None else None
    if rendered is None and verbose:
        return notice(QUIET, said_of_event(event))
    return rendered


def said_of_event(event: e.Event) -> str:
    """An event in a few words, for whoever wants to see every one."""
    parts = [str(event.__struct_config__.tag)]
    for name in ("kind", "phase", "status", "state", "name", "frame_type", "title"):
        value = getattr(event, name, None)
        if isinstance(value, str) and value:
            parts.append(value)
    return one_line(" · ".join(parts))


def render_started(meta: e.Meta) -> RenderableType:
    """What runs, and where."""
    version = f"Claude Code {meta.cli_version}" if meta.cli_version else ""
    mode = f"mode {meta.permission_mode}" if meta.permission_mode else ""
    return exact(" · ".join(part for part in (version, meta.model, mode, meta.cwd) if part), QUIET)


# ---------------------------------------------------------------- remarks of the CLI


def remark_of_action(action: e.Action, *, verbose: bool = False) -> RenderableType | None:
    """A note, or a warning and what to do about it."""
    # What the CLI tells the model in the person's name is not for the person.
    if action.kind == "telemetry" or action.detail.get("role") == "user":
        return notice(QUIET, said_of_event(action)) if verbose else None
    text = action.detail.get("text")
    said = text if isinstance(text, str) else action.title
    if action.kind == "note":
        return markdown(said) if "\n" in said else notice(QUIET, said)
    hint = action.detail.get("hint")
    lines = [notice(NEEDS_YOU, said)]
    if isinstance(hint, str) and hint:
        lines.append(Hanging(Text("  "), prose(hint, QUIET)))
    return Group(*lines)


# ---------------------------------------------------------------- the session


def _mode(event: e.ModeChanged) -> RenderableType:
    colour = PLAN if event.mode == "plan" else QUIET
    return notice(colour, f"mode {event.mode}: {describe_mode(event.mode)}")


def _model(event: e.ModelChanged) -> RenderableType:
    why = f" ({event.reason})" if event.reason else ""
    return notice(QUIET, f"the model is {event.model} now{why}")


def _rekeyed(event: e.SessionRekeyed) -> RenderableType:
    if event.reason == "fresh context":
        return notice(QUIET, "a new conversation carries out the plan; it knows nothing else")
    why = f" ({event.reason})" if event.reason else ""
    return notice(QUIET, f"the conversation goes on as {event.resume}{why}")


def _compacting(event: e.Compacting) -> RenderableType:
    if event.phase == "failed":
        return notice(FAILED, f"the conversation could not be compacted: {event.error or 'no reason given'}")
    if event.phase == "started":
        return notice(RUNNING, "compacting the conversation")
    sizes = [tokens(size) for size in (event.tokens_before, event.tokens_after) if size]
    return notice(QUIET, "the conversation was compacted" + (f" ({' → '.join(sizes)} tokens)" if sizes else ""))


def _rate_limit(event: e.RateLimit) -> RenderableType | None:
    if event.status in ("", "allowed"):
        return None
    used = f", {event.utilization:.0%} used" if event.utilization is not None else ""
    resets = f", resets at {time.strftime('%H:%M', time.localtime(event.resets_at))}" if event.resets_at else ""
    kind = f" ({event.limit_type})" if event.limit_type else ""
    colour = FAILED if event.status == "rejected" else NEEDS_YOU
    return notice(colour, f"rate limit{kind}: {event.status}{used}{resets}")


def _retry(event: e.ApiRetry) -> RenderableType:
    what = " ".join(str(part) for part in (event.error, event.status) if part) or "no answer"
    wait = duration(event.delay_ms)
    return notice(NEEDS_YOU, f"the API failed ({what}): retry {event.attempt} of {event.max_retries} in {wait}")


def _hook(event: e.Hook) -> RenderableType | None:
    if event.ok is not False or event.phase != "completed":
        return None
    output = next((str(event.detail[name]) for name in ("stderr", "output", "stdout") if event.detail.get(name)), "")
    where = f" of {event.event}" if event.event and event.event not in event.name else ""
    said = f"the hook {event.name or event.id}{where} failed"
    return notice(NEEDS_YOU, f"{said}: {output.strip()}" if output.strip() else said)


def _exited(event: e.ProcessExited) -> RenderableType | None:
    if event.expected:
        return None
    code = "" if event.exit_code is None else f" with code {event.exit_code}"
    lines = [notice(FAILED, event.reason or f"Claude Code exited{code}")]
    if event.stderr.strip() and event.stderr.strip() not in event.reason:
        lines.append(Hanging(Text("  "), exact(event.stderr.strip(), QUIET)))
    return Group(*lines)


_REMARKS: Mapping[type[e.Event], Callable[[Any], RenderableType | None]] = {
    e.ApiRetry: _retry,
    e.Compacting: _compacting,
    e.Hook: _hook,
    e.ModeChanged: _mode,
    e.ModelChanged: _model,
    e.ProcessExited: _exited,
    e.RateLimit: _rate_limit,
    e.SessionRekeyed: _rekeyed,
}

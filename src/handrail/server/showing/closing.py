"""What became of an ask: who answered, from where and when, and what that changed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from handrail.policy.describing.suggestions import describe_mode, describe_suggestion
from handrail.server.showing.strings import line, words
from handrail.store.base import AskRow

__all__ = ["ENDED", "OUTCOMES", "closed", "closed_row"]

ENDED = "the process ended; answering will resume it"
OUTCOMES: Mapping[str, str] = {"sent": "decided"}
"""The outcome that goes with a row's state, where it has another name."""

_ANSWERS: Mapping[str, str] = {
    "allow": "allowed",
    "deny": "denied",
    "answers": "answered",
    "approve_plan": "plan approved",
    "approve_in_fresh_context": "plan approved, in a fresh context",
    "revise_plan": "plan sent back with changes",
    "outline_plan": "plan paused for an outline",
    "reject_plan": "plan rejected",
    "enter_plan": "plan mode entered",
    "implement_now": "told to go on without a plan",
    "dialog_result": "answered",
    "failed": "not answered: whoever should have answered failed",
}
_ELICITED: Mapping[str, str] = {"accept": "filled in", "decline": "declined", "cancel": "dismissed"}
_NOBODY: Mapping[str, str] = {
    "cancelled": "withdrawn by Claude Code: no answer is needed any more",
    "expired": "nobody answered in time, and Claude was told so",
    "lost": ENDED,
}
_SAID = ("message", "feedback", "response", "error")


def closed_row(row: AskRow) -> dict[str, Any] | None:
    """What became of the ask of a row; None while it waits."""
    if row.state == "pending":
        return None
    return closed(
        OUTCOMES.get(row.state, row.state),
        answer=_decoded(row.answer),
        by=row.decided_by,
        surface=row.surface,
        at=row.decided_at or row.closed_at,
    )


def closed(
    outcome: str,
    *,
    answer: Mapping[str, Any] | None = None,
    by: str = "",
    surface: str = "",
    at: float | None = None,
    message: str = "",
) -> dict[str, Any]:
    """What became of an ask, in words: `words` on one line, `changes` one by one, `said` as it was written."""
    given = answer or {}
    return {
        "outcome": outcome,
        "by": line(by),
        "surface": line(surface),
        "at": at,
        "words": _NOBODY.get(outcome) or _decided(outcome, given, line(by), line(surface)),
        "changes": list(_changes(given)),
        "said": words("\n\n".join(_said(given, message))),
    }


def _decoded(answer: bytes | None) -> dict[str, Any]:
    found = msgspec.json.decode(answer) if answer else None
    return found if isinstance(found, dict) else {}


# ---------------------------------------------------------------- in words


def _decided(outcome: str, answer: Mapping[str, Any], by: str, surface: str) -> str:
    who = by or "somebody"
    where = f" ({surface})" if surface and not who.startswith(surface) else ""
    decided = f"{_answered(answer)} by {who}{where}"
    if outcome == "unsent":
        return f"{decided}, but the process ended before Claude Code was told; answering will resume it"
    return f"{decided}, after the process had ended: the session was resumed" if outcome == "resumed" else decided


def _answered(answer: Mapping[str, Any]) -> str:
    # A recording has the answer in the form of the wire.
    kind = str(answer.get("type", answer.get("behavior", "")))
    if kind == "elicited":
        return _ELICITED.get(str(answer.get("action")), "answered")
    if kind == "answers" and not answer.get("answers") and not answer.get("response"):
        return "skipped"
    if kind == "dialog_result" and answer.get("behavior") == "cancelled":
        return "dismissed"
    stops = ", and the turn ended," if answer.get("interrupt") is True else ""
    return _ANSWERS.get(kind, "answered") + stops


def _said(answer: Mapping[str, Any], message: str) -> Iterator[str]:
    told = [text for name in _SAID if isinstance(text := answer.get(name), str) and text]
    yield from told
    if message and message not in told:
        yield message
    given = answer.get("answers")
    if isinstance(given, Mapping):
        yield from (f"{question} → {_chosen(choice)}" for question, choice in given.items())


def _chosen(choice: Any) -> str:
    return ", ".join(map(str, choice)) if isinstance(choice, list | tuple) else str(choice)


# ---------------------------------------------------------------- what it changed


def _changes(answer: Mapping[str, Any]) -> Iterator[str]:
    if isinstance(answer.get("updated_input"), Mapping):
        yield "with an edited input"
    permissions = answer.get("updated_permissions")
    for permission in permissions if isinstance(permissions, list | tuple) else ():
        if isinstance(permission, Mapping):
            yield _permission(permission)
    if isinstance(answer.get("mode"), str):
        yield f"mode changed: {describe_mode(answer['mode'])}"
    if isinstance(answer.get("plan"), str) and answer["plan"]:
        yield "with an edited plan"
    rules = answer.get("rules")
    for rule in rules if isinstance(rules, list | tuple) else ():
        yield f"rule added: {line(str(rule))}, for this session"
    if (prompts := answer.get("allow_prompts")) not in (None, False, [], ()):
        yield f"allowed beforehand: {'everything the plan asks for' if prompts is True else _prompts(prompts)}"
    if answer.get("compact") is True:
        yield "the conversation is compacted afterwards"


def _prompts(prompts: Any) -> str:
    positions = prompts if isinstance(prompts, list | tuple) else [prompts]
    return "what the plan asks for under " + ", ".join(
        str(int(each) + 1) for each in positions if isinstance(each, int)
    )


def _permission(permission: Mapping[str, Any]) -> str:
    described = describe_suggestion(permission)
    match permission.get("type"):
        case "addRules":
            return f"rule added: {described.removeprefix('allow ')}"
        case "replaceRules":
            return f"rules replaced: {described}"
        case "removeRules":
            return f"rule removed: {described.removeprefix('remove the rule to ')}"
        case "setMode":
            return f"mode changed: {described}"
    return f"changed: {described}"

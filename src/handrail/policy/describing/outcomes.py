"""What became of an ask, in words that every surface shares: who answered, from where, and what that changed.

Names and texts are as they came: a surface makes them safe to show first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from handrail.policy.describing.suggestions import describe_mode, describe_suggestion
from handrail.policy.describing.visible import one_line

__all__ = ["ANSWERS", "ENDED", "GRANTED", "NOBODY", "UNSENT", "answered", "changes_of", "decided", "texts_of"]

ENDED: Final = "the process ended; answering will resume it"
UNSENT: Final = "the process ended just then: whether Claude Code was told is not known"
GRANTED: Final = "once, when the same was asked before"
NOBODY: Final[Mapping[str, str]] = {
    "cancelled": "withdrawn by Claude Code: no answer is needed any more",
    "expired": "nobody answered in time, and Claude was told so",
    "lost": ENDED,
}
"""What is said where nobody answered, by outcome."""

ANSWERS: Final[Mapping[str, str]] = {
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
_ELICITED: Final[Mapping[str, str]] = {"accept": "filled in", "decline": "declined", "cancel": "dismissed"}
_TEXTS: Final = ("message", "feedback", "response", "error")


def decided(outcome: str, answer: Mapping[str, Any], by: str, surface: str, *, granted: bool = False) -> str:
    """What was answered, by whom and through what, on one line; `granted`: by their answer to an earlier ask."""
    who = by or "somebody"
    where = f" ({surface})" if surface and not who.startswith(surface) else ""
    words = f"{answered(answer)} by {who}{where}"
    if outcome == "resumed":
        return f"{words}, after the process had ended: the session was resumed"
    words += f", {GRANTED}" if granted else ""
    return f"{words}, but {UNSENT}; answering will resume it" if outcome == "unsent" else words


def answered(answer: Mapping[str, Any]) -> str:
    """An answer in a word or two."""
    # A recording has the answer in the form of the wire.
    kind = str(answer.get("type", answer.get("behavior", "")))
    if kind == "elicited":
        return _ELICITED.get(str(answer.get("action")), "answered")
    if kind == "answers" and not answer.get("answers") and not answer.get("response"):
        return "skipped"
    if kind == "dialog_result" and answer.get("behavior") == "cancelled":
        return "dismissed"
    stops = ", and the turn ended," if answer.get("interrupt") is True else ""
    return ANSWERS.get(kind, "answered") + stops


def texts_of(answer: Mapping[str, Any], message: str = "") -> tuple[list[str], list[str]]:
    """What the person wrote, and what they chose, question by question."""
    told = [text for name in _TEXTS if isinstance(text := answer.get(name), str) and text]
    if message and message not in told:
        told.append(message)
    given = answer.get("answers")
    chosen = given.items() if isinstance(given, Mapping) else ()
    return told, [f"{question} → {_chosen(choice)}" for question, choice in chosen]


def changes_of(answer: Mapping[str, Any]) -> Iterator[str]:
    """What the answer changed besides letting it happen, one by one."""
    if isinstance(answer.get("updated_input"), Mapping):
        yield "with an edited input"
    for permission in _list(answer.get("updated_permissions")):
        if isinstance(permission, Mapping):
            yield _permission(permission)
    if isinstance(answer.get("mode"), str):
        yield f"mode changed: {describe_mode(answer['mode'])}"
    if isinstance(answer.get("plan"), str) and answer["plan"]:
        yield "with an edited plan"
    for rule in _list(answer.get("rules")):
        yield f"rule added: {one_line(str(rule))}, for this session"
    if (prompts := answer.get("allow_prompts")) not in (None, False, [], ()):
        yield f"allowed beforehand: {'everything the plan asks for' if prompts is True else _prompts(prompts)}"
    if answer.get("compact") is True:
        yield "the conversation is compacted afterwards"


def _chosen(choice: Any) -> str:
    return ", ".join(map(str, choice)) if isinstance(choice, list | tuple) else str(choice)


def _list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else []


def _prompts(prompts: Any) -> str:
    positions = _list(prompts) or [prompts]
    return "what the plan asks for under " + ", ".join(str(each + 1) for each in positions if isinstance(each, int))


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

"""What became of an ask, in words: who answered, from where, and what that changed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from handrail.events.view import AskItem
from handrail.policy.describing.suggestions import describe_mode, describe_suggestion
from handrail.telegram.asks.words import in_short, line, words

__all__ = ["changes", "said", "sign", "verdict"]

ANSWERS: Mapping[str, str] = {
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
ELICITED: Mapping[str, str] = {"accept": "filled in", "decline": "declined", "cancel": "dismissed"}
NOBODY: Mapping[str, str] = {
    "cancelled": "withdrawn by Claude Code: no answer is needed any more",
    "expired": "nobody answered in time, and Claude was told so",
    "lost": "the process ended; answering will resume it",
}
REFUSALS = ("denied", "skipped", "plan rejected", "declined", "dismissed", "not answered")
SAID = ("message", "feedback", "response", "error")
IN_ANY_CASE = re.compile(r"\AThe user denied this(?: and stopped the turn)?(?:\.\Z| and says: )")
LONGEST_NAME = 60


def verdict(item: AskItem) -> str:
    """What became of it, on one line; empty while it waits."""
    if item.outcome is None:
        return ""
    return NOBODY.get(item.outcome) or _decided(item)


def sign(item: AskItem) -> str:
    """✓ if it was let happen, ✗ if not, ⏸ if it still can be answered, · for everything else."""
    if item.outcome in ("lost", "unsent"):
        return "⏸"
    if item.outcome in NOBODY:
        return "·"
    return "✗" if answered(item.answer or {}).startswith(REFUSALS) else "✓"


def _decided(item: AskItem) -> str:
    who = in_short(item.by, LONGEST_NAME) or "somebody"
    surface = in_short(item.surface, LONGEST_NAME)
    where = f" ({surface})" if surface and not who.startswith(surface) else ""
    decided = f"{answered(item.answer or {})} by {who}{where}"
    if item.outcome == "unsent":
        return f"{decided}, but the process ended before Claude Code was told; answering will resume it"
    return f"{decided}, after the process had ended: the session was resumed" if item.outcome == "resumed" else decided


def answered(answer: Mapping[str, Any]) -> str:
    """An answer in a word or two."""
    kind = str(answer.get("type", answer.get("behavior", "")))
    if kind == "elicited":
        return ELICITED.get(str(answer.get("action")), "answered")
    if kind == "answers" and not answer.get("answers") and not answer.get("response"):
        return "skipped"
    if kind == "dialog_result" and answer.get("behavior") == "cancelled":
        return "dismissed"
    stops = ", and the turn ended," if answer.get("interrupt") is True else ""
    return ANSWERS.get(kind, "answered") + stops


def said(item: AskItem) -> Iterator[str]:
    """What the person wrote or chose, without the words that Claude is told in any case."""
    answer = item.answer or {}
    told = [text for name in SAID if isinstance(text := answer.get(name), str) and text]
    if item.message and item.message not in told:
        told.append(item.message)
    yield from (own for text in told if (own := words(IN_ANY_CASE.sub("", text))))
    given = answer.get("answers")
    if isinstance(given, Mapping):
        yield from (words(f"{question} → {_chosen(choice)}") for question, choice in given.items())


def _chosen(choice: Any) -> str:
    return ", ".join(map(str, choice)) if isinstance(choice, list | tuple) else str(choice)


# ---------------------------------------------------------------- what it changed


def changes(item: AskItem) -> Iterator[str]:
    """What the answer changed besides letting it happen, one by one."""
    answer = item.answer or {}
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
        yield f"rule added: {line(str(rule))}, for this session"
    if (prompts := answer.get("allow_prompts")) not in (None, False, [], ()):
        yield f"allowed beforehand: {'everything the plan asks for' if prompts is True else _prompts(prompts)}"
    if answer.get("compact") is True:
        yield "the conversation is compacted afterwards"


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

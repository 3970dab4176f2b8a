"""What became of an ask that was not answered here, in a line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from handrail.cli.showing.style import DONE, FAILED, NEEDS_YOU, QUIET
from handrail.cli.showing.tools import call_line, tool_title
from handrail.events.model import AskClosed, AskOpened
from handrail.policy.describing.outcomes import GRANTED, UNSENT
from handrail.policy.describing.visible import one_line

__all__ = ["answered_elsewhere", "in_words", "what_was_asked"]

_WORDS: Mapping[str, tuple[str, str]] = {
    "allow": (DONE, "allowed"),
    "deny": (FAILED, "denied"),
    "answers": (DONE, "answered"),
    "approve_plan": (DONE, "plan approved"),
    "approve_in_fresh_context": (DONE, "plan approved, in a fresh context"),
    "revise_plan": (NEEDS_YOU, "plan sent back with changes"),
    "outline_plan": (NEEDS_YOU, "plan paused for an outline"),
    "reject_plan": (FAILED, "plan rejected"),
    "enter_plan": (DONE, "plan mode entered"),
    "implement_now": (DONE, "told to go on without a plan"),
    "failed": (FAILED, "not answered: whoever should have failed"),
}
_UNDECIDED: Mapping[str, tuple[str, str]] = {
    "cancelled": (QUIET, "withdrawn by Claude Code: no answer is needed any more"),
    "expired": (NEEDS_YOU, "nobody answered in time, and Claude was told so"),
    "lost": (FAILED, "lost: the process that asked has ended"),
    "unsent": (FAILED, f"decided, but {UNSENT}"),
}


def answered_elsewhere(closed: AskClosed, asked: AskOpened | None) -> tuple[str, str] | None:
    """The colour and the words for an ask that somebody else answered, or that nobody did."""
    what = f": {_answers(closed) or what_was_asked(asked)}" if asked is not None else ""
    if closed.outcome in _UNDECIDED:
        colour, words = _UNDECIDED[closed.outcome]
        return colour, f"{words}{what}"
    colour, words = in_words(closed.answer)
    by = closed.by or "somebody"
    where = f" ({closed.surface})" if closed.surface and not by.startswith(closed.surface) else ""
    once = f", {GRANTED}" if closed.granted_by and closed.outcome == "decided" else ""
    return colour, f"{words} by {by}{where}{once}{what}"


def what_was_asked(asked: AskOpened) -> str:
    """An ask on one line."""
    tool, given = asked.ask.get("tool_name"), asked.ask.get("input")
    if asked.kind == "permission" and isinstance(tool, str) and tool:
        return f"{tool_title(tool)} {call_line(tool, given, str(asked.ask.get('cwd') or ''))}"
    questions = asked.ask.get("input", {}).get("questions") if asked.kind == "question" else None
    if isinstance(questions, list):
        return one_line("; ".join(str(each.get("question", "")) for each in questions if isinstance(each, Mapping)))
    return one_line(asked.title or asked.kind)


def _answers(closed: AskClosed) -> str:
    """Questions with their answers; nothing for another kind of ask."""
    given = (closed.answer or {}).get("answers")
    return one_line("; ".join(f"{question} → {_chosen(choice)}" for question, choice in given.items())) if given else ""


def _chosen(choice: Any) -> str:
    return ", ".join(map(str, choice)) if isinstance(choice, list) else str(choice)


def in_words(answer: Mapping[str, Any] | None) -> tuple[str, str]:
    """The colour and a word for an answer."""
    return _WORDS.get(str((answer or {}).get("type")), (DONE, "answered"))

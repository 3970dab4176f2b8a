"""Answers to asks whose process has ended: the session is resumed, told of the answer, and one call may pass."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from handrail.policy.answers.plan import RejectPlan, RevisePlan
from handrail.protocol.asks import Allow, Answers, Ask, Deny
from handrail.sessions.asks import Actor, AnyAnswer

__all__ = ["OnceGrant", "message_about"]

NOT_REACHED = "The process ended while you waited for an answer about {what}, so the answer could not reach you."
IN_DOUBT = "The process ended just when an answer about {what} was given, which may have reached you or not."
LOOK_FIRST = "It may have been carried out before: look first. If it was not, make it again, "


@dataclass(frozen=True, slots=True)
class OnceGrant:
    """Lets one call pass: only an ask for the same, in the same place, can use it, and only once."""

    lost: Ask
    """What was answered, as it was shown."""
    input: dict[str, Any]
    """What was allowed: what the ask was about, or what the answer made of it."""
    answer: Allow
    actor: Actor
    """Whoever answered. Names the ask that they answered."""
    at: float
    """When, in seconds since the epoch."""

    @classmethod
    def for_answer(cls, ask: Ask, answer: AnyAnswer, actor: Actor, *, at: float = 0.0) -> OnceGrant | None:
        """The grant that an answer amounts to, if it is a plain yes to a tool call."""
        if ask.kind != "permission" or not isinstance(answer, Allow):
            return None
        return cls(
            lost=ask,
            input=dict(_allowed_input(ask, answer)),
            answer=Allow(updated_permissions=answer.updated_permissions),
            actor=msgspec.structs.replace(actor, granted_by=ask.id),
            at=at,
        )

    def fits(self, ask: Ask) -> bool:
        """Whether `ask` is for what was allowed. Ask ids, and those of subagents, are others in each process."""
        asked = (ask.kind, ask.tool_name, ask.input, ask.cwd)
        return asked == ("permission", self.lost.tool_name, self.input, self.lost.cwd)


def message_about(ask: Ask, answer: AnyAnswer, *, in_doubt: bool = False) -> str:
    """What Claude is told when the session is resumed with an answer to what it had asked.

    `in_doubt`: it was answered before, and that answer may have reached the process before it ended.
    """
    why = (IN_DOUBT if in_doubt else NOT_REACHED).format(what=ask.tool_name or ask.kind)
    return f"{why} Here it is: {_in_words(ask, answer, in_doubt)}"


def _allowed_input(ask: Ask, answer: Allow) -> Mapping[str, Any]:
    return ask.input if answer.updated_input is None else answer.updated_input


def _in_words(ask: Ask, answer: AnyAnswer, in_doubt: bool) -> str:
    match answer:
        case Allow() if ask.kind == "permission":
            return _allowed_in_words(ask, answer, in_doubt)
        case Answers(answers=answers, response=response):
            told = [f"- {question}: {_choices(given)}" for question, given in answers.items()]
            return "\n".join(["the user answered:", *told, *([response] if response else [])])
        case Deny(message=message) | RejectPlan(message=message):
            return f"the user said no. {message}".rstrip()
        case RevisePlan(feedback=feedback):
            return f"the user wants the plan changed: {feedback}"
    return "the user agrees. Ask once more, since only an answer to an open question counts."


def _allowed_in_words(ask: Ask, answer: Allow, in_doubt: bool) -> str:
    allowed = _allowed_input(ask, answer)
    again = LOOK_FIRST if in_doubt else "Make it again, "
    if allowed == ask.input:
        return f"the user allows exactly that call, once. {again}unchanged, and go on."
    changed = msgspec.json.encode(allowed).decode()
    return f"the user allows that call, once, with another input. {again}with exactly this one: {changed}"


def _choices(given: str | Sequence[str]) -> str:
    return given if isinstance(given, str) else ", ".join(given)

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


@dataclass(frozen=True, slots=True)
class OnceGrant:
    """Lets one call pass: only an ask with the same tool and the same input can use it, and only once."""

    tool_name: str
    input: dict[str, Any]
    actor: Actor

    @classmethod
    def for_answer(cls, ask: Ask, answer: AnyAnswer, actor: Actor) -> OnceGrant | None:
        """The grant that an answer amounts to, if it is a plain yes to a tool call."""
        if ask.kind != "permission" or not isinstance(answer, Allow):
            return None
        return cls(ask.tool_name, dict(_allowed_input(ask, answer)), actor)

    def fits(self, ask: Ask) -> bool:
        return ask.kind == "permission" and ask.tool_name == self.tool_name and ask.input == self.input


def message_about(ask: Ask, answer: AnyAnswer) -> str:
    """What Claude is told when the session is resumed with an answer to what it had asked."""
    return (
        f"The process ended while you waited for an answer about {ask.tool_name or ask.kind}, so the answer could not "
        f"reach you. Here it is: {_in_words(ask, answer)}"
    )


def _allowed_input(ask: Ask, answer: Allow) -> Mapping[str, Any]:
    return ask.input if answer.updated_input is None else answer.updated_input


def _in_words(ask: Ask, answer: AnyAnswer) -> str:
    match answer:
        case Allow() if ask.kind == "permission" and (allowed := _allowed_input(ask, answer)) != ask.input:
            changed = msgspec.json.encode(allowed).decode()
            return f"the user allows that call, once, with another input. Make it with exactly this one: {changed}"
        case Allow() if ask.kind == "permission":
            return "the user allows exactly that call, once. Make it again, unchanged, and go on."
        case Answers(answers=answers, response=response):
            told = [f"- {question}: {_choices(given)}" for question, given in answers.items()]
            return "\n".join(["the user answered:", *told, *([response] if response else [])])
        case Deny(message=message) | RejectPlan(message=message):
            return f"the user said no. {message}".rstrip()
        case RevisePlan(feedback=feedback):
            return f"the user wants the plan changed: {feedback}"
    return "the user agrees. Ask once more, since only an answer to an open question counts."


def _choices(given: str | Sequence[str]) -> str:
    return given if isinstance(given, str) else ", ".join(given)

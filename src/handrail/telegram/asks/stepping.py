"""Answering Claude's questions step by step. Pure: what was pressed or written in, how far it came out.

After the last of several questions comes a look at all answers; one question alone is sent as soon as it is answered,
unless several choices may be taken.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from handrail.policy.answers.questions import Question, skip_questions
from handrail.protocol.asks import Answers

__all__ = ["Given", "Steps", "begun", "complete", "given_to", "goes_straight", "is_answered", "pressed", "written"]


class Given(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is answered to one question so far: choices by position, and words of one's own."""

    taken: tuple[int, ...] = ()
    own: str = ""


class Steps(msgspec.Struct, frozen=True, omit_defaults=True):
    """How far somebody came: the question that is shown, counted from 0, and what was given to each.

    `at` behind the last question is the look at all of them. `digest` says which ask this belongs to. `heard` is the
    id of the last message that was taken, so that none is taken twice.
    """

    digest: str
    at: int = 0
    given: tuple[Given, ...] = ()
    heard: int = 0


def begun(digest: str, questions: Sequence[Question]) -> Steps:
    """Nothing is answered yet."""
    return Steps(digest, 0, (Given(),) * len(questions))


def goes_straight(questions: Sequence[Question]) -> bool:
    """Whether the one answer that is wanted can be sent at once."""
    return len(questions) == 1 and not questions[0].several


def pressed(steps: Steps, questions: Sequence[Question], do: str, number: int) -> Steps:
    """What a button does: `take` or `drop` a choice, `next`, `skip`, `back`, or `go` to a question; else nothing."""
    question = questions[steps.at] if steps.at < len(questions) else None
    if do == "go":
        return _at(steps, questions, number)
    if do == "back":
        return _at(steps, questions, steps.at - 1)
    if question is None:
        return steps
    if do == "skip":
        return _moved_on(_with(steps, Given()), questions)
    if do == "next":
        return _moved_on(steps, questions) if is_answered(steps.given[steps.at]) else steps
    if do in ("take", "drop") and 0 <= number < len(question.options):
        return _taken(steps, questions, question, number, is_taken=do == "take")
    return steps


def written(steps: Steps, questions: Sequence[Question], text: str) -> Steps:
    """An answer in somebody's own words; where several may be given, it stands beside the others."""
    words = text.strip()
    if not words or steps.at >= len(questions):
        return steps
    before = steps.given[steps.at]
    kept = before.taken if questions[steps.at].several else ()
    answered = _with(steps, Given(kept, words))
    return answered if questions[steps.at].several else _moved_on(answered, questions)


def is_answered(given: Given) -> bool:
    return bool(given.taken or given.own)


def given_to(question: Question, given: Given) -> list[str]:
    """The answers to one question, in its own words."""
    labels = [question.options[position].label for position in given.taken]
    return [*labels, *([given.own] if given.own else [])]


def complete(steps: Steps, questions: Sequence[Question]) -> Answers:
    """All answers as they are sent; what has none is said to be left open on purpose."""
    answers: dict[str, str | list[str]] = {}
    for question, given in zip(questions, steps.given, strict=True):
        # An option without a name cannot be told to Claude.
        if chosen := [each for each in given_to(question, given) if each.strip()]:
            answers[question.text] = chosen if question.several else chosen[0]
    if not answers:
        return skip_questions()
    return Answers(answers, partial=len(answers) < len(questions))


# ---------------------------------------------------------------- moves


def _taken(steps: Steps, questions: Sequence[Question], question: Question, number: int, *, is_taken: bool) -> Steps:
    if not question.several:
        return _moved_on(_with(steps, Given((number,))), questions) if is_taken else steps
    before = steps.given[steps.at]
    others = {*before.taken} - {number}
    return _with(steps, Given(tuple(sorted(others | {number} if is_taken else others)), before.own))


def _with(steps: Steps, given: Given) -> Steps:
    changed = (*steps.given[: steps.at], given, *steps.given[steps.at + 1 :])
    return msgspec.structs.replace(steps, given=changed)


def _moved_on(steps: Steps, questions: Sequence[Question]) -> Steps:
    # One alone is sent from where it is.
    return steps if len(questions) == 1 else _at(steps, questions, steps.at + 1)


def _at(steps: Steps, questions: Sequence[Question], position: int) -> Steps:
    last = len(questions) if len(questions) > 1 else 0
    return msgspec.structs.replace(steps, at=max(0, min(position, last)))

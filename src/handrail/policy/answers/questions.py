"""Questions (AskUserQuestion): what a surface shows of them, and whether an answer answers them.

An answer goes to the CLI as `answers`, keyed by the question's text: a string, or several as a list, which the CLI
joins with commas. A question that is skipped is left out. Notes, and the preview of the option that was taken, travel
beside it as `annotations`. `response` is a reply in place of answers: the CLI passes on nothing else then. Where an
older CLI would tell Claude less than the person said, it is told in another way, or the answer is refused.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from handrail.errors import UnfitAnswer
from handrail.protocol.asks import Answers, Ask, Deny

__all__ = ["Option", "Question", "check_answers", "questions_of", "skip_questions"]

FIRST_WITH_NOTES = (2, 1, 52)
FIRST_WITH_NOTES_ALONE = (2, 1, 120)
FIRST_TO_TELL_OF_NO_ANSWER = (2, 1, 197)
"""Also the first that passes a response on. Before, Claude is told that the questions were answered."""

NEWEST = (sys.maxsize,)
ANNOTATIONS = frozenset({"notes", "preview"})
SKIPPED = "The user did not answer the questions."


class Option(msgspec.Struct, frozen=True):
    """One of a question's options. `preview` is Markdown, to be shown beside it."""

    label: str
    description: str = ""
    preview: str = ""


class Question(msgspec.Struct, frozen=True):
    """One question. Besides its options, an answer in the person's own words is always possible."""

    text: str
    header: str = ""
    options: tuple[Option, ...] = ()
    several: bool = False
    """Whether more than one option may be taken."""


def questions_of(ask: Ask) -> tuple[Question, ...]:
    """The questions of a question ask, in order."""
    return tuple(
        Question(
            text=_text(item, "question"),
            header=_text(item, "header"),
            options=tuple(_options(item)),
            several=item.get("multiSelect") is True,
        )
        for item in ask.questions
    )


def skip_questions() -> Answers:
    """The answer that leaves every question open."""
    return Answers({}, partial=True)


def check_answers(ask: Ask, answer: Answers, *, cli_version: str | None = None) -> Answers | Deny:
    """`answer` as it is sent: complete, each answer in the form its question wants, with the previews that were taken.

    Raises `UnfitAnswer` for what does not answer these questions, or would not reach Claude. Without `cli_version` a
    new CLI is assumed.
    """
    # The CLI does not ask two questions of the same text. If it did, the stricter of them would count.
    questions = {question.text: question for question in sorted(questions_of(ask), key=lambda each: not each.several)}
    version = _parsed(cli_version)
    _check_names(answer, questions)
    given = {text: _fitted(questions[text], value) for text, value in answer.answers.items()}
    if answer.response is not None:
        return _reply(answer, answer.response, version)
    _check_complete(answer, questions_of(ask))
    _check_notes(answer, version)
    if not given and not answer.annotations and version < FIRST_TO_TELL_OF_NO_ANSWER:
        return Deny(SKIPPED)
    annotations = _with_previews(answer, given, questions)
    return Answers(given, annotations=annotations or None, partial=answer.partial)


def _check_names(answer: Answers, questions: Mapping[str, Question]) -> None:
    for name in (*answer.answers, *(answer.annotations or {})):
        if name in questions:
            continue
        meant = next((question.text for question in questions.values() if question.header == name), None)
        hint = f": did you mean {meant!r}?" if meant is not None else f", of {list(questions)}"
        raise UnfitAnswer(f"no such question: {name!r}; an answer is keyed by the question's full text{hint}")


def _fitted(question: Question, value: str | Sequence[str]) -> str | list[str]:
    chosen = [value] if isinstance(value, str) else list(value)
    if not chosen or not all(each.strip() for each in chosen):
        raise UnfitAnswer(
            f"the answer to {question.text!r} is empty: choose, write something, or leave it out with partial=True"
        )
    chosen = list(dict.fromkeys(chosen))
    if question.several and not isinstance(value, str):
        return chosen
    if len(chosen) > 1:
        raise UnfitAnswer(f"only one answer can be given to {question.text!r}, not {len(chosen)}")
    return chosen[0]


def _reply(answer: Answers, response: str, version: tuple[int, ...]) -> Answers | Deny:
    if not response.strip():
        raise UnfitAnswer("the response is empty: leave it out, or write something")
    if answer.answers or answer.annotations:
        raise UnfitAnswer(
            "Claude sees either answers or a response: write the response as a note to one of the answers"
        )
    if version < FIRST_TO_TELL_OF_NO_ANSWER:
        return Deny(f"The user responded: {response}")
    return Answers({}, response=response, partial=answer.partial)


def _check_complete(answer: Answers, questions: Sequence[Question]) -> None:
    if answer.partial:
        return
    answered = {*answer.answers, *(answer.annotations or {})}
    missing = [question.text for question in questions if question.text not in answered]
    if missing:
        raise UnfitAnswer(
            f"not answered: {', '.join(map(repr, missing))}; answer these too, or say that they are left open "
            "on purpose, with partial=True"
        )


def _check_notes(answer: Answers, version: tuple[int, ...]) -> None:
    for text, annotation in (answer.annotations or {}).items():
        unknown = sorted(annotation.keys() - ANNOTATIONS)
        if unknown:
            raise UnfitAnswer(f"an answer can have notes and a preview, not {unknown[0]!r}")
        if text not in answer.answers and not annotation.get("notes", "").strip():
            raise UnfitAnswer(f"{text!r} has neither an answer nor a note")
        first = FIRST_WITH_NOTES if text in answer.answers else FIRST_WITH_NOTES_ALONE
        if "notes" in annotation and version < first:
            raise UnfitAnswer(f"this version of Claude Code drops the note to {text!r}: write it as the answer")


def _with_previews(
    answer: Answers, given: Mapping[str, str | list[str]], questions: Mapping[str, Question]
) -> dict[str, dict[str, str]]:
    annotations = {text: dict(annotation) for text, annotation in (answer.annotations or {}).items()}
    for text, value in given.items():
        preview = next((each.preview for each in questions[text].options if each.label == value), "")
        if preview:
            annotations[text] = {"preview": preview, **annotations.get(text, {})}
    return annotations


def _parsed(cli_version: str | None) -> tuple[int, ...]:
    numbers = re.match(r"(\d+)\.(\d+)\.(\d+)", cli_version or "")
    return tuple(map(int, numbers.groups())) if numbers is not None else NEWEST


def _options(item: Mapping[str, Any]) -> Iterator[Option]:
    options = item.get("options")
    for option in options if isinstance(options, list) else ():
        if isinstance(option, dict):
            yield Option(_text(option, "label"), _text(option, "description"), _text(option, "preview"))


def _text(item: Mapping[str, Any], name: str) -> str:
    value = item.get(name)
    return value if isinstance(value, str) else ""

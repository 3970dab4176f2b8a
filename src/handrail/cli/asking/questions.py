"""Answering Claude's questions at the terminal: by number, with the arrows, or in one's own words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from rich.console import Group, RenderableType
from rich.text import Text

from handrail.cli.asking.ask_view import Asking, choice_mark, option_labels, question_panel
from handrail.cli.asking.menu import Choice
from handrail.cli.asking.selection import Selection
from handrail.cli.asking.sheet import Sheet
from handrail.cli.showing.layout import Flow, Hanging
from handrail.cli.showing.style import DONE, NEEDS_YOU, QUIET, prose
from handrail.protocol.asks import Answer, Answers, Ask

__all__ = ["answer_questions"]

Given: TypeAlias = str | list[str]

SEND = Choice("y", "send these answers", also=("enter",))
BACK = Choice("b", "back", "the last question again", also=("left", "escape", "backspace"))
OPEN = "(left open)"


class _Back(Exception):
    """The question before is wanted again."""


async def answer_questions(sheet: Sheet, ask: Ask, asking: Asking) -> Answer:
    """The answers to all questions of an ask, one after another; of several, once the person has looked at all."""
    questions = ask.questions
    given: list[Given | None] = [None] * len(questions)
    position = 0
    while position < len(questions) or not await _confirmed(sheet, questions, given):
        position = min(position, len(questions) - 1)
        try:
            given[position] = await _answer(sheet, questions, position, asking, given[position])
            position += 1
        except _Back:
            position = max(0, position - 1)
    return _told(sheet, questions, given)


def _told(sheet: Sheet, questions: Sequence[Mapping[str, Any]], given: Sequence[Given | None]) -> Answer:
    answers = {_text(question): answer for question, answer in zip(questions, given, strict=True) if answer is not None}
    for question, answer in zip(questions, given, strict=True):
        sheet.tell(DONE, f"{_text(question)} → {_in_words(answer)}")
    # Each question that has no answer was left open by the person.
    return Answers(answers, partial=len(answers) < len(questions))


async def _confirmed(sheet: Sheet, questions: Sequence[Mapping[str, Any]], given: Sequence[Given | None]) -> bool:
    """Whether the answers are sent as they are; one alone needs no second look."""
    if len(questions) < 2:
        return True
    lines = [
        Hanging(Text("· ", style=QUIET), Text.assemble(prose(_text(question)), " → ", prose(_in_words(answer), "bold")))
        for question, answer in zip(questions, given, strict=True)
    ]
    sheet.show(Group(Text("Your answers:", style=f"bold {NEEDS_YOU}"), *lines))
    return await sheet.choose(SEND, BACK) == SEND.key


async def _answer(
    sheet: Sheet, questions: Sequence[Mapping[str, Any]], position: int, asking: Asking, before: Given | None
) -> Given | None:
    """The answer to one question; `before` is what was answered to it the last time, if it is asked again."""
    question = questions[position]
    labels = option_labels(question)
    place = (position + 1, len(questions))
    if not labels:
        sheet.show(question_panel(question, asking, place=place))
        return await _own_words(sheet) or None
    selection = Selection(len(labels), several=bool(question.get("multiSelect")))
    selection.recall(labels.index(label) for label in _labels(before) if label in labels)
    sheet.show(question_panel(question, asking, place=place, selection=selection), pinned=_short(labels, selection))
    sheet.offer(_how_to_answer(selection, can_go_back=position > 0))
    while True:
        match selection.press(await sheet.key()):
            case "done":
                return _chosen(labels, selection)
            case "open":
                return None
            case "own words":
                words = await _own_words(sheet)
                if words:
                    chosen = [labels[index] for index in sorted(selection.taken)]
                    return [*chosen, words] if selection.several else words
                sheet.offer(_how_to_answer(selection, can_go_back=position > 0))
            case "back" if position > 0:
                raise _Back
            case "nothing":
                pass
            case _:
                sheet.hint(_reminder(selection))
        panel = question_panel(question, asking, place=place, selection=selection)
        sheet.show_again(panel, pinned=_short(labels, selection))


def _labels(given: Given | None) -> list[str]:
    return [given] if isinstance(given, str) else list(given or ())


async def _own_words(sheet: Sheet) -> str | None:
    return await sheet.line("Your answer: ")


def _chosen(labels: Sequence[str], selection: Selection) -> Given:
    taken = [labels[index] for index in sorted(selection.taken)]
    return taken if selection.several else taken[0]


def _short(labels: Sequence[str], selection: Selection) -> RenderableType:
    """The choices by name only, where the question itself is too tall to be drawn again and again."""
    return Group(*(choice_mark(selection, index).append_text(prose(label)) for index, label in enumerate(labels)))


def _how_to_answer(selection: Selection, *, can_go_back: bool) -> RenderableType:
    keys = f"1–{selection.count}" if selection.count > 1 else "1"
    choose = [(keys, "mark"), ("Space", "mark"), ("Enter", "done")] if selection.several else [(keys, "choose")]
    others = [("↑↓", "move"), ("o", "own words"), ("-", "leave open"), *([("b", "back")] if can_go_back else [])]
    pairs = [*choose, *others]
    return Flow(Text.assemble((key, f"bold {NEEDS_YOU}"), f" {label}") for key, label in pairs)


def _reminder(selection: Selection) -> str:
    if selection.several:
        return "Mark one or more with numbers or Space, then Enter; o for your own words, - leaves it open."
    return "A number, or Enter for the marked one; o for your own words, - leaves it open."


def _text(question: Mapping[str, Any]) -> str:
    return str(question.get("question", ""))


def _in_words(answer: Given | None) -> str:
    if answer is None:
        return OPEN
    return answer if isinstance(answer, str) else ", ".join(answer)

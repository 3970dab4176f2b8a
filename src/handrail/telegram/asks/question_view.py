"""A step of answering questions, as text and buttons."""

from __future__ import annotations

from collections.abc import Sequence

from handrail.policy.answers.questions import Question, skip_questions
from handrail.protocol import descriptions as d
from handrail.protocol.asks import Answers
from handrail.telegram.asks.deck import Deck
from handrail.telegram.asks.fitting import stacked
from handrail.telegram.asks.offers import Offer
from handrail.telegram.asks.reading import Asked
from handrail.telegram.asks.stepping import Steps, complete, given_to, goes_straight, is_answered
from handrail.telegram.asks.what import fields_shown, option_shown
from handrail.telegram.asks.words import in_short, line, words
from handrail.telegram.model import Button
from handrail.telegram.text.rich import RichText, bold, italic, plain

__all__ = ["offer_step", "questions_shown", "step_shown"]

LEFT_OPEN = "(left open)"
MOST_OPTIONS = 40
"""So many choices have a button; others are answered by their words."""


def step_shown(asked: Asked, questions: Sequence[Question], steps: Steps) -> list[RichText]:
    """The question that is asked now, whole, or all answers so far."""
    if steps.at >= len(questions):
        return [_review(questions, steps)]
    described = _described(asked, steps.at)
    place = f"Question {steps.at + 1} of {len(questions)}" if len(questions) > 1 else ""
    header = in_short(questions[steps.at].header, 60)
    head = italic(" · ".join(part for part in (place, header) if part))
    return [head, *_question(described), *_so_far(questions[steps.at], steps)]


def questions_shown(asked: Asked) -> list[RichText]:
    """All questions with their choices, to be read."""
    what = asked.description.what
    questions = what.questions if isinstance(what, d.Questions) else ()
    return [block for question in questions for block in _question(question)]


def _described(asked: Asked, position: int) -> d.Question:
    what = asked.description.what
    return what.questions[position] if isinstance(what, d.Questions) else d.Question(text="")


def _question(question: d.Question) -> list[RichText]:
    several = plain("\n") + italic("Choose as many as you like.") if question.multi_select else plain("")
    options = [option_shown(number, option) for number, option in enumerate(question.options, start=1)]
    return [bold(words(question.text) or "(no text)") + several, stacked(options), *fields_shown(question.fields)]


def _so_far(question: Question, steps: Steps) -> list[RichText]:
    own = steps.given[steps.at].own
    return [plain(f"In your words: {words(own)}")] if own and question.several else []


def _review(questions: Sequence[Question], steps: Steps) -> RichText:
    rows = [bold("Your answers")]
    for question, given in zip(questions, steps.given, strict=True):
        answer = words(", ".join(given_to(question, given))) or LEFT_OPEN
        rows.append(plain(f"{words(question.text)}\n→ ") + bold(answer))
    return stacked(rows, "\n\n")


# ---------------------------------------------------------------- buttons


def offer_step(asked: Asked, questions: Sequence[Question], steps: Steps, deck: Deck) -> Offer:
    """The buttons of a step. What sends answers carries them as they are shown."""
    if steps.at >= len(questions):
        return _offer_review(asked, questions, steps, deck)
    question = questions[steps.at]
    _offer_options(asked, questions, steps, deck)
    if question.several:
        _offer_done(asked, questions, steps, deck)
    moves = [deck.step("Back", "back")] if steps.at > 0 else []
    alone = len(questions) == 1
    skip = _skip_all(asked, deck) if alone else deck.step("Skip", "skip")
    deck.row(*moves, skip)
    deck.row(deck.prompt("Reply in your own words instead…", "response"), deck.show("Show all"))
    how = "Reply to this message to answer in your own words."
    return Offer((how,), "answer")


def _offer_options(asked: Asked, questions: Sequence[Question], steps: Steps, deck: Deck) -> None:
    question = questions[steps.at]
    for position, option in enumerate(question.options[:MOST_OPTIONS]):
        name = line(option.label)
        if goes_straight(questions) and option.label.strip():
            answer = Answers({question.text: option.label})
            deck.row(deck.decide(name, answer, resume=asked.resumes), is_one_of_many=True)
        else:
            deck.row(_option_button(question, steps, position, name, deck), is_one_of_many=True)


def _option_button(question: Question, steps: Steps, position: int, name: str, deck: Deck) -> Button:
    is_taken = position in steps.given[steps.at].taken
    if not question.several:
        return deck.step(f"• {name}" if is_taken else name, "take", position)
    # Each says what it does, so that pressing the same one twice is pressing it once.
    return deck.step(f"☑ {name}", "drop", position) if is_taken else deck.step(f"☐ {name}", "take", position)


def _offer_done(asked: Asked, questions: Sequence[Question], steps: Steps, deck: Deck) -> None:
    if not is_answered(steps.given[steps.at]):
        return
    if len(questions) > 1:
        deck.row(deck.step("Next", "next", style="primary"))
    else:
        deck.row(deck.decide("Send", complete(steps, questions), style="primary", resume=asked.resumes))


def _offer_review(asked: Asked, questions: Sequence[Question], steps: Steps, deck: Deck) -> Offer:
    answers = complete(steps, questions)
    if answers.answers:
        deck.row(deck.decide("Send", answers, style="primary", resume=asked.resumes))
    for position, question in enumerate(questions[:MOST_OPTIONS]):
        name = in_short(question.header or question.text, 40)
        deck.row(deck.step(f"Change: {name}", "go", position), is_one_of_many=True)
    deck.row(deck.step("Back", "back"), _skip_all(asked, deck))
    return Offer()


def _skip_all(asked: Asked, deck: Deck) -> Button:
    return deck.decide("Skip all", skip_questions(), resume=asked.resumes)

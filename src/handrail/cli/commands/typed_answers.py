"""Answers as they are given on a command line: words and options in, the answer that fits the ask out. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from handrail.cli.asking.forms import read_value
from handrail.errors import UnfitAnswer
from handrail.policy.answers.encoding import decode_answer
from handrail.policy.answers.forms import check_elicited, form_fields
from handrail.policy.answers.plan import ApproveInFreshContext, ApprovePlan, EnterPlan, PlanContext, RejectPlan
from handrail.policy.answers.plan_choices import PlanChoice, plan_choices
from handrail.policy.answers.questions import Question, check_answers, questions_of
from handrail.policy.describing.suggestions import describe_suggestion
from handrail.protocol.asks import Allow, Answers, Ask, Deny, DialogResult, Elicited
from handrail.sessions.asks import AnyAnswer

__all__ = ["Typed", "answer_from", "words_for"]

DENIED = "The user denied this."
DENIED_BECAUSE = "The user denied this and says: "
STOPPED = "The user denied this and stopped the turn."
ENOUGH = "the person who was asked decided not to go on"


@dataclass(frozen=True, kw_only=True, slots=True)
class Typed:
    """What was given on the command line."""

    word: str | None = None
    reason: str = ""
    options: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    leave_open: bool = False
    values: tuple[str, ...] = ()
    suggestion: int | None = None
    rules: tuple[str, ...] = ()
    plan: str | None = None
    given_input: str | None = None
    result: str | None = None
    interrupt: bool = False
    encoded: str | None = None

    @property
    def says_something(self) -> bool:
        """Whether an answer was given at all."""
        return self != Typed()


def words_for(ask: Ask, context: PlanContext) -> tuple[str, ...]:
    """The words that answer this ask."""
    match ask.kind:
        case "plan" | "enter_plan":
            return ("allow", "deny", *(choice.id for choice in plan_choices(ask, context)))
        case "question":
            return ("skip", "deny")
        case "elicitation":
            return ("accept", "decline", "cancel", "deny")
        case "dialog":
            return ("cancel", "deny")
        case "permission" if ask.suggestions:
            return ("allow", "always", "deny")
    return ("allow", "deny")


def answer_from(typed: Typed, ask: Ask, context: PlanContext) -> AnyAnswer:
    """The answer that was typed. Raises `UnfitAnswer` with what can be."""
    if typed.encoded is not None:
        return decode_answer(_parsed(typed.encoded, "--answer"))
    words = words_for(ask, context)
    if typed.word is not None and typed.word not in words:
        raise UnfitAnswer(f"{typed.word!r} does not answer this {_noun(ask)}: {_possible(ask, words)}")
    match ask.kind:
        case "plan" | "enter_plan":
            return _plan_answer(typed, ask, context)
        case "question":
            return _question_answer(typed, ask)
        case "elicitation":
            return _form_answer(typed, ask)
        case "dialog":
            return _dialog_answer(typed)
        case "budget":
            return Allow() if _needed_word(typed, words) == "allow" else Deny(typed.reason or ENOUGH)
    return _permission_answer(typed, ask, words)


# ---------------------------------------------------------------- tools


def _permission_answer(typed: Typed, ask: Ask, words: Sequence[str]) -> AnyAnswer:
    word = _needed_word(typed, words)
    if word == "deny":
        return _denial(typed)
    changed = _object(typed.given_input, "--input") if typed.given_input is not None else None
    if word == "allow":
        return Allow(updated_input=changed)
    return Allow(updated_input=changed, updated_permissions=(_suggestion(typed, ask),))


def _denial(typed: Typed) -> Deny:
    if typed.reason:
        return Deny(f"{DENIED_BECAUSE}{typed.reason}", interrupt=typed.interrupt)
    return Deny(STOPPED if typed.interrupt else DENIED, interrupt=typed.interrupt)


def _suggestion(typed: Typed, ask: Ask) -> Mapping[str, Any]:
    """The rule that "always" means. Where there are several, it must be said which."""
    if typed.suggestion is None and len(ask.suggestions) == 1:
        return ask.suggestions[0]
    if typed.suggestion is None or not 1 <= typed.suggestion <= len(ask.suggestions):
        listed = "; ".join(f"{number} {describe_suggestion(each)}" for number, each in enumerate(ask.suggestions, 1))
        raise UnfitAnswer(f"say what to allow always, with --rule-number: {listed}")
    return ask.suggestions[typed.suggestion - 1]


# ---------------------------------------------------------------- plans


def _plan_answer(typed: Typed, ask: Ask, context: PlanContext) -> AnyAnswer:
    choices = {choice.id: choice for choice in plan_choices(ask, context)}
    if typed.word == "deny":
        return choices["implement"].answer if ask.kind == "enter_plan" else _rejection(typed)
    if typed.word == "allow" and ask.kind == "enter_plan":
        return EnterPlan()
    if typed.word == "allow":
        return ApprovePlan(plan=typed.plan, rules=typed.rules)
    if typed.word is None:
        raise UnfitAnswer(f"say what becomes of the plan: {', '.join(choices)}")
    return _chosen_plan_answer(typed, choices[typed.word])


def _rejection(typed: Typed) -> RejectPlan:
    return RejectPlan(typed.reason, interrupt=typed.interrupt)


def _chosen_plan_answer(typed: Typed, choice: PlanChoice) -> AnyAnswer:
    if choice.needs == "feedback":
        if not typed.reason:
            raise UnfitAnswer("say what to change, with --reason")
        return choice.filled_in(typed.reason)
    if choice.needs == "plan" and not typed.plan:
        raise UnfitAnswer("give the plan as you changed it, with --plan FILE")
    if isinstance(choice.answer, RejectPlan):
        return _rejection(typed)
    if isinstance(choice.answer, ApprovePlan):
        return ApprovePlan(choice.answer.mode, plan=typed.plan, rules=typed.rules, compact=choice.answer.compact)
    if isinstance(choice.answer, ApproveInFreshContext):
        return ApproveInFreshContext(choice.answer.mode, plan=typed.plan, rules=typed.rules)
    return choice.answer


# ---------------------------------------------------------------- questions


def _question_answer(typed: Typed, ask: Ask) -> AnyAnswer:
    if typed.word == "deny":
        return _denial(typed)
    questions = questions_of(ask)
    given: dict[str, list[str]] = {}
    for option in typed.options:
        question, label = _placed(option, questions)
        given.setdefault(question.text, []).append(_label(label, question))
    for text in typed.texts:
        question, words = _placed(text, questions)
        given.setdefault(question.text, []).append(words)
    if not given and typed.word != "skip":
        raise UnfitAnswer(f"choose with --option, or use your own words with --text: {_choices(questions)}")
    several = {question.text for question in questions if question.several}
    answers = {text: words if text in several else _only(text, words) for text, words in given.items()}
    answer = Answers(answers, partial=typed.leave_open or typed.word == "skip")
    check_answers(ask, answer)
    return answer


def _placed(given: str, questions: Sequence[Question]) -> tuple[Question, str]:
    """The question that an option or a text is for, and what is left of it: `Header=Label`, or only the label."""
    for question in questions:
        for name in filter(None, (question.header, question.text)):
            if given.startswith(f"{name}="):
                return question, given.removeprefix(f"{name}=")
    if len(questions) == 1:
        return questions[0], given
    having = [question for question in questions if any(option.label == given for option in question.options)]
    if len(having) != 1:
        raise UnfitAnswer(f"say which question {given!r} answers, as HEADER=ANSWER: {_choices(questions)}")
    return having[0], given


def _label(given: str, question: Question) -> str:
    """The label that was meant: exactly, or by its number."""
    labels = [option.label for option in question.options]
    if given in labels:
        return given
    if given.isdecimal() and 1 <= int(given) <= len(labels):
        return labels[int(given) - 1]
    raise UnfitAnswer(f"{question.text!r} has no option {given!r}: {', '.join(labels)}; --text takes your own words")


def _only(text: str, words: Sequence[str]) -> str:
    if len(words) > 1:
        raise UnfitAnswer(f"only one answer can be given to {text!r}, not {len(words)}")
    return words[0]


def _choices(questions: Sequence[Question]) -> str:
    return "; ".join(
        f"{question.header or question.text} = {' | '.join(option.label for option in question.options) or 'own words'}"
        for question in questions
    )


# ---------------------------------------------------------------- forms and dialogs


def _form_answer(typed: Typed, ask: Ask) -> AnyAnswer:
    if typed.word in ("decline", "deny"):
        return Elicited("decline")
    if typed.word == "cancel":
        return Elicited("cancel")
    fields = {field.name: field for field in form_fields(ask.request)}
    if typed.word is None and not typed.values:
        raise UnfitAnswer(f"accept with --value NAME=VALUE ({', '.join(fields) or 'no fields'}), decline or cancel")
    content: dict[str, Any] = {field.name: field.default for field in fields.values() if field.default is not None}
    for given in typed.values:
        name, sign, value = given.partition("=")
        if not sign or name not in fields:
            raise UnfitAnswer(f"the form has no field {name!r}: {', '.join(fields)}")
        try:
            content[name] = read_value(fields[name], value)
        except ValueError as error:
            raise UnfitAnswer(f"{name}: {error}") from None
    answer = Elicited("accept") if ask.request.get("mode") == "url" else Elicited("accept", content)
    check_elicited(ask, answer)
    return answer


def _dialog_answer(typed: Typed) -> AnyAnswer:
    if typed.word is not None:
        return DialogResult(behavior="cancelled")
    if typed.result is None:
        raise UnfitAnswer("give the dialog's result as JSON, with --result; or cancel")
    return DialogResult(_parsed(typed.result, "--result"))


# ---------------------------------------------------------------- shared


def _needed_word(typed: Typed, words: Sequence[str]) -> str:
    if typed.word is None:
        raise UnfitAnswer(f"say one of {', '.join(words)}")
    return typed.word


def _noun(ask: Ask) -> str:
    return {"enter_plan": "request to plan first", "elicitation": "form"}.get(ask.kind, ask.kind)


def _possible(ask: Ask, words: Sequence[str]) -> str:
    possible = f"say one of {', '.join(words)}"
    if ask.kind == "question":
        return f"choose with --option, use your own words with --text, or {possible}"
    return possible


def _parsed(text: str, option: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise UnfitAnswer(f"{option} is not JSON: {error}") from None


def _object(text: str, option: str) -> dict[str, Any]:
    value = _parsed(text, option)
    if not isinstance(value, dict):
        raise UnfitAnswer(f"{option} must be a JSON object")
    return value

"""The steps of questions and forms, pressed and written in any order: what comes out fits what was asked."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handrail.policy.answers.forms import check_elicited, form_fields
from handrail.policy.answers.questions import Option, Question, check_answers
from handrail.protocol.asks import Ask
from handrail.telegram.asks import filling, stepping
from handrail.telegram.asks.not_understood import NotUnderstood

LABELS = st.text(min_size=1, max_size=6).filter(lambda text: text.strip() != "")
QUESTIONS = st.lists(
    st.builds(
        Question,
        text=st.text(max_size=8),
        options=st.lists(st.builds(Option, label=LABELS | st.just(" ")), max_size=4).map(tuple),
        several=st.booleans(),
    ),
    min_size=1,
    max_size=4,
    unique_by=lambda question: question.text,
)
MOVES = st.lists(
    st.tuples(
        st.sampled_from(["take", "drop", "next", "skip", "back", "go", "write", "nonsense"]),
        st.integers(-1, 5),
        st.text(max_size=5),
    ),
    max_size=30,
)


def ask_of(questions: list[Question]) -> Ask:
    asked = [
        {
            "question": question.text,
            "options": [{"label": option.label} for option in question.options],
            "multiSelect": question.several,
        }
        for question in questions
    ]
    return Ask(id="a", kind="question", request={}, tool_name="AskUserQuestion", input={"questions": asked})


@pytest.mark.slow
@settings(max_examples=50)
@given(questions=QUESTIONS, moves=MOVES)
def test_whatever_is_pressed_the_answers_fit(questions: list[Question], moves: list[tuple[str, int, str]]) -> None:
    steps = stepping.begun("d", questions)
    for do, number, text in moves:
        if do == "write":
            steps = stepping.written(steps, questions, text)
        else:
            steps = stepping.pressed(steps, questions, do, number)
        assert 0 <= steps.at <= (len(questions) if len(questions) > 1 else 0)
        assert len(steps.given) == len(questions)
        answers = stepping.complete(steps, questions)
        check_answers(ask_of(questions), answers)  # raises for what does not fit
        assert set(answers.answers) <= {question.text for question in questions}


@settings(max_examples=50)
@given(questions=QUESTIONS, moves=MOVES)
def test_a_press_that_is_handled_twice_counts_once(
    questions: list[Question], moves: list[tuple[str, int, str]]
) -> None:
    """A button belongs to the step that it was shown with, so it is only ever repeated there."""
    steps = stepping.begun("d", questions)
    for do, number, _ in moves:
        after = stepping.pressed(steps, questions, do, number)
        if after.at == steps.at:
            assert stepping.pressed(after, questions, do, number) == after
        steps = after


SCHEMAS = st.dictionaries(
    st.text(min_size=1, max_size=4),
    st.sampled_from(
        [
            {"type": "string"},
            {"type": "string", "default": "x"},
            {"type": "integer", "minimum": 1, "maximum": 5},
            {"type": "number"},
            {"type": "boolean"},
            {"type": "string", "enum": ["a", "b"]},
            {"type": "string", "oneOf": [{"const": "a", "title": "A"}, {"const": "b", "title": "B"}]},
            {"type": "array", "items": {"type": "string", "enum": ["a", "b", "c"]}},
        ]
    ),
    max_size=4,
)
FORM_MOVES = st.lists(
    st.tuples(
        st.sampled_from(["take", "drop", "yes", "no", "default", "leave", "next", "back", "go", "write", "nonsense"]),
        st.integers(-1, 4),
        st.sampled_from(["x", "3", "2.5", "yes", "a, b", "A", "9", "nan", "", "1"]),
    ),
    max_size=30,
)


@settings(max_examples=30)
@given(schema=SCHEMAS, required=st.booleans(), moves=FORM_MOVES)
def test_whatever_is_pressed_a_form_fits_or_says_why_not(
    schema: dict[str, Any], required: bool, moves: list[tuple[str, int, str]]
) -> None:
    wanted = {"type": "object", "properties": schema, "required": list(schema) if required else []}
    ask = Ask(id="a", kind="elicitation", request={"requested_schema": wanted})
    fields = form_fields(ask.request)
    state = filling.begun("d")
    for do, number, text in moves:
        if do == "write":
            with suppress(NotUnderstood):
                state = filling.written(state, fields, text)
        else:
            state = filling.pressed(state, fields, do, number)
        assert 0 <= state.at <= len(fields)
        assert set(state.values) <= set(schema)
        for field in fields:
            filling.value_of(state, field)
        if not filling.problem(ask, state):
            check_elicited(ask, filling.filled_in(state))

"""Questions: what an answer must have, and how it looks on the wire."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.errors import UnfitAnswer
from handrail.policy.answers.questions import Option, Question, check_answers, questions_of, skip_questions
from handrail.protocol.asks import Answers, Ask, Deny, answer_body

COLOUR = "Which colour?"
TOPPINGS = "Which toppings?"


def question(text: str, *labels: str, several: bool = False, **more: Any) -> dict[str, Any]:
    options = [{"label": label, "description": f"Take {label}", **more} for label in labels]
    return {"question": text, "header": (text.split() or [""])[-1], "options": options, "multiSelect": several}


def ask(*questions: Any) -> Ask:
    return Ask(id="1", kind="question", request={}, tool_name="AskUserQuestion", input={"questions": list(questions)})


PIZZA = ask(question(COLOUR, "Red", "Green"), question(TOPPINGS, "Ham", "Olives", several=True))


def test_what_a_surface_shows() -> None:
    colour, toppings = questions_of(PIZZA)
    assert colour == Question(COLOUR, "colour?", (Option("Red", "Take Red"), Option("Green", "Take Green")))
    assert toppings.several


def test_questions_of_another_shape_are_shown_as_far_as_they_go() -> None:
    assert questions_of(ask("x", None, {"question": 3, "options": "none", "multiSelect": "yes"})) == (Question(""),)
    (odd,) = questions_of(ask({"question": "Q", "options": [None, {"label": "A", "preview": 3}]}))
    assert odd.options == (Option("A"),)


def test_a_complete_answer_is_sent_as_it_is() -> None:
    answer = check_answers(PIZZA, Answers({COLOUR: "Red", TOPPINGS: ["Ham", "Olives"]}))
    sent = answer_body(PIZZA, answer)["updatedInput"]
    assert sent == {"questions": list(PIZZA.questions), "answers": {COLOUR: "Red", TOPPINGS: ["Ham", "Olives"]}}


def test_free_text_is_taken_for_both_kinds() -> None:
    answer = check_answers(PIZZA, Answers({COLOUR: "none of them", TOPPINGS: "you choose"}))
    assert answer.answers == {COLOUR: "none of them", TOPPINGS: "you choose"}


def test_one_choice_in_a_list_is_one_choice() -> None:
    answer = check_answers(PIZZA, Answers({COLOUR: ["Red"], TOPPINGS: ("Ham", "Ham")}))
    assert answer.answers == {COLOUR: "Red", TOPPINGS: ["Ham"]}


@pytest.mark.parametrize(
    ("answer", "complaint"),
    [
        (Answers({COLOUR: "Red"}), "not answered: 'Which toppings\\?'"),
        (Answers({}), "not answered: 'Which colour\\?', 'Which toppings\\?'"),
        (Answers({COLOUR: ["Red", "Green"], TOPPINGS: "Ham"}), "only one answer"),
        (Answers({COLOUR: "", TOPPINGS: "Ham"}), "is empty"),
        (Answers({COLOUR: "Red", TOPPINGS: []}), "is empty"),
        (Answers({COLOUR: "Red", TOPPINGS: ["Ham", " "]}), "is empty"),
        (Answers({"colour?": "Red"}), "did you mean 'Which colour\\?'"),
        (Answers({"0": "Red"}), "keyed by the question's full text"),
        (Answers({COLOUR: "Red"}, annotations={"1": {"notes": "x"}}, partial=True), "no such question: '1'"),
        (Answers({COLOUR: "Red"}, annotations={TOPPINGS: {"notes": " "}}), "neither an answer nor a note"),
        (Answers({COLOUR: "Red"}, annotations={COLOUR: {"remark": "x"}}, partial=True), "not 'remark'"),
        (Answers({}, response=" "), "the response is empty"),
        (Answers({COLOUR: "Red"}, response="let us talk", partial=True), "either answers or a response"),
    ],
)
def test_what_does_not_answer_is_refused_with_the_reason(answer: Answers, complaint: str) -> None:
    with pytest.raises(UnfitAnswer, match=complaint):
        check_answers(PIZZA, answer)


def sent_for(answer: Answers, cli_version: str | None = None) -> Answers:
    sent = check_answers(PIZZA, answer, cli_version=cli_version)
    assert isinstance(sent, Answers)
    return sent


def test_a_question_may_be_left_open_on_purpose() -> None:
    assert sent_for(Answers({COLOUR: "Red"}, partial=True)).answers == {COLOUR: "Red"}


def test_all_may_be_skipped_and_no_cli_says_that_they_were_answered() -> None:
    assert answer_body(PIZZA, sent_for(skip_questions(), "2.1.197"))["updatedInput"]["answers"] == {}
    assert check_answers(PIZZA, skip_questions(), cli_version="2.1.120") == Deny(
        "The user did not answer the questions."
    )


def test_a_reply_in_place_of_answers() -> None:
    reply = Answers({}, response="let us talk")
    assert answer_body(PIZZA, sent_for(reply, "2.1.325"))["updatedInput"]["response"] == "let us talk"
    assert check_answers(PIZZA, reply, cli_version="2.1.120") == Deny("The user responded: let us talk")


def test_notes_that_the_cli_would_drop_are_refused() -> None:
    noted = Answers({COLOUR: "Red"}, annotations={COLOUR: {"notes": "dark"}}, partial=True)
    assert sent_for(noted, "2.1.52").annotations == {COLOUR: {"notes": "dark"}}
    with pytest.raises(UnfitAnswer, match="drops the note"):
        check_answers(PIZZA, noted, cli_version="2.1.37")


def test_a_note_can_stand_in_for_an_answer() -> None:
    noted = Answers({COLOUR: "Red"}, annotations={TOPPINGS: {"notes": "ask the cook"}})
    assert sent_for(noted, "2.1.120").annotations == {TOPPINGS: {"notes": "ask the cook"}}
    with pytest.raises(UnfitAnswer, match="drops the note"):
        check_answers(PIZZA, noted, cli_version="2.1.62")


def test_the_preview_of_the_chosen_option_goes_along() -> None:
    asked = ask(question(COLOUR, "Red", "Green", preview="#####"))
    noted = Answers({COLOUR: "Red"}, annotations={COLOUR: {"notes": "dark"}})
    expected = [
        (Answers({COLOUR: "Red"}), {COLOUR: {"preview": "#####"}}),
        (noted, {COLOUR: {"notes": "dark", "preview": "#####"}}),
        (Answers({COLOUR: "Blue"}), None),
    ]
    for answer, noted_or_shown in expected:
        assert check_answers(asked, answer) == Answers(answer.answers, annotations=noted_or_shown)


def test_questions_with_the_same_text_have_one_answer() -> None:
    one, several = question(COLOUR, "A"), question(COLOUR, "B", several=True)
    for twice in (ask(one, several), ask(several, one)):
        assert check_answers(twice, Answers({COLOUR: ["A"]})) == Answers({COLOUR: "A"})
        with pytest.raises(UnfitAnswer, match="only one"):
            check_answers(twice, Answers({COLOUR: ["A", "B"]}))


TEXTS = st.text(min_size=1, max_size=8)
QUESTIONS = st.lists(st.tuples(TEXTS, st.lists(TEXTS, max_size=4), st.booleans()), min_size=1, max_size=4)
VALUES = st.one_of(st.text(max_size=8), st.lists(st.text(max_size=8), max_size=3))


@pytest.mark.slow
@given(asked=QUESTIONS, data=st.data())
def test_what_is_accepted_is_complete_and_fits(asked: list[tuple[str, list[str], bool]], data: st.DataObject) -> None:
    of_this = ask(*(question(text, *labels, several=several) for text, labels, several in asked))
    names = st.one_of(st.sampled_from([text for text, _, _ in asked]), TEXTS)
    answer = Answers(data.draw(st.dictionaries(names, VALUES, max_size=5)), partial=data.draw(st.booleans()))
    try:
        sent = check_answers(of_this, answer)
    except UnfitAnswer:
        return
    assert isinstance(sent, Answers)
    texts = {text for text, _, _ in asked}
    assert sent.answers.keys() <= texts
    assert answer.partial or sent.answers.keys() == texts
    single = {text for text, _, several in asked if not several}
    for text, value in sent.answers.items():
        assert all(each.strip() for each in ([value] if isinstance(value, str) else value))
        assert isinstance(value, str) or text not in single
    assert check_answers(of_this, sent) == sent

"""Asks and answers: what the CLI asks becomes a value, what we answer becomes exactly one wire form."""

from __future__ import annotations

from typing import Any

import pytest

from handrail.errors import UnfitAnswer
from handrail.protocol.asks import (
    Allow,
    Answer,
    Answers,
    Ask,
    Deny,
    DialogResult,
    Elicited,
    answer_body,
    ask_from,
)

QUESTION = {
    "questions": [{"question": "Which fruits?", "header": "Fruit", "multiSelect": True, "options": [{"label": "Fig"}]}]
}


def tool_ask(tool: str = "Bash", **request: Any) -> Ask:
    return ask_from("r1", {"subtype": "can_use_tool", "tool_name": tool, "input": {"command": "ls"}, **request})


@pytest.mark.parametrize(
    ("request_", "kind"),
    [
        ({"subtype": "can_use_tool", "tool_name": "Bash"}, "permission"),
        ({"subtype": "can_use_tool", "tool_name": "ExitPlanMode"}, "plan"),
        ({"subtype": "can_use_tool", "tool_name": "EnterPlanMode"}, "enter_plan"),
        ({"subtype": "can_use_tool", "tool_name": "AskUserQuestion"}, "question"),
        ({"subtype": "elicitation", "message": "Name?"}, "elicitation"),
        ({"subtype": "request_user_dialog", "dialog_kind": "x"}, "dialog"),
    ],
)
def test_the_kind_of_an_ask(request_: dict[str, Any], kind: str) -> None:
    assert ask_from("r", request_).kind == kind


def test_an_ask_carries_what_was_asked() -> None:
    suggestion = {
        "type": "addRules",
        "rules": [{"toolName": "Bash"}],
        "behavior": "allow",
        "destination": "session",
    }
    ask = tool_ask(permission_suggestions=[suggestion], agent_id="a1", tool_use_id="t1", description="list")
    assert (ask.id, ask.tool_name, ask.input) == ("r1", "Bash", {"command": "ls"})
    assert (ask.suggestions, ask.agent_id, ask.tool_use_id, ask.message) == (
        (suggestion,),
        "a1",
        "t1",
        "list",
    )


def test_an_ask_of_odd_shape_is_still_an_ask() -> None:
    ask = ask_from("r", {"subtype": "can_use_tool", "tool_name": 7, "input": "rm", "permission_suggestions": {}})
    assert (ask.kind, ask.tool_name, ask.input, ask.suggestions) == ("permission", "", {}, ())
    assert ask.request["input"] == "rm"


@pytest.mark.parametrize(
    ("answer", "body"),
    [
        (Allow(), {"behavior": "allow", "updatedInput": {"command": "ls"}}),
        (Allow({"command": "pwd"}), {"behavior": "allow", "updatedInput": {"command": "pwd"}}),
        (Allow({}), {"behavior": "allow", "updatedInput": {}}),
        (
            Allow(updated_permissions=[{"type": "setMode", "mode": "acceptEdits", "destination": "session"}]),
            {
                "behavior": "allow",
                "updatedInput": {"command": "ls"},
                "updatedPermissions": [{"type": "setMode", "mode": "acceptEdits", "destination": "session"}],
            },
        ),
        (Deny("no"), {"behavior": "deny", "message": "no", "interrupt": False}),
        (Deny("stop", interrupt=True), {"behavior": "deny", "message": "stop", "interrupt": True}),
    ],
)
def test_permission_answers(answer: Answer, body: dict[str, Any]) -> None:
    assert answer_body(tool_ask(), answer) == body
    assert answer_body(tool_ask(tool_use_id="t"), answer) == {**body, "toolUseID": "t"}


def test_answers_keep_the_questions() -> None:
    ask = tool_ask("AskUserQuestion", input=QUESTION)
    assert answer_body(ask, Answers({"Which fruits?": ["Apple", "Fig"]})) == {
        "behavior": "allow",
        "updatedInput": {**QUESTION, "answers": {"Which fruits?": ["Apple", "Fig"]}},
    }
    annotated = answer_body(ask, Answers({"Which fruits?": "none"}, {"Which fruits?": {"notes": "n"}}))
    assert annotated["updatedInput"]["annotations"] == {"Which fruits?": {"notes": "n"}}


def test_answers_keyed_otherwise_than_by_the_question_are_refused() -> None:
    with pytest.raises(UnfitAnswer, match="Which fruits"):
        answer_body(tool_ask("AskUserQuestion", input=QUESTION), Answers({"Fruit": "Fig"}))


def test_elicitations_and_dialogs() -> None:
    elicitation = ask_from("r", {"subtype": "elicitation", "message": "Name?"})
    assert answer_body(elicitation, Elicited("accept", {"name": "x"})) == {
        "action": "accept",
        "content": {"name": "x"},
    }
    assert answer_body(elicitation, Elicited("cancel")) == {"action": "cancel"}
    assert answer_body(elicitation, Deny("no")) == {"action": "decline"}
    dialog = ask_from("r", {"subtype": "request_user_dialog", "dialog_kind": "k", "payload": {"a": 1}})
    assert dialog.input == {"a": 1}
    assert answer_body(dialog, DialogResult({"b": 2})) == {"behavior": "completed", "result": {"b": 2}}
    assert answer_body(dialog, Deny("no")) == {"behavior": "cancelled"}


@pytest.mark.parametrize(
    ("ask", "answer"),
    [
        (tool_ask(), Answers({})),
        (tool_ask(), Elicited("accept")),
        (tool_ask(), True),
        (ask_from("r", {"subtype": "elicitation"}), Allow()),
        (ask_from("r", {"subtype": "request_user_dialog"}), Allow()),
    ],
)
def test_an_answer_that_does_not_fit_is_refused_with_what_would(ask: Ask, answer: Any) -> None:
    with pytest.raises(UnfitAnswer, match="use "):
        answer_body(ask, answer)

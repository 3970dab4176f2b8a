"""Answers on a command line: which words and options make which answer, and what is said where none fits."""

from __future__ import annotations

from typing import Any

import pytest

from handrail.cli.commands.typed_answers import Typed, answer_from, words_for
from handrail.errors import UnfitAnswer
from handrail.policy.answers.encoding import encode_answer
from handrail.policy.answers.plan import (
    ApproveInFreshContext,
    ApprovePlan,
    EnterPlan,
    ImplementNow,
    OutlinePlan,
    PlanContext,
    RejectPlan,
    RevisePlan,
)
from handrail.protocol.asks import Allow, Answers, Ask, Deny, DialogResult, Elicited, ask_from
from handrail.sessions.asks import AnyAnswer

CONTEXT = PlanContext(bypass_available=True, cli_version="2.1.325")
RULE = {
    "type": "addRules",
    "rules": [{"toolName": "Bash", "ruleContent": "ls *"}],
    "behavior": "allow",
    "destination": "session",
}
BASH = ask_from("r1", {"subtype": "can_use_tool", "tool_name": "Bash", "input": {"command": "ls"}})
WITH_RULE = ask_from(
    "r1",
    {
        "subtype": "can_use_tool",
        "tool_name": "Bash",
        "input": {"command": "ls"},
        "permission_suggestions": [RULE],
    },
)
WITH_RULES = ask_from(
    "r1",
    {"subtype": "can_use_tool", "tool_name": "Bash", "input": {}, "permission_suggestions": [RULE, RULE | {"n": 2}]},
)
ENTER = ask_from("r1", {"subtype": "can_use_tool", "tool_name": "EnterPlanMode", "input": {}})
PLAN = Ask(id="r1", kind="plan", request={}, tool_name="ExitPlanMode", input={"plan": "1. do"}, plan="1. do")
FORM = ask_from(
    "r1",
    {
        "subtype": "elicitation",
        "message": "Who are you?",
        "requested_schema": {
            "type": "object",
            "properties": {"name": {"type": "string"}, "age": {"type": "integer", "minimum": 18}},
            "required": ["name"],
        },
    },
)
DIALOG = ask_from("r1", {"subtype": "request_user_dialog", "dialog_kind": "pick", "payload": {}})
BUDGET = Ask(id="r1", kind="budget", request={})


def question(*items: tuple[str, str, bool, tuple[str, ...]]) -> Ask:
    questions = [
        {
            "question": text,
            "header": header,
            "multiSelect": several,
            "options": [{"label": label, "description": ""} for label in labels],
        }
        for text, header, several, labels in items
    ]
    return ask_from(
        "r1", {"subtype": "can_use_tool", "tool_name": "AskUserQuestion", "input": {"questions": questions}}
    )


TONE = ("How should it greet?", "Tone", False, ("Warmly", "Briefly"))
TOOLS = ("Which tools?", "Tools", True, ("ruff", "mypy"))


def answered(ask: Ask, **typed: Any) -> AnyAnswer:
    answer = answer_from(Typed(**typed), ask, CONTEXT)
    encode_answer(answer)  # whatever is typed can be sent
    return answer


@pytest.mark.parametrize(
    ("ask", "typed", "answer"),
    [
        (BASH, {"word": "allow"}, Allow()),
        (BASH, {"word": "allow", "given_input": '{"command": "ls -l"}'}, Allow(updated_input={"command": "ls -l"})),
        (BASH, {"word": "deny"}, Deny("The user denied this.")),
        (BASH, {"word": "deny", "reason": "no"}, Deny("The user denied this and says: no")),
        (BASH, {"word": "deny", "interrupt": True}, Deny("The user denied this and stopped the turn.", interrupt=True)),
        (WITH_RULE, {"word": "always"}, Allow(updated_permissions=(RULE,))),
        (WITH_RULES, {"word": "always", "suggestion": 2}, Allow(updated_permissions=(RULE | {"n": 2},))),
        (BASH, {"encoded": '{"type": "deny", "message": "as JSON"}'}, Deny("as JSON")),
        (ENTER, {"word": "allow"}, EnterPlan()),
        (ENTER, {"word": "deny"}, ImplementNow()),
        (ENTER, {"word": "enter"}, EnterPlan()),
        (PLAN, {"word": "allow"}, ApprovePlan()),
        (PLAN, {"word": "accept-edits"}, ApprovePlan("acceptEdits")),
        (PLAN, {"word": "ask-edits", "rules": ("Bash(ls)",)}, ApprovePlan("default", rules=("Bash(ls)",))),
        (PLAN, {"word": "compact"}, ApprovePlan(compact=True)),
        (PLAN, {"word": "fresh"}, ApproveInFreshContext("acceptEdits")),
        (PLAN, {"word": "fresh-bypass"}, ApproveInFreshContext("bypassPermissions")),
        (PLAN, {"word": "edit", "plan": "2. undo"}, ApprovePlan("acceptEdits", plan="2. undo")),
        (PLAN, {"word": "revise", "reason": "shorter"}, RevisePlan("shorter")),
        (PLAN, {"word": "outline"}, OutlinePlan()),
        (PLAN, {"word": "reject", "reason": "never"}, RejectPlan("never")),
        (PLAN, {"word": "deny", "interrupt": True}, RejectPlan("", interrupt=True)),
        (question(TONE), {"options": ("Warmly",)}, Answers({TONE[0]: "Warmly"})),
        (question(TONE), {"options": ("2",)}, Answers({TONE[0]: "Briefly"})),
        (question(TONE), {"texts": ("As you like",)}, Answers({TONE[0]: "As you like"})),
        (question(TONE), {"word": "skip"}, Answers({}, partial=True)),
        (question(TONE), {"word": "deny"}, Deny("The user denied this.")),
        (question(TOOLS), {"options": ("ruff", "mypy")}, Answers({TOOLS[0]: ["ruff", "mypy"]})),
        (
            question(TONE, TOOLS),
            {"options": ("Tone=Warmly", "Which tools?=mypy")},
            Answers({TONE[0]: "Warmly", TOOLS[0]: ["mypy"]}),
        ),
        (question(TONE, TOOLS), {"options": ("Warmly", "ruff")}, Answers({TONE[0]: "Warmly", TOOLS[0]: ["ruff"]})),
        (
            question(TONE, TOOLS),
            {"options": ("Warmly",), "leave_open": True},
            Answers({TONE[0]: "Warmly"}, partial=True),
        ),
        (FORM, {"values": ("name=Maria", "age=30")}, Elicited("accept", {"name": "Maria", "age": 30})),
        (FORM, {"word": "accept", "values": ("name=a=b",)}, Elicited("accept", {"name": "a=b"})),
        (FORM, {"word": "decline"}, Elicited("decline")),
        (FORM, {"word": "deny"}, Elicited("decline")),
        (FORM, {"word": "cancel"}, Elicited("cancel")),
        (DIALOG, {"result": '{"picked": 1}'}, DialogResult({"picked": 1})),
        (DIALOG, {"word": "cancel"}, DialogResult(behavior="cancelled")),
        (BUDGET, {"word": "allow"}, Allow()),
        (BUDGET, {"word": "deny", "reason": "enough"}, Deny("enough")),
    ],
)
def test_what_is_typed_makes_the_answer(ask: Ask, typed: dict[str, Any], answer: AnyAnswer) -> None:
    assert answered(ask, **typed) == answer


@pytest.mark.parametrize(
    ("ask", "typed", "told"),
    [
        (BASH, {}, "allow, deny"),
        (BASH, {"word": "yes"}, "allow, deny"),
        (BASH, {"word": "always"}, "allow, deny"),
        (BASH, {"word": "allow", "given_input": "ls"}, "--input is not JSON"),
        (BASH, {"word": "allow", "given_input": "[]"}, "must be a JSON object"),
        (BASH, {"encoded": '{"type": "nonsense"}'}, "no such type of answer"),
        (WITH_RULES, {"word": "always"}, "--rule-number: 1 allow"),
        (WITH_RULES, {"word": "always", "suggestion": 3}, "--rule-number"),
        (PLAN, {}, "accept-edits"),
        (PLAN, {"word": "revise"}, "--reason"),
        (PLAN, {"word": "edit"}, "--plan"),
        (PLAN, {"word": "enter"}, "reject"),
        (question(TONE), {}, "Tone = Warmly | Briefly"),
        (question(TONE), {"word": "allow"}, "--option"),
        (question(TONE), {"options": ("Rudely",)}, "Warmly, Briefly"),
        (question(TONE), {"options": ("Warmly", "Briefly")}, "only one answer"),
        (question(TONE, TOOLS), {"options": ("Warmly",)}, "not answered: 'Which tools?'"),
        (question(TONE, TOOLS), {"texts": ("well",)}, "HEADER=ANSWER"),
        (FORM, {}, "name, age"),
        (FORM, {"values": ("colour=red",)}, "no field 'colour'"),
        (FORM, {"values": ("name=Maria", "age=old")}, "whole number"),
        (FORM, {"values": ("age=30",)}, "name"),
        (DIALOG, {}, "--result"),
        (DIALOG, {"result": "{"}, "--result is not JSON"),
        (BUDGET, {"word": "accept-edits"}, "allow, deny"),
    ],
)
def test_what_does_not_fit_is_told(ask: Ask, typed: dict[str, Any], told: str) -> None:
    with pytest.raises(UnfitAnswer) as caught:
        answered(ask, **typed)
    assert told in str(caught.value)


@pytest.mark.parametrize("ask", [BASH, WITH_RULE, ENTER, PLAN, FORM, BUDGET], ids=lambda ask: ask.kind)
def test_every_word_on_offer_is_an_answer(ask: Ask) -> None:
    extra = {"reason": "because", "plan": "2. undo", "values": ("name=Maria",)}
    for word in words_for(ask, CONTEXT):
        assert answered(ask, word=word, **extra) is not None

"""Asks at the terminal: what the person sees, which keys they have, and the answer it makes."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from handrail import (
    ApproveInFreshContext,
    ApprovePlan,
    EnterPlan,
    ImplementNow,
    OutlinePlan,
    RejectPlan,
    RevisePlan,
)
from handrail.cli.asking.ask_view import Asking
from handrail.cli.keyboard.keyboard import PromptInterrupted
from handrail.policy.answers.plan import PlanContext
from handrail.protocol.asks import Allow, Answers, Ask, Deny, DialogResult, Elicited, answer_body, ask_from

from .support import answered, permission

RULE = {
    "type": "addRules",
    "rules": [{"toolName": "Bash", "ruleContent": "touch a.txt"}],
    "behavior": "allow",
    "destination": "localSettings",
}
DIRECTORY = {"type": "addDirectories", "directories": ["/elsewhere"], "destination": "session"}
ACCEPT_EDITS = {"type": "setMode", "mode": "acceptEdits", "destination": "session"}

BASH = permission(
    "Bash",
    {"command": "touch a.txt", "description": "Make a file", "timeout": 5000},
    description="Make a file",
    decision_reason="This command requires approval",
    blocked_path="/elsewhere/a.txt",
    permission_suggestions=[RULE],
)


# ---------------------------------------------------------------- permissions


async def test_the_panel_says_what_and_why() -> None:
    _, seen = await answered(BASH, "y")
    for expected in ("Needs you · Bash", "touch a.txt", "Make a file", "requires approval", "/elsewhere/a.txt", "5000"):
        assert expected in seen


async def test_allow_once() -> None:
    answer, seen = await answered(BASH, "y")
    assert answer == Allow()
    assert "✓ allowed once: Bash touch a.txt" in seen


async def test_deny() -> None:
    answer, seen = await answered(BASH, "n")
    assert isinstance(answer, Deny)
    assert not answer.interrupt
    assert "✗ denied" in seen


async def test_a_reason_may_be_thought_better_of() -> None:
    answer, _ = await answered(BASH, "d", "n", "o", "escape", "y")
    assert answer == Allow()


async def test_the_whole_request_can_be_seen() -> None:
    answer, seen = await answered(BASH, "s", "y")
    assert answer == Allow()
    assert '"decision_reason": "This command requires approval"' in seen


async def test_deny_with_a_reason() -> None:
    answer, seen = await answered(BASH, "d", "=use mkdir instead")
    assert isinstance(answer, Deny)
    assert "use mkdir instead" in answer.message
    assert "denied: Bash touch a.txt · use mkdir instead" in seen


async def test_deny_and_stop() -> None:
    answer, _ = await answered(BASH, "i")
    assert isinstance(answer, Deny)
    assert answer.interrupt


async def test_always_says_which_rule_and_where_it_is_saved() -> None:
    answer, seen = await answered(BASH, "a")
    assert answer == Allow(updated_permissions=(RULE,))
    assert "a always: allow Bash(touch a.txt), saved in .claude/settings.local.json" in seen
    assert "from now on: allow Bash(touch a.txt), saved" in seen


async def test_several_suggestions_are_chosen_by_number() -> None:
    ask = permission("Bash", {"command": "ls"}, permission_suggestions=[RULE, DIRECTORY, ACCEPT_EDITS])
    answer, seen = await answered(ask, "a", "4", "3")
    assert answer == Allow(updated_permissions=(ACCEPT_EDITS,))
    assert "2 always: work in /elsewhere too, for this session" in seen
    assert seen.count("Please press one of") == 2


async def test_without_a_suggestion_there_is_no_always() -> None:
    answer, seen = await answered(permission("Bash", {"command": "ls"}), "a", "y")
    assert answer == Allow()
    assert "always" not in seen


async def test_help_explains_every_key() -> None:
    _, seen = await answered(BASH, "?", "y")
    for key in "yndesi":
        assert f"  {key} " in seen
    assert "the turn ends" in seen


async def test_nonsense_is_not_an_answer() -> None:
    answer, seen = await answered(BASH, "enter", "x", "up", "n")
    assert isinstance(answer, Deny)
    assert seen.count("Please press one of") == 3


async def test_the_end_of_input_denies() -> None:
    answer, _ = await answered(BASH)
    assert isinstance(answer, Deny)
    assert "Nobody answered" in answer.message


async def test_control_c_is_passed_on() -> None:
    with pytest.raises(PromptInterrupted):
        await answered(BASH, PromptInterrupted)


async def test_an_edited_input_is_shown_again_before_it_runs() -> None:
    edited = {"command": "touch b.txt"}
    answer, seen = await answered(BASH, "e", "a", "y", edited=json.dumps(edited))
    assert answer == Allow(updated_input=edited)
    assert "edited by you" in seen
    assert seen.index("touch a.txt") < seen.index("touch b.txt")
    assert "Please press one of y, n, d, e, s, i," in seen, "the suggestion was about the other command"


@pytest.mark.parametrize("edited", ["{", "[1]", OSError("the editor 'x' could not be started")])
async def test_a_failed_edit_changes_nothing(edited: Any) -> None:
    answer, seen = await answered(BASH, "e", "y", edited=edited)
    assert answer == Allow()
    assert "Nothing is changed" in seen


async def test_a_long_input_is_shown_whole() -> None:
    content = "\n".join(f"line number {number}" for number in range(1, 301))
    _, seen = await answered(permission("Write", {"file_path": "/p/long.txt", "content": content}), "n")
    assert all(f"line number {number}" in seen for number in range(1, 301))
    assert "300 lines in all" in seen
    assert "all shown: scroll up" in seen


async def test_hidden_characters_are_shown_and_counted() -> None:
    _, seen = await answered(permission("Bash", {"command": "ls \u202e\x1b[8m; rm -rf /"}), "n")
    assert "ls <U+202E><U+001B>[8m; rm -rf /" in seen
    assert "2 hidden characters are shown" in seen
    assert "\x1b" not in seen


async def test_an_edit_is_shown_as_a_difference() -> None:
    given = {"file_path": "/p/a.py", "old_string": "x = 1\ny = 2", "new_string": "x = 1\ny = 3", "replace_all": True}
    _, seen = await answered(permission("Edit", given, description="a.py"), "y")
    assert "/p/a.py" in seen
    assert "- y = 2" in seen
    assert "+ y = 3" in seen
    assert "replace_all: true" in seen


async def test_who_asks_and_how_many_wait() -> None:
    _, seen = await answered(BASH, "y", asking=Asking(who="Explore: count the files", waiting=2))
    assert "Explore: count the files" in seen
    assert "2 more behind it" in seen


async def test_a_tool_of_an_mcp_server() -> None:
    _, seen = await answered(permission("mcp__github__create_issue", {"title": "Bug", "labels": ["a", "b"]}), "y")
    assert "github · create_issue" in seen
    assert "Bug" in seen
    assert '"b"' in seen


# ---------------------------------------------------------------- plans

PLAN = msgspec.structs.replace(
    permission("ExitPlanMode", {"plan": "# Steps\n\n1. Look\n2. Leap", "planFilePath": "/h/plan.md"}),
    plan="# Steps\n\n1. Look\n2. Leap",
)
NEWEST = PlanContext(cli_version="2.1.325", context_used=38.4)
LAUNCHED_FOR_BYPASS = PlanContext(cli_version="2.1.325", bypass_available=True)


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("y", ApprovePlan("default")),
        ("a", ApprovePlan("acceptEdits")),
        ("f", ApproveInFreshContext("acceptEdits")),
        ("c", ApprovePlan(compact=True)),
        ("o", OutlinePlan()),
        ("r", RejectPlan()),
    ],
)
async def test_what_can_be_answered_to_a_plan(typed: str, expected: object) -> None:
    answer, seen = await answered(PLAN, typed, asking=Asking(plan=NEWEST))
    assert answer == expected
    assert "Leap" in seen
    assert "/h/plan.md" in seen
    assert "(38 % used)" in seen


@pytest.mark.parametrize(
    ("typed", "expected"), [("B", ApprovePlan("bypassPermissions")), ("F", ApproveInFreshContext("bypassPermissions"))]
)
async def test_bypassing_permissions_is_offered_only_where_it_works(typed: str, expected: object) -> None:
    assert (await answered(PLAN, typed, asking=Asking(plan=LAUNCHED_FOR_BYPASS)))[0] == expected
    answer, seen = await answered(PLAN, typed, "r", asking=Asking(plan=NEWEST))
    assert answer == RejectPlan()
    assert "Please press one of" in seen


async def test_shift_tab_takes_the_first_answer_to_a_plan() -> None:
    answer, _ = await answered(PLAN, "shift-tab", asking=Asking(plan=NEWEST))
    assert answer == ApproveInFreshContext("acceptEdits")


async def test_control_g_opens_the_plan_in_the_editor() -> None:
    answer, seen = await answered(PLAN, "ctrl-g", "y", edited="Just leap.", asking=Asking(plan=NEWEST))
    assert answer == ApprovePlan("acceptEdits", plan="Just leap.")
    assert "edited by you" in seen


async def test_keeping_on_planning_with_feedback() -> None:
    answer, _ = await answered(PLAN, "n", "=look twice")
    assert answer == RevisePlan("look twice")


async def test_feedback_that_is_empty_is_not_sent() -> None:
    answer, seen = await answered(PLAN, "n", "=", "r")
    assert answer == RejectPlan()
    assert "nothing is sent" in seen


async def test_an_edited_plan_is_shown_again_and_goes_with_the_approval() -> None:
    answer, seen = await answered(PLAN, "e", "y", edited="Just leap.", asking=Asking(plan=NEWEST))
    assert answer == ApprovePlan("acceptEdits", plan="Just leap.")
    assert "Just leap." in seen


async def test_an_older_cli_gets_an_edited_plan_in_a_fresh_context() -> None:
    old = Asking(plan=PlanContext(cli_version="2.1.62"))
    answer, _ = await answered(PLAN, "e", "y", edited="Just leap.", asking=old)
    assert answer == ApproveInFreshContext("acceptEdits", plan="Just leap.")


@pytest.mark.parametrize("edited", ["", "# Steps\n\n1. Look\n2. Leap\n", OSError("no editor")])
async def test_an_edit_that_changes_nothing_asks_again(edited: Any) -> None:
    answer, seen = await answered(PLAN, "e", "r", edited=edited, asking=Asking(plan=NEWEST))
    assert answer == RejectPlan()
    assert "Nothing is changed" in seen


async def test_an_edited_plan_can_be_thrown_away() -> None:
    answer, _ = await answered(PLAN, "e", "n", "a", edited="Just leap.", asking=Asking(plan=NEWEST))
    assert answer == ApprovePlan("acceptEdits")


@pytest.mark.parametrize(("typed", "allowed"), [("y", True), ("n", False)])
async def test_what_the_plan_asks_leave_for_is_shown_as_rules(typed: str, allowed: bool) -> None:
    wanted = [{"tool": "Bash", "prompt": "run `npm test`"}, {"tool": "Bash", "prompt": "install dependencies"}]
    prompts = {"allowedPrompts": wanted}
    ask = msgspec.structs.replace(PLAN, input={**PLAN.input, **prompts})
    answer, seen = await answered(ask, "a", typed, asking=Asking(plan=NEWEST))
    assert answer == ApprovePlan("acceptEdits", rules=["Bash(npm test)"] if allowed else ())
    assert "Bash(npm test" in seen
    assert "it names no command" in seen


@pytest.mark.parametrize(("typed", "expected"), [("y", ApprovePlan("default")), ("n", RejectPlan())])
async def test_without_a_plan_there_is_yes_and_no(typed: str, expected: object) -> None:
    assert (await answered(permission("ExitPlanMode", {}), typed))[0] == expected


async def test_a_plan_that_is_only_in_the_tool_call() -> None:
    ask = msgspec.structs.replace(permission("ExitPlanMode", {}), plan="Leap at once.")
    _, seen = await answered(ask, "y")
    assert "Leap at once." in seen


async def test_entering_plan_mode() -> None:
    assert (await answered(permission("EnterPlanMode", {}), "y"))[0] == EnterPlan()
    assert (await answered(permission("EnterPlanMode", {}), "n"))[0] == ImplementNow()


# ---------------------------------------------------------------- budgets


@pytest.mark.parametrize(("typed", "kind"), [("y", Allow), ("n", Deny)])
async def test_a_budget_that_is_spent(typed: str, kind: type) -> None:
    spent = {"spent_usd": 5.2, "limit_usd": 5.0}
    ask = Ask(id="b", kind="budget", request=spent, input=spent, message="$5.20 of $5.00 are spent. Go on?")
    answer, seen = await answered(ask, typed)
    assert isinstance(answer, kind)
    assert "$5.20 of $5.00" in seen


# ---------------------------------------------------------------- questions


def question_ask(*questions: dict[str, Any]) -> Ask:
    return permission("AskUserQuestion", {"questions": list(questions)})


COLOUR = {
    "question": "Which colour?",
    "header": "Colour",
    "options": [{"label": "Red", "description": "warm"}, {"label": "Blue", "preview": "```\n~~~\n```"}],
}
SIZES = {"question": "Which sizes?", "options": [{"label": "S"}, {"label": "M"}, {"label": "L"}], "multiSelect": True}


@pytest.mark.parametrize(
    ("question", "presses", "answer"),
    [
        (COLOUR, ["2"], "Blue"),
        (COLOUR, ["down", "enter"], "Blue"),
        (COLOUR, ["up", "up", "enter"], "Red"),
        (COLOUR, ["o", "=something greenish"], "something greenish"),
        (COLOUR, ["o", "escape", "1"], "Red"),
        (SIZES, ["1", "3", "enter"], ["S", "L"]),
        (SIZES, ["1", "2", "1", "enter"], ["M"]),
        (SIZES, ["down", " ", "enter"], ["M"]),
        (SIZES, ["3", "o", "=and socks"], ["L", "and socks"]),
        ({"question": "Why?"}, ["=42"], "42"),
    ],
)
async def test_questions(question: dict[str, Any], presses: list[str], answer: Any) -> None:
    given, seen = await answered(question_ask(question), *presses)
    assert given == Answers({question["question"]: answer})
    assert question["question"] in seen


async def test_several_questions_one_after_another_keyed_by_their_text() -> None:
    ask = question_ask(COLOUR, SIZES)
    answer, seen = await answered(ask, "1", "3", "1", "enter", "y")
    body = answer_body(ask, answer)
    assert body["updatedInput"]["answers"] == {"Which colour?": "Red", "Which sizes?": ["S", "L"]}
    assert "Question 2 of 2" in seen
    assert "Which colour? → Red" in seen


async def test_going_back_to_a_question() -> None:
    ask = question_ask(COLOUR, SIZES)
    answer, _ = await answered(ask, "1", "b", "2", "1", "enter", "b", "2", "enter", "y")
    assert answer == Answers({"Which colour?": "Blue", "Which sizes?": ["S", "M"]})
    answer, seen = await answered(question_ask(COLOUR), "b", "1")
    assert answer == Answers({"Which colour?": "Red"}), "there is nothing before the first one"
    assert "A number, or Enter" in seen


async def test_a_question_may_stay_open() -> None:
    assert (await answered(question_ask(COLOUR, SIZES), "-", "1", "enter", "y"))[0] == Answers(
        {"Which sizes?": ["S"]}, partial=True
    )
    assert (await answered(question_ask(COLOUR), "-"))[0] == Answers({}, partial=True)


async def test_numbers_out_of_range_are_asked_again() -> None:
    answer, seen = await answered(question_ask(COLOUR), "0", "?", "3", "1")
    assert answer == Answers({"Which colour?": "Red"})
    assert seen.count("A number, or Enter for the marked one") == 3
    _, seen = await answered(question_ask(SIZES), "enter", "1", "enter")
    assert "Mark one or more" in seen


# ---------------------------------------------------------------- elicitations and dialogs


def elicitation(**fields: Any) -> Ask:
    request = {"subtype": "elicitation", "mcp_server_name": "probe", "message": "Who are you?", "mode": "form"}
    return ask_from("r1", {**request, **fields})


FORM = elicitation(
    requested_schema={
        "properties": {
            "name": {"type": "string", "title": "Name"},
            "age": {"type": "integer", "default": 3},
            "sure": {"type": "boolean"},
            "colour": {"enum": ["red", "green"]},
        },
        "required": ["name", "sure"],
    }
)


async def test_a_form_is_filled_in() -> None:
    answer, seen = await answered(FORM, "y", "=Ada", "=thirty", "=36", "=", "=y", "=2")
    assert answer == Elicited("accept", {"name": "Ada", "age": 36, "sure": True, "colour": "green"})
    assert "Who are you?" in seen
    assert "type a whole number" in seen
    assert "type y or n" in seen, "a value that is needed cannot be left out"


async def test_values_that_are_not_needed_may_be_left_out() -> None:
    answer, _ = await answered(FORM, "y", "=Ada", "=", "=n", "=")
    assert answer == Elicited("accept", {"name": "Ada", "age": 3, "sure": False})


async def test_going_back_in_a_form() -> None:
    answer, _ = await answered(FORM, "y", "escape", "y", "=Ida", "escape", "=Ada", "=", "=n", "=")
    assert answer == Elicited("accept", {"name": "Ada", "age": 3, "sure": False})


async def test_a_form_is_declined_or_cancelled() -> None:
    assert (await answered(FORM, "n"))[0] == Elicited("decline")
    assert (await answered(FORM, "c"))[0] == Elicited("cancel")


async def test_an_address_to_open() -> None:
    ask = elicitation(mode="url", url="https://example.org/\u202ecode")
    answer, seen = await answered(ask, "y")
    assert answer == Elicited("accept")
    assert "https://example.org/<U+202E>code" in seen


DIALOG = ask_from("r1", {"subtype": "request_user_dialog", "dialog_kind": "pick", "payload": {"from": ["a", "b"]}})


async def test_a_dialog() -> None:
    answer, seen = await answered(DIALOG, "r", "={", "r", '={"picked": "a"}')
    assert answer == DialogResult({"picked": "a"})
    assert '"from"' in seen
    assert "not JSON" in seen
    assert (await answered(DIALOG, "n"))[0] == DialogResult(behavior="cancelled")


@pytest.mark.parametrize("ask", [BASH, PLAN, question_ask(COLOUR), FORM, DIALOG, permission("EnterPlanMode", {})])
async def test_whatever_ends_early_still_has_an_answer_that_fits(ask: Ask) -> None:
    answer, _ = await answered(ask)
    assert answer_body(ask, answer)

"""Plan review: what each answer comes to, where the plan's text is taken from, what is offered."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handrail.errors import UnfitAnswer
from handrail.policy.answers.plan import (
    ApproveInFreshContext,
    ApprovePlan,
    Compact,
    EnterPlan,
    FreshStart,
    ImplementNow,
    OutlinePlan,
    PlanAnswer,
    PlanContext,
    PlanOutcome,
    PlanText,
    RejectPlan,
    RevisePlan,
    SendMessage,
    SetMode,
    leave_plan_mode,
    plan_text,
    resolve_plan_answer,
)
from handrail.policy.answers.plan_choices import MODE_LABELS, plan_choices
from handrail.policy.answers.plan_cooldown import OutlineCooldown
from handrail.policy.answers.plan_rules import AllowedPrompt, proposed_rules
from handrail.protocol.asks import Allow, Ask, Deny, answer_body
from handrail.protocol.blocks import Image, Source

PLAN = "# Plan\n\n1. Measure twice\n2. Cut once\n"
NEW = PlanContext(cli_version="2.1.325")
OLD = PlanContext(cli_version="2.1.62")
BYPASS = PlanContext(cli_version="2.1.325", bypass_available=True)


def plan_ask(plan: str | None = PLAN, /, **tool_input: Any) -> Ask:
    given: dict[str, Any] = {**({} if plan is None else {"plan": plan}), **tool_input}
    request = {"subtype": "can_use_tool", "tool_name": "ExitPlanMode", "input": given}
    return Ask(id="1", kind="plan", request=request, tool_name="ExitPlanMode", input=given, plan=plan)


def enter_ask() -> Ask:
    return Ask(id="1", kind="enter_plan", request={}, tool_name="EnterPlanMode")


def resolve(answer: PlanAnswer, ask: Ask | None = None, context: PlanContext = NEW) -> PlanOutcome:
    return resolve_plan_answer(ask or plan_ask(), answer, context)


def updates(outcome: PlanOutcome) -> list[dict[str, Any]]:
    assert isinstance(outcome.answer, Allow)
    return list(outcome.answer.updated_permissions)


def set_mode(mode: str) -> dict[str, str]:
    return {"type": "setMode", "mode": mode, "destination": "session"}


# ---------------------------------------------------------------- approve


@pytest.mark.parametrize("mode", ["acceptEdits", "default", "bypassPermissions"])
def test_the_mode_travels_in_the_answer_and_is_seen_to_afterwards(mode: Any) -> None:
    outcome = resolve(ApprovePlan(mode), context=BYPASS)
    assert updates(outcome) == [set_mode(mode)]
    assert outcome.follow_ups == (SetMode(mode),)


def test_an_approved_plan_keeps_its_input() -> None:
    ask = plan_ask(planFilePath="/h/.claude/plans/a.md")
    body = answer_body(ask, resolve(ApprovePlan(), ask).answer)
    assert body["updatedInput"] == ask.input
    assert body["updatedPermissions"] == [set_mode("acceptEdits")]


def test_bypass_only_where_it_was_launched_for() -> None:
    for answer in (ApprovePlan("bypassPermissions"), ApproveInFreshContext("bypassPermissions")):
        with pytest.raises(UnfitAnswer, match="not launched"):
            resolve(answer)
        resolve(answer, context=BYPASS)


def test_an_edited_plan_is_sent() -> None:
    ask = plan_ask(planFilePath="/h/.claude/plans/a.md")
    answer = resolve(ApprovePlan(plan="# Less"), ask).answer
    assert isinstance(answer, Allow)
    assert answer.updated_input == {"plan": "# Less", "planFilePath": "/h/.claude/plans/a.md"}


@pytest.mark.parametrize("context", [OLD, PlanContext()])
def test_an_edited_plan_is_refused_where_the_cli_would_ignore_it(context: PlanContext) -> None:
    with pytest.raises(UnfitAnswer, match="ApproveInFreshContext"):
        resolve(ApprovePlan(plan="# Less"), context=context)
    assert resolve(ApprovePlan(plan=PLAN), context=context).answer == resolve(ApprovePlan(), context=context).answer
    (start,) = resolve(ApproveInFreshContext(plan="# Less"), context=context).follow_ups
    assert isinstance(start, FreshStart)
    assert start.prompt.endswith("# Less")


def test_an_edited_plan_with_nothing_in_it_is_refused() -> None:
    with pytest.raises(UnfitAnswer, match="empty"):
        resolve(ApprovePlan(plan=" \n"))


def test_approve_then_compact() -> None:
    assert resolve(ApprovePlan(compact=True)).follow_ups == (SetMode("acceptEdits"), Compact())


def test_a_fresh_start_carries_plan_mode_rules_and_bypass_over() -> None:
    ask = plan_ask(allowedPrompts=[{"tool": "Bash", "prompt": "run `npm test`"}])
    outcome = resolve(ApproveInFreshContext("default", allow_prompts=True, rules=["Bash(ls:*)"]), ask, BYPASS)
    assert isinstance(outcome.answer, Deny)
    assert outcome.answer.interrupt
    (start,) = outcome.follow_ups
    assert start == FreshStart(
        prompt="Implement the following plan:\n\n" + PLAN,
        mode="default",
        rules=("Bash(ls:*)", "Bash(npm test)"),
        bypass_available=True,
    )


def test_a_fresh_start_without_a_plan() -> None:
    (start,) = resolve(ApproveInFreshContext(), plan_ask(None)).follow_ups
    assert isinstance(start, FreshStart)
    assert start.prompt == "Continue implementing the plan from the previous conversation."
    assert start.mode == "default"


# ---------------------------------------------------------------- not yet, or no


def test_feedback_is_what_claude_is_told() -> None:
    assert resolve(RevisePlan("add a step")) == PlanOutcome(Deny("add a step"))


@pytest.mark.parametrize("feedback", ["", " \n\t"])
def test_empty_feedback_is_refused(feedback: str) -> None:
    with pytest.raises(UnfitAnswer, match="empty"):
        resolve(RevisePlan(feedback))


def test_images_follow_as_a_message() -> None:
    picture = Image(source=Source(type="base64", media_type="image/png", data="AA=="))
    block = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA=="}}
    for images in ([picture], [block]):
        outcome = resolve(RevisePlan("", images))
        (message,) = outcome.follow_ups
        assert isinstance(message, SendMessage)
        assert message.content[1:] == (block,)
        assert isinstance(outcome.answer, Deny)
        assert outcome.answer.message
    with pytest.raises(UnfitAnswer, match="of the type image"):
        resolve(RevisePlan("see", [{"type": "text", "text": "no"}]))


def test_pause_and_outline_holds_the_next_plan() -> None:
    outcome = resolve(OutlinePlan())
    assert outcome.hold_next
    assert isinstance(outcome.answer, Deny)
    assert "step-by-step" in outcome.answer.message
    assert not outcome.answer.interrupt
    assert not resolve(RevisePlan("x")).hold_next


def test_reject() -> None:
    assert resolve(RejectPlan("not now", interrupt=True)).answer == Deny("not now", interrupt=True)
    assert "rejected" in resolve(RejectPlan()).answer.message  # type: ignore[union-attr]


# ---------------------------------------------------------------- without a plan, entering, wrong kinds


def test_without_a_plan_there_is_yes_and_no() -> None:
    ask = plan_ask(None)
    assert updates(resolve(ApprovePlan(), ask)) == [set_mode("default")]
    assert isinstance(resolve(RejectPlan(), ask).answer, Deny)
    with pytest.raises(UnfitAnswer, match="no plan"):
        resolve(ApprovePlan("acceptEdits"), ask)
    with pytest.raises(UnfitAnswer, match="no plan to edit"):
        resolve(ApprovePlan(plan="mine"), ask)


def test_entering_plan_mode() -> None:
    assert updates(resolve(EnterPlan(), enter_ask())) == [set_mode("plan")]
    assert isinstance(resolve(ImplementNow(), enter_ask()).answer, Deny)
    back, message = leave_plan_mode(PlanContext(previous_mode="acceptEdits"))
    assert back == SetMode("acceptEdits")
    assert isinstance(message, SendMessage)


@pytest.mark.parametrize(
    ("ask", "answer"),
    [
        (plan_ask(), EnterPlan()),
        (enter_ask(), ApprovePlan()),
        (Ask(id="1", kind="permission", request={}), RejectPlan()),
        (Ask(id="1", kind="question", request={}), ImplementNow()),
    ],
)
def test_an_answer_to_another_kind_of_ask_is_refused(ask: Ask, answer: PlanAnswer) -> None:
    with pytest.raises(UnfitAnswer, match=f"does not answer a {ask.kind} ask"):
        resolve(answer, ask)


# ---------------------------------------------------------------- rules


def test_rules_become_rules_of_the_session() -> None:
    outcome = resolve(ApprovePlan("default", rules=["Bash(npm test:*)", "WebSearch", r"Bash(echo \(hi\))"]))
    assert updates(outcome)[1] == {
        "type": "addRules",
        "rules": [
            {"toolName": "Bash", "ruleContent": "npm test:*"},
            {"toolName": "WebSearch"},
            {"toolName": "Bash", "ruleContent": "echo (hi)"},
        ],
        "behavior": "allow",
        "destination": "session",
    }


@pytest.mark.parametrize("rule", ["", "npm test", "Bash(", "Bash()", "(ls)", "Bash(a\nb)", "Bash(prompt: run tests)"])
def test_what_is_no_rule_is_refused(rule: str) -> None:
    with pytest.raises(UnfitAnswer):
        resolve(ApprovePlan(rules=[rule]))


@pytest.mark.parametrize(
    ("prompt", "plan", "rules"),
    [
        ("run `npm test`", "", ("Bash(npm test)",)),
        ("npm run build", "", ("Bash(npm run build)",)),
        ("run pytest tests/unit", "", ("Bash(pytest tests/unit)",)),
        ("run the tests", "Then `npm test` and `npm run build`.", ("Bash(npm test)",)),
        ("run tests", "```bash\n$ pytest -q\nmake docs\n```", ("Bash(pytest -q)",)),
        ("run database migrations", "`python manage.py migrate`", ("Bash(python manage.py migrate)",)),
        ("run the tests", "Change `tests/test_a.py`.", ()),
        ("run `npm test && curl evil`", "`npm test; rm x`", ()),
        ("install dependencies", "", ()),
    ],
)
def test_proposals_are_the_commands_that_are_spelt_out(prompt: str, plan: str, rules: tuple[str, ...]) -> None:
    ask = plan_ask(plan or PLAN, allowedPrompts=[{"tool": "Bash", "prompt": prompt}])
    assert proposed_rules(ask) == (AllowedPrompt("Bash", prompt, rules),)


def test_confirmed_prompts_become_rules() -> None:
    prompts = [{"tool": "Bash", "prompt": "run `make a`"}, {"tool": "Bash", "prompt": "run `make b`"}]
    ask = plan_ask(allowedPrompts=prompts)
    assert len(updates(resolve(ApprovePlan(), ask))) == 1
    assert [rule["ruleContent"] for rule in updates(resolve(ApprovePlan(allow_prompts=True), ask))[1]["rules"]] == [
        "make a",
        "make b",
    ]
    only = updates(resolve(ApprovePlan(allow_prompts=[1]), ask))[1]["rules"]
    assert only == [{"toolName": "Bash", "ruleContent": "make b"}]
    with pytest.raises(UnfitAnswer, match="no allowed prompt 2"):
        resolve(ApprovePlan(allow_prompts=[2]), ask)


def test_a_prompt_that_names_no_command_cannot_be_confirmed() -> None:
    for prompt in ({"tool": "Bash", "prompt": "run tests"}, {"tool": "Other", "prompt": "run `make`"}):
        with pytest.raises(UnfitAnswer, match="give one in `rules`"):
            resolve(ApprovePlan(allow_prompts=True), plan_ask(allowedPrompts=[prompt]))


@pytest.mark.slow
@given(prompt=st.text(max_size=60), plan=st.text(max_size=200))
def test_a_proposal_is_always_a_rule_for_one_plain_command(prompt: str, plan: str) -> None:
    ask = plan_ask(plan, allowedPrompts=[{"tool": "Bash", "prompt": prompt}])
    for proposal in proposed_rules(ask):
        for rule in proposal.rules:
            command = rule.removeprefix("Bash(").removesuffix(")")
            assert command
            assert not set(command) & set("`$;&|<>()*?'\"\\\n{}[]!#~")
            assert resolve(ApprovePlan("default", rules=[rule]), plan_ask())


@pytest.mark.parametrize("prompts", [None, "x", [1, "a", None], {"tool": "Bash"}])
def test_prompts_of_another_shape_are_none(prompts: Any) -> None:
    assert proposed_rules(plan_ask(allowedPrompts=prompts)) == ()


# ---------------------------------------------------------------- the text


def no_file(path: str, at_most: int) -> bytes | None:
    raise AssertionError(f"{path} is read")


def test_the_plan_is_taken_from_the_request_first() -> None:
    ask = plan_ask(PLAN, planFilePath="/h/p.md")
    assert plan_text(ask, {"plan": "other"}, no_file) == PlanText(PLAN, "request", "/h/p.md")


@pytest.mark.parametrize("in_request", [{}, {"plan": " "}, {"plan": None}, {"plan": 3}])
def test_else_from_the_call(in_request: Mapping[str, Any]) -> None:
    ask = plan_ask(None, **in_request)
    assert plan_text(ask, {"plan": PLAN}, no_file) == PlanText(PLAN, "call")


def test_else_from_the_file_that_the_request_names() -> None:
    read: list[tuple[str, int]] = []

    def read_file(path: str, at_most: int) -> bytes | None:
        read.append((path, at_most))
        return PLAN.encode() + b"\xff"

    found = plan_text(plan_ask(None, planFilePath="/h/p.md"), None, read_file)
    assert found == PlanText(PLAN + "\N{REPLACEMENT CHARACTER}", "file", "/h/p.md")
    ((path, at_most),) = read
    assert path == "/h/p.md"
    assert at_most == 1024 * 1024


@pytest.mark.parametrize("path", [None, 3, "", "p.md", "../p.md", "/etc/passwd"])
def test_no_other_file_is_looked_at(path: Any) -> None:
    assert plan_text(plan_ask(None, planFilePath=path), None, no_file) is None


def test_a_file_that_claude_names_is_not_looked_at() -> None:
    ask = plan_ask(None, planFilePath="/home/me/diary.md")
    assert plan_text(ask, {"planFilePath": "/home/me/diary.md"}, no_file) is None


@pytest.mark.parametrize("content", [None, b"", b"\n \n"])
def test_a_file_with_nothing_in_it_is_no_plan(content: bytes | None) -> None:
    assert plan_text(plan_ask(None, planFilePath="/h/p.md"), {}, lambda path, at_most: content) is None


# ---------------------------------------------------------------- choices


def test_what_is_offered_for_a_plan() -> None:
    choices = plan_choices(plan_ask(), PlanContext(cli_version="2.1.325", context_used=37.6))
    assert {choice.id: choice.label for choice in choices} == {
        "fresh": "Yes, clear context (38 % used) and auto-accept edits",
        "accept-edits": "Yes, auto-accept edits",
        "ask-edits": "Yes, manually approve edits",
        "compact": "Yes, auto-accept edits, then compact (38 % used)",
        "edit": "Yes, with changes of mine to the plan",
        "revise": "No, keep planning: say what to change",
        "outline": "Pause, and outline the plan step by step",
        "reject": "No, reject the plan",
    }


def test_bypass_is_offered_where_it_was_launched_for() -> None:
    labels = {choice.id: choice.label for choice in plan_choices(plan_ask(), BYPASS)}
    assert labels["fresh-bypass"] == "Yes, clear context and bypass permissions"
    assert labels["bypass"] == "Yes, and bypass permissions"
    assert list(labels).index("accept-edits") < list(labels).index("bypass")


def test_two_choices_without_a_plan_and_for_entering() -> None:
    assert [choice.label for choice in plan_choices(plan_ask(None), BYPASS)] == ["Yes", "No"]
    assert [choice.label for choice in plan_choices(enter_ask(), NEW)] == [
        "Yes, enter plan mode",
        "No, start implementing now",
    ]


@pytest.mark.parametrize("context", [NEW, OLD, BYPASS, PlanContext()])
@pytest.mark.parametrize("ask", [plan_ask(), plan_ask(None), enter_ask()])
def test_everything_that_is_offered_is_accepted(ask: Ask, context: PlanContext) -> None:
    for choice in plan_choices(ask, context):
        assert resolve(choice.filled_in("Something else."), ask, context)


def test_every_mode_has_a_label() -> None:
    assert "denied" in MODE_LABELS["dontAsk"]
    assert set(MODE_LABELS) >= {"plan", "default", "acceptEdits", "bypassPermissions", "dontAsk", "auto"}


# ---------------------------------------------------------------- cooldown


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_each_outline_waits_longer_up_to_the_longest() -> None:
    clock = Clock()
    cooldown = OutlineCooldown(clock)
    waits = []
    for _ in range(6):
        cooldown.outlined()
        waits.append(cooldown.remaining)
        clock.now += 1000
        assert cooldown.intercept() is None
    assert waits == [30, 60, 90, 120, 120, 120]


def test_a_plan_that_comes_too_soon_is_sent_back_and_the_wait_begins_anew() -> None:
    clock = Clock()
    cooldown = OutlineCooldown(clock)
    assert cooldown.intercept() is None
    cooldown.outlined()
    clock.now += 20
    denial = cooldown.intercept()
    assert denial is not None
    assert "30 seconds" in denial.message
    clock.now += 20
    assert cooldown.intercept() is not None
    clock.now += 30
    assert cooldown.intercept() is None


def test_an_explicit_answer_starts_over() -> None:
    clock = Clock()
    cooldown = OutlineCooldown(clock)
    for _ in range(3):
        cooldown.outlined()
    cooldown.answered()
    assert cooldown.remaining == 0
    assert cooldown.intercept() is None
    cooldown.outlined()
    assert cooldown.remaining == 30


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("wait"), st.integers(0, 200)),
        st.tuples(st.sampled_from(["outlined", "intercept", "answered"]), st.just(0)),
    ),
    max_size=30,
)


@pytest.mark.slow
@settings(max_examples=200)
@given(steps=STEPS)
def test_the_cooldown_follows_its_rules(steps: list[tuple[str, int]]) -> None:
    clock = Clock()
    cooldown = OutlineCooldown(clock)
    outlines, until = 0, clock.now
    for name, seconds in steps:
        if name == "wait":
            clock.now += seconds
        elif name == "answered":
            cooldown.answered()
            outlines, until = 0, clock.now
        elif name == "outlined":
            cooldown.outlined()
            outlines += 1
            until = clock.now + min(30 * outlines, 120)
        elif cooldown.intercept() is None:
            assert clock.now >= until
        else:
            assert clock.now < until
            until = clock.now + min(30 * outlines, 120)
        assert cooldown.remaining == max(0, until - clock.now) <= 120

"""Answers to asks whose process has ended: what Claude is told, and which one call may pass."""

from __future__ import annotations

import re
from typing import Any

import msgspec
import pytest

from handrail.policy.answers.plan import ApprovePlan, RejectPlan, RevisePlan
from handrail.protocol.asks import Allow, Answers, Ask, Deny, ask_from
from handrail.sessions.asks import Actor, AnyAnswer
from handrail.sessions.once import OnceGrant, message_about

ALICE = Actor("alice", "terminal")


def ask(tool: str = "Bash", **given: Any) -> Ask:
    return ask_from("r1", {"subtype": "can_use_tool", "tool_name": tool, "input": given})


def test_only_the_same_call_passes() -> None:
    grant = OnceGrant.for_answer(ask(command="ls"), Allow(), ALICE)
    assert grant is not None
    assert grant.actor == Actor("alice", "terminal", granted_by="r1")
    assert grant.fits(ask(command="ls"))
    assert not grant.fits(msgspec.structs.replace(ask(command="ls"), cwd="/elsewhere"))
    assert not grant.fits(ask(command="ls "))
    assert not grant.fits(ask(command="ls", timeout=5))
    assert not grant.fits(ask("Read", command="ls"))
    assert not grant.fits(msgspec.structs.replace(ask(command="ls"), kind="budget"))


def test_what_was_allowed_with_a_change_is_the_changed_call() -> None:
    grant = OnceGrant.for_answer(ask(command="rm -r /"), Allow({"command": "ls"}), ALICE)
    assert grant is not None
    assert grant.fits(ask(command="ls"))
    assert not grant.fits(ask(command="rm -r /"))


def test_a_change_to_nothing_is_a_change() -> None:
    grant = OnceGrant.for_answer(ask(command="rm -r /"), Allow({}), ALICE)
    assert grant is not None
    assert not grant.fits(ask(command="rm -r /"))


@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        (ask(command="ls"), Deny("no")),
        (ask("ExitPlanMode", plan="x"), ApprovePlan()),
        (ask("ExitPlanMode", plan="x"), Allow()),
        (ask("AskUserQuestion", questions=[]), Answers({})),
    ],
)
def test_nothing_else_amounts_to_a_grant(asked: Ask, answer: AnyAnswer) -> None:
    assert OnceGrant.for_answer(asked, answer, ALICE) is None


@pytest.mark.parametrize(
    ("asked", "answer", "said"),
    [
        (ask(command="ls"), Allow(), "about Bash, .*allows exactly that call, once"),
        (ask(command="ls"), Deny("use make"), "said no. use make$"),
        (ask(command="ls"), Deny(""), "said no.$"),
        (ask("AskUserQuestion", questions=[]), Answers({"Which?": "a", "Why?": ["b"]}), r"answered:\n- Which\?: a\n"),
        (ask("ExitPlanMode", plan="x"), RevisePlan("shorter"), "wants the plan changed: shorter$"),
        (ask("ExitPlanMode", plan="x"), RejectPlan("never"), "said no. never$"),
        (ask("ExitPlanMode", plan="x"), ApprovePlan(), "agrees. Ask once more"),
    ],
)
def test_claude_is_told_the_answer(asked: Ask, answer: AnyAnswer, said: str) -> None:
    assert re.search(said, message_about(asked, answer))


def test_a_call_that_was_changed_is_told_as_it_was_allowed() -> None:
    assert '{"command":"ls"}' in message_about(ask(command="rm"), Allow({"command": "ls"}))


def test_several_choices_are_told_in_words() -> None:
    said = message_about(ask("AskUserQuestion", questions=[]), Answers({"Which?": ["a", "b"]}, response="as you like"))
    assert said.endswith("- Which?: a, b\nas you like")


def test_what_is_always_allowed_is_allowed_with_the_call() -> None:
    rules = [{"type": "addRules", "rules": [{"toolName": "Bash", "ruleContent": "ls"}], "behavior": "allow"}]
    grant = OnceGrant.for_answer(ask(command="rm -r /"), Allow({"command": "ls"}, rules), ALICE)
    assert grant is not None
    assert grant.answer == Allow(updated_permissions=rules)


@pytest.mark.parametrize(("answer", "ends"), [(Allow(), "unchanged"), (Allow({"command": "pwd"}), '{"command":"pwd"}')])
def test_claude_looks_first_if_it_may_have_been_answered_before(answer: Allow, ends: str) -> None:
    told = message_about(ask(command="ls"), answer, in_doubt=True)
    assert "may have reached you or not" in told
    assert "look first. If it was not, make it again" in told
    assert ends in told
    assert "look first" not in message_about(ask(command="ls"), answer)

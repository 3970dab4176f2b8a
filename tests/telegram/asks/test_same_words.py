"""What a chat says about answers is what the page says, and who may give them is what the hub checks."""

from __future__ import annotations

from typing import Any

import pytest

from handrail.policy.answers.encoding import ANSWER_TYPES, encode_answer
from handrail.policy.answers.plan import ApproveInFreshContext, ApprovePlan, OutlinePlan, RejectPlan, RevisePlan
from handrail.policy.describing.outcomes import ANSWERS
from handrail.protocol.asks import Allow, Answers, Deny, DialogResult, Elicited
from handrail.server.api.asks import role_for as hub_role_for
from handrail.server.roles import ROLES
from handrail.server.showing import closed as on_page
from handrail.telegram.asks.closing import changes, verdict
from handrail.telegram.asks.toasts import role_for
from handrail.telegram.model import RANKS

from .support import item

ADDED = {"type": "addRules", "rules": [{"toolName": "X"}], "behavior": "allow", "destination": "session"}
GIVEN: list[Any] = [
    Allow(),
    Allow(updated_input={}),
    Allow(updated_permissions=[ADDED, {**ADDED, "type": "replaceRules"}, {**ADDED, "type": "removeRules"}]),
    Allow(updated_permissions=[{"type": "setMode", "mode": "plan", "destination": "session"}, {"odd": 1}]),
    Deny("no"),
    Deny("no", interrupt=True),
    Answers({"a?": "b"}),
    Answers({}, partial=True),
    Answers({}, response="x"),
    Elicited("accept", {}),
    Elicited("decline"),
    Elicited("cancel"),
    DialogResult(1),
    DialogResult(behavior="cancelled"),
    ApprovePlan(),
    ApprovePlan("bypassPermissions"),
    ApprovePlan("default", plan="x", rules=["Bash(x)"], compact=True),
    ApprovePlan(allow_prompts=True),
    ApproveInFreshContext("acceptEdits", allow_prompts=[0, 1]),
    RevisePlan("x"),
    OutlinePlan(),
    RejectPlan(interrupt=True),
]


@pytest.mark.parametrize("answer", GIVEN, ids=repr)
@pytest.mark.parametrize("outcome", ["decided", "unsent", "resumed", "cancelled", "expired", "lost"])
@pytest.mark.parametrize("granted_by", ["", "another"])
def test_the_words_are_those_of_the_page(answer: Any, outcome: str, granted_by: str) -> None:
    shown = item()
    shown.outcome, shown.answer, shown.by, shown.surface = outcome, encode_answer(answer), "Bea", "web"
    shown.granted_by = granted_by
    page = on_page(outcome, answer=shown.answer, by="Bea", surface="web", granted=bool(granted_by))
    assert verdict(shown) == page["words"]
    assert list(changes(shown)) == page["changes"]


@pytest.mark.parametrize("answer", GIVEN, ids=repr)
def test_the_role_is_that_of_the_hub(answer: Any) -> None:
    assert role_for(answer) == hub_role_for(answer)


def test_every_answer_has_a_word() -> None:
    assert set(ANSWERS) | {"elicited"} == set(ANSWER_TYPES)


def test_roles_are_ranked_as_the_hub_does() -> None:
    assert tuple(ROLES) == RANKS

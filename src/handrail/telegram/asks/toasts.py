"""What a press is answered with at once, before anything is done about it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from handrail.errors import UnfitAnswer
from handrail.policy.answers.encoding import decode_answer
from handrail.policy.answers.plan import ApproveInFreshContext, ApprovePlan
from handrail.protocol.asks import Allow
from handrail.sessions.asks import AnyAnswer
from handrail.telegram.asks.showing import CHANGED
from handrail.telegram.asks.wanting import Known
from handrail.telegram.asks.words import sentence
from handrail.telegram.model import Press, Role, User, is_at_least

__all__ = ["Toast", "needs_more_than", "role_for", "role_of_press", "toast_for"]

LONGEST_TOAST = 190
"""Telegram takes 200 characters."""
OWNERS_ONLY = ("input", "plan", "limit")
"""Purposes of prompts whose answers only an owner may give."""
_SAID: Mapping[str, str] = {
    "allow": "Approved",
    "deny": "Denied",
    "answers": "Answers sent",
    "approve_plan": "Plan approved",
    "approve_in_fresh_context": "Plan approved, in a fresh context",
    "outline_plan": "Outlining plan…",
    "reject_plan": "Plan rejected",
    "enter_plan": "Entering plan mode…",
    "implement_now": "Going on without a plan",
}
_ELICITED: Mapping[str, str] = {"accept": "Sent", "decline": "Declined", "cancel": "Cancelled"}


class Toast(msgspec.Struct, frozen=True):
    """Words for a moment, or, as an alert, until the person has read them. `goes_on`: the press is carried out now."""

    text: str = ""
    alert: bool = False
    goes_on: bool = True


def toast_for(press: Press, user: User, known: Known | None) -> Toast:
    """What to say, from what is known here."""
    if known is None:
        return _refused("This ask is not known here any more.")
    if known.is_over:
        return _refused(sentence(known.words))
    if known.digest != press.digest:
        return _refused(CHANGED)
    if known.resumes and press.action == "ask:decide" and not press.data.get("resume"):
        return _refused(sentence(known.words))
    if problem := needs_more_than(user, role_of_press(press)):
        return _refused(problem)
    return Toast(_said(press))


def _refused(words: str) -> Toast:
    cut = words if len(words) <= LONGEST_TOAST else words[: LONGEST_TOAST - 1] + "…"
    return Toast(cut, alert=True, goes_on=False)


def needs_more_than(user: User, needed: Role) -> str:
    """Why somebody may not do this; empty if they may."""
    if is_at_least(user.role, needed):
        return ""
    return f"Only {_a(needed)}{' or an owner' if needed != 'owner' else ''} may do this. You are {_a(user.role)}."


def _a(role: Role) -> str:
    return f"an {role}" if role[0] in "ao" else f"a {role}"


def role_of_press(press: Press) -> Role:
    """The least role that may press this."""
    if press.action == "ask:show":
        return "viewer"
    if press.action == "ask:prompt":
        return "owner" if press.data.get("purpose") in OWNERS_ONLY else "approver"
    if press.action == "ask:decide":
        try:
            return role_for(decode_answer(press.data.get("answer")))
        except UnfitAnswer:
            return "owner"
    return "approver"


def role_for(answer: AnyAnswer) -> Role:
    """The least role that may answer so, as the hub sees it: what goes beyond what was asked needs an owner."""
    match answer:
        case Allow(updated_input=changed, updated_permissions=rules):
            return "owner" if changed is not None or rules else "approver"
        case ApprovePlan() | ApproveInFreshContext():
            beyond = answer.plan is not None or answer.allow_prompts or answer.rules
            return "owner" if beyond or answer.mode == "bypassPermissions" else "approver"
    return "approver"


# ---------------------------------------------------------------- words


def _said(press: Press) -> str:
    if press.action != "ask:decide":
        return ""
    answer = press.data.get("answer")
    words = _answered(answer) if isinstance(answer, Mapping) else ""
    return f"{words}; resuming…" if press.data.get("resume") else words


def _answered(answer: Mapping[str, Any]) -> str:
    kind = str(answer.get("type"))
    if kind == "allow" and answer.get("updated_permissions"):
        return "Approved, and the rule added"
    if kind == "allow" and answer.get("updated_input") is not None:
        return "Approved with your changes"
    if kind == "deny" and answer.get("interrupt"):
        return "Denied, and the turn ends"
    if kind == "answers" and not answer.get("answers"):
        return "Skipped"
    if kind == "elicited":
        return _ELICITED.get(str(answer.get("action")), "Sent")
    if kind == "dialog_result":
        return "Closed" if answer.get("behavior") == "cancelled" else "Sent"
    return _SAID.get(kind, "Sent")

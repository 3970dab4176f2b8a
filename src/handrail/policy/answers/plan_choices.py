"""What a surface offers for a plan: the answers in order, and words for the permission modes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec

from handrail.policy.answers.plan import (
    ApproveInFreshContext,
    ApprovePlan,
    EnterPlan,
    ImplementNow,
    OutlinePlan,
    PlanAnswer,
    PlanContext,
    PlanMode,
    RejectPlan,
    RevisePlan,
    takes_edited_plans,
)
from handrail.protocol.asks import Ask

__all__ = ["MODE_LABELS", "PlanChoice", "plan_choices"]

MODE_LABELS: Mapping[str, str] = {
    "plan": "Plan — agent presents a plan before executing",
    "default": "Approve — each tool requires your approval",
    "acceptEdits": "Edit Only — file edits auto-approved, bash needs approval",
    "bypassPermissions": "Auto — all tools auto-approved",
    "dontAsk": "Deny — what is not allowed beforehand is denied, nothing is asked",
    "auto": "Classify — a classifier decides instead of asking",
}


class PlanChoice(msgspec.Struct, frozen=True):
    """One thing to choose. `needs` names the field of `answer` that the person has yet to fill in."""

    id: str
    label: str
    answer: PlanAnswer
    needs: Literal["plan", "feedback"] | None = None

    def filled_in(self, text: str) -> PlanAnswer:
        """The answer with what the person wrote."""
        return self.answer if self.needs is None else msgspec.structs.replace(self.answer, **{self.needs: text})


def plan_choices(ask: Ask, context: PlanContext) -> tuple[PlanChoice, ...]:
    """What can be answered to `ask`, in the order in which it is offered."""
    if ask.kind == "enter_plan":
        return (
            PlanChoice("enter", "Yes, enter plan mode", EnterPlan()),
            PlanChoice("implement", "No, start implementing now", ImplementNow()),
        )
    if not ask.plan:
        return (PlanChoice("yes", "Yes", ApprovePlan("default")), PlanChoice("no", "No", RejectPlan()))
    return (*_approvals(context), *_objections())


def _approvals(context: PlanContext) -> list[PlanChoice]:
    clear = f"Yes, clear context{_used(context)}"
    choices = [PlanChoice("fresh", f"{clear} and auto-accept edits", ApproveInFreshContext("acceptEdits"))]
    bypass: PlanMode = "bypassPermissions"
    if context.bypass_available:
        choices.append(PlanChoice("fresh-bypass", f"{clear} and bypass permissions", ApproveInFreshContext(bypass)))
    choices.append(PlanChoice("accept-edits", "Yes, auto-accept edits", ApprovePlan("acceptEdits")))
    if context.bypass_available:
        choices.append(PlanChoice("bypass", "Yes, and bypass permissions", ApprovePlan(bypass)))
    choices.append(PlanChoice("ask-edits", "Yes, manually approve edits", ApprovePlan("default")))
    choices.append(
        PlanChoice("compact", f"Yes, auto-accept edits, then compact{_used(context)}", ApprovePlan(compact=True))
    )
    choices.append(_edit_choice(context))
    return choices


def _edit_choice(context: PlanContext) -> PlanChoice:
    if takes_edited_plans(context.cli_version):
        return PlanChoice("edit", "Yes, with changes of mine to the plan", ApprovePlan("acceptEdits"), "plan")
    label = f"Yes, with changes of mine to the plan, and clear context{_used(context)}"
    return PlanChoice("edit", label, ApproveInFreshContext("acceptEdits"), "plan")


def _objections() -> list[PlanChoice]:
    return [
        PlanChoice("revise", "No, keep planning: say what to change", RevisePlan(""), "feedback"),
        PlanChoice("outline", "Pause, and outline the plan step by step", OutlinePlan()),
        PlanChoice("reject", "No, reject the plan", RejectPlan()),
    ]


def _used(context: PlanContext) -> str:
    return "" if context.context_used is None else f" ({context.context_used:.0f} % used)"

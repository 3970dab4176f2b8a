"""Entering plan mode on CLIs that do not ask about it: shown as an ask, and taken back with one answer."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from handrail.errors import UnfitAnswer
from handrail.policy.answers.plan import EnterPlan, ImplementNow
from handrail.protocol.asks import Allow, Ask, Deny, Failed
from handrail.sessions.asks import ActionParcel, AnyAnswer, Parcel

__all__ = ["PlanModeEntered", "entered_plan_mode"]

MESSAGE = "Claude has entered plan mode: it looks around and proposes a plan before it changes anything."


def entered_plan_mode(tool_use_id: str) -> Ask:
    """The ask about a change that has happened already."""
    return Ask(
        id=f"entered-plan-mode-{tool_use_id}",
        kind="enter_plan",
        request={},
        tool_name="EnterPlanMode",
        tool_use_id=tool_use_id,
        message=MESSAGE,
    )


class PlanModeEntered(msgspec.Struct, frozen=True):
    """Takes the answer: to stay costs nothing, and so does not to answer; `leave` takes the change back."""

    leave: Callable[[], None]

    def prepare(self, ask: Ask, answer: AnyAnswer) -> Parcel:
        match answer:
            case EnterPlan() | Allow() | Failed():
                return ActionParcel(lambda decision: None)
            case ImplementNow() | Deny():
                return ActionParcel(lambda decision: self.leave())
        raise UnfitAnswer(f"{type(answer).__name__} does not answer this: use EnterPlan or ImplementNow")

    def unanswered(self, ask: Ask, seconds: float) -> None:
        """Claude goes on planning."""

    def look_again(self, ask: Ask) -> Ask:
        return ask

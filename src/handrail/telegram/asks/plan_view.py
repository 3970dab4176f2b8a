"""What may be answered to a plan, as buttons: every choice that there is, and leave for what it asks beforehand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from handrail.policy.answers.plan import ApproveInFreshContext, ApprovePlan, PlanAnswer, RejectPlan
from handrail.policy.answers.plan_choices import PlanChoice, plan_choices
from handrail.policy.answers.plan_rules import AllowedPrompt, proposed_rules
from handrail.protocol.asks import Ask, Deny
from handrail.telegram.asks.deck import Deck
from handrail.telegram.asks.fitting import stacked
from handrail.telegram.asks.offers import OWNERS, STOPPED, Offer
from handrail.telegram.asks.reading import Asked
from handrail.telegram.asks.words import line
from handrail.telegram.model import Button, ButtonStyle, Role, is_at_least
from handrail.telegram.text.rich import RichText, bold, code, plain

__all__ = ["PlanDraft", "leaves_shown", "offer_plan", "pressed"]

LABELS = {"outline": "Pause & Outline Plan"}
"""Where a button says it in its own words."""
REVISE = "Reply to this message to say what should change: Claude plans on."
STYLES: Mapping[str, ButtonStyle] = {
    "accept-edits": "success",
    "yes": "success",
    "enter": "success",
    "reject": "danger",
    "no": "danger",
}
"""The usual answers stand out."""
NO_COMMAND = "(it names no command: you are asked when it comes)"
EDITS_BY_REPLY = {"plan": "plan", "feedback": "revise"}


class PlanDraft(msgspec.Struct, frozen=True, omit_defaults=True):
    """What was chosen before the plan is answered: the leaves that are given, and what is to be confirmed."""

    digest: str
    leaves: tuple[int, ...] = ()
    confirming: str = ""


def pressed(draft: PlanDraft, do: str, number: int, choice: str = "") -> PlanDraft:
    """What a button does: give a `leave` or take it back, ask to `confirm` a choice, or go `back`."""
    if do in ("leave", "unleave"):
        others = {*draft.leaves} - {number}
        return msgspec.structs.replace(draft, leaves=tuple(sorted(others | {number} if do == "leave" else others)))
    if do == "confirm":
        return msgspec.structs.replace(draft, confirming=choice)
    return msgspec.structs.replace(draft, confirming="")


def leaves_shown(ask: Ask) -> list[RichText]:
    """What the plan asks leave for beforehand, with the rules that would stand for it."""
    prompts = proposed_rules(ask)
    if not prompts:
        return []
    rows = [bold("The plan asks leave beforehand for:")]
    for number, prompt in enumerate(prompts, start=1):
        asked = plain(f"{number}. {line(f'{prompt.tool}: {prompt.prompt}')}  ")
        rows.append(asked + (code(line(", ".join(prompt.rules))) if prompt.rules else plain(NO_COMMAND)))
    return [stacked(rows)]


def offer_plan(asked: Asked, ask: Ask, draft: PlanDraft, deck: Deck, role: Role) -> Offer:
    """The buttons: in the order of the choices, which is that of every surface."""
    offered = [choice for choice in plan_choices(ask, asked.plan) if _may_choose(choice, role)]
    confirming = next((choice for choice in offered if choice.id == draft.confirming), None)
    if confirming is not None:
        deck.row(
            deck.decide(
                f"Really: {confirming.label}",
                _with_leaves(confirming.answer, draft),
                style="danger",
                resume=asked.resumes,
            )
        )
        deck.row(deck.step("Back", "back"))
        return Offer((f"{confirming.label}: nothing is asked any more. Are you sure?",))
    prompts = proposed_rules(ask)
    _offer_leaves(prompts, draft, deck, role)
    for choice in offered:
        deck.row(_choice_button(asked, choice, draft, deck), *_with_reason(choice, deck))
    stop = [deck.decide("Deny and stop", Deny(STOPPED, interrupt=True), resume=asked.resumes)]
    deck.row(*(stop if ask.kind == "plan" else []), deck.show("Show all"))
    return Offer(tuple(_notes(asked, prompts, offered, role)), "revise" if _has(offered, "revise") else "")


def _may_choose(choice: PlanChoice, role: Role) -> bool:
    return is_at_least(role, "owner") or not (_is_bypass(choice.answer) or choice.needs == "plan")


def _is_bypass(answer: PlanAnswer) -> bool:
    return isinstance(answer, ApprovePlan | ApproveInFreshContext) and answer.mode == "bypassPermissions"


def _offer_leaves(prompts: Sequence[AllowedPrompt], draft: PlanDraft, deck: Deck, role: Role) -> None:
    """Only an owner adds rules; what names no command cannot become one."""
    for position, prompt in enumerate(prompts):
        if prompt.rules and is_at_least(role, "owner"):
            is_given = position in draft.leaves
            words = f"{'☑' if is_given else '☐'} allow too: {', '.join(prompt.rules)}"
            deck.row(deck.step(words, "unleave" if is_given else "leave", position), is_one_of_many=True)


def _choice_button(asked: Asked, choice: PlanChoice, draft: PlanDraft, deck: Deck) -> Button:
    label = LABELS.get(choice.id, choice.label)
    if choice.needs is not None:
        return deck.prompt(f"{label}…", EDITS_BY_REPLY[choice.needs])
    if _is_bypass(choice.answer):
        return deck.confirm(label, choice.id)
    answer = _with_leaves(choice.answer, draft)
    return deck.decide(label, answer, style=STYLES.get(choice.id, ""), resume=asked.resumes)


def _with_reason(choice: PlanChoice, deck: Deck) -> list[Button]:
    return [deck.prompt("Reject and say why…", "reject")] if isinstance(choice.answer, RejectPlan) else []


def _with_leaves(answer: PlanAnswer, draft: PlanDraft) -> PlanAnswer:
    if draft.leaves and isinstance(answer, ApprovePlan | ApproveInFreshContext):
        return msgspec.structs.replace(answer, allow_prompts=list(draft.leaves))
    return answer


def _has(offered: Sequence[PlanChoice], name: str) -> bool:
    return any(choice.id == name for choice in offered)


def _notes(asked: Asked, prompts: Sequence[AllowedPrompt], offered: Sequence[PlanChoice], role: Role) -> list[str]:
    notes = [REVISE] if _has(offered, "revise") else []
    if not is_at_least(role, "owner") and (prompts or asked.plan.bypass_available):
        notes.append(OWNERS)
    return notes

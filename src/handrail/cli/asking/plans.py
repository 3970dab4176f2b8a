"""Answering a plan at the terminal: every answer that there is to one, with a key for each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
from rich.console import Group, RenderableType
from rich.text import Text

from handrail.cli.asking.ask_view import Asking, ask_panel
from handrail.cli.asking.menu import Choice
from handrail.cli.asking.sheet import Sheet
from handrail.cli.showing.layout import Hanging
from handrail.cli.showing.style import DONE, FAILED, NEEDS_YOU, QUIET, exact
from handrail.policy.answers.plan import ApproveInFreshContext, ApprovePlan, ImplementNow, PlanAnswer, RejectPlan
from handrail.policy.answers.plan_choices import PlanChoice, plan_choices
from handrail.policy.answers.plan_rules import AllowedPrompt, proposed_rules
from handrail.protocol.asks import Ask

__all__ = ["answer_plan"]

PLAN_KEYS: Mapping[str, tuple[str, str]] = {
    "accept-edits": ("a", "Claude carries out the plan; edits of files in the project are not asked"),
    "ask-edits": ("y", "Claude carries out the plan and asks before each edit and command"),
    "bypass": ("B", "Claude carries out the plan, and NOTHING is asked any more"),
    "fresh": ("f", "a new conversation carries out the plan and knows nothing else"),
    "fresh-bypass": ("F", "a new conversation carries out the plan, and NOTHING is asked there"),
    "compact": ("c", "Claude carries out the plan; what was said so far is summed up to make room"),
    "edit": ("e", "change the plan in your editor, look at it again, then decide"),
    "revise": ("n", "you say what to change, and Claude plans on"),
    "outline": ("o", "Claude writes the plan out step by step, and you decide then"),
    "reject": ("r", "the plan is not carried out; Claude is told so and goes on"),
    "yes": ("y", "Claude leaves plan mode and asks before each edit and command"),
    "no": ("n", "Claude stays in plan mode"),
    "enter": ("y", "Claude looks around and proposes a plan before it changes anything"),
    "implement": ("n", "Claude goes on without a plan"),
}
"""The key for each answer to a plan, and what it does. What lets everything through needs the shift key."""

FIRST = "shift-tab"
"""Takes the first answer, whichever it is."""
EDITOR = "ctrl-g"

APPROVE_EDITED = Choice(
    "y", "approve this and accept edits", "Claude carries out the plan as you changed it; edits of files are not asked"
)
BACK = Choice("n", "back", "the plan as Claude wrote it is shown again")
RULES = Choice("y", "allow these too", "for this session: what they cover is not asked")
NO_RULES = Choice("n", "ask for each", "they are asked like any other command")


async def answer_plan(sheet: Sheet, ask: Ask, asking: Asking, *, stop: Choice) -> PlanAnswer | None:
    """What the person answers to a plan, or to entering plan mode; None for `stop`."""
    offered = plan_choices(ask, asking.plan)
    while True:
        sheet.show(ask_panel(ask, asking), beside=len(offered) + 2)
        key = await sheet.choose(*_menu(offered), stop)
        if key == stop.key:
            return None
        choice = next(choice for choice in offered if PLAN_KEYS[choice.id][0] == key)
        answer = await _answer(sheet, ask, asking, choice)
        if answer is not None:
            return answer


def _menu(offered: Sequence[PlanChoice]) -> list[Choice]:
    return [
        Choice(*_key_and_words(choice), long=len(offered) > 2, also=_also(choice, first=number == 0))
        for number, choice in enumerate(offered)
    ]


def _key_and_words(choice: PlanChoice) -> tuple[str, str, str]:
    key, effect = PLAN_KEYS[choice.id]
    return key, choice.label, effect


def _also(choice: PlanChoice, *, first: bool) -> tuple[str, ...]:
    return ((FIRST,) if first else ()) + ((EDITOR,) if choice.needs == "plan" else ())


async def _answer(sheet: Sheet, ask: Ask, asking: Asking, choice: PlanChoice) -> PlanAnswer | None:
    """The answer that a choice makes; None to choose again."""
    if choice.needs == "plan":
        return await _edited(sheet, ask, asking, choice)
    if choice.needs == "feedback":
        return await _revised(sheet, choice)
    answer = await _with_rules(sheet, ask, choice.answer)
    refused = isinstance(answer, RejectPlan | ImplementNow)
    if isinstance(answer, ApprovePlan | ApproveInFreshContext):
        sheet.keep()
    sheet.tell(FAILED if refused else DONE, choice.label)
    return answer


async def _revised(sheet: Sheet, choice: PlanChoice) -> PlanAnswer | None:
    feedback = await sheet.line("What should change? ")
    if not feedback:
        sheet.hint("Nothing was typed, so nothing is sent.")
        return None
    sheet.tell(NEEDS_YOU, f"not approved; Claude plans on: {feedback}")
    return choice.filled_in(feedback)


async def _edited(sheet: Sheet, ask: Ask, asking: Asking, choice: PlanChoice) -> PlanAnswer | None:
    try:
        plan = await sheet.edit(ask.plan or "", ".md")
    except OSError as error:
        sheet.hint(f"Nothing is changed: {error}.")
        return None
    if plan.strip() in ("", (ask.plan or "").strip()):
        sheet.hint("Nothing is changed.")
        return None
    shown = msgspec.structs.replace(ask, plan=plan, input={**ask.input, "plan": plan}, described=None)
    sheet.show(ask_panel(shown, msgspec.structs.replace(asking, edited=True)))
    if await sheet.choose(APPROVE_EDITED, BACK) == BACK.key:
        return None
    answer = await _with_rules(sheet, shown, choice.filled_in(plan))
    sheet.keep()
    sheet.tell(DONE, choice.label)
    return answer


async def _with_rules(sheet: Sheet, ask: Ask, answer: PlanAnswer) -> PlanAnswer:
    """What the plan asks leave for beforehand, if the person gives it: rules that can be read, for this session."""
    prompts = proposed_rules(ask)
    rules = [rule for prompt in prompts for rule in prompt.rules]
    if not rules or not isinstance(answer, ApprovePlan | ApproveInFreshContext):
        return answer
    if await sheet.choose(RULES, NO_RULES, above=_wanted(prompts)) == NO_RULES.key:
        return answer
    return msgspec.structs.replace(answer, rules=rules)


def _wanted(prompts: Sequence[AllowedPrompt]) -> RenderableType:
    lines: list[RenderableType] = [Text("The plan asks leave beforehand for:", style=QUIET)]
    for prompt in prompts:
        covered = ", ".join(prompt.rules) or "(it names no command: you are asked when it comes)"
        lines.append(Hanging(Text("  "), exact(f"{prompt.prompt}  {covered}")))
    return Group(*lines)

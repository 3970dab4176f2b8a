"""Plan review: where a plan's text comes from, what may be answered to a plan, and what each answer does.

An answer resolves into one response to the CLI and into follow-ups that the session carries out, in order, once the
response is sent:

    ApprovePlan             allow, setMode           SetMode, Compact
    ApproveInFreshContext   deny and interrupt       FreshStart
    RevisePlan              deny with the feedback   SendMessage with the images
    OutlinePlan             deny with the request    (the next plan is held for the person)
    RejectPlan              deny
    EnterPlan               allow, setMode
    ImplementNow            deny
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypeAlias

import msgspec

from handrail.errors import UnfitAnswer
from handrail.protocol import control
from handrail.protocol.asks import Allow, Ask, Deny
from handrail.protocol.blocks import Image

__all__ = [
    "ApproveInFreshContext",
    "ApprovePlan",
    "Compact",
    "EnterPlan",
    "FollowUp",
    "FreshStart",
    "ImplementNow",
    "OutlinePlan",
    "PlanAnswer",
    "PlanContext",
    "PlanMode",
    "PlanOutcome",
    "PlanText",
    "RejectPlan",
    "RevisePlan",
    "SendMessage",
    "SetMode",
    "leave_plan_mode",
    "plan_text",
    "resolve_plan_answer",
    "takes_edited_plans",
]

PlanMode: TypeAlias = Literal["acceptEdits", "default", "bypassPermissions"]
"""The modes in which a plan is carried out."""

LARGEST_PLAN_FILE = 1024 * 1024
FIRST_TO_TAKE_EDITED_PLANS = (2, 1, 120)

IMPLEMENT = "Implement the following plan:\n\n"
CONTINUE = "Continue implementing the plan from the previous conversation."

FRESH_START = "The user approved this plan and has it carried out in a new session. Stop here."
REJECTED = "The user rejected this plan. Do not carry it out."
SEE_IMAGES = "The user wants the plan changed as shown in the images that follow."
IMAGES_FOLLOW = "These images belong to my feedback on the plan."
NO_PLAN_WANTED = "The user wants no plan first: start implementing now."
OUTLINE = (
    "The user wants to read the plan before deciding on it. Do not call ExitPlanMode again yet. First write a "
    "step-by-step outline as ordinary text in your reply: each file you will create, change or delete and what "
    "changes in it; each command you will run; the order of the steps; the decisions you took, with the alternatives; "
    "how the result will be tested; what could go wrong. Then call ExitPlanMode once more, and wait for the answer."
)

# ---------------------------------------------------------------------------------------------------------------------
# Answers


class ApprovePlan(msgspec.Struct, frozen=True):
    """Carry out the plan in this conversation.

    `mode` is what holds from then on: accept edits if there is a plan, else ask for each. `plan` is the plan as the
    person edited it. `allow_prompts` gives leave for the ask's `allowedPrompts`, all or by position, with the rules
    that `proposed_rules` shows; `rules` are rules of the person's own, such as `Bash(npm test:*)`. Both hold for the
    session. With `compact` the conversation is compacted afterwards.
    """

    mode: PlanMode | None = None
    plan: str | None = None
    allow_prompts: bool | Sequence[int] = False
    rules: Sequence[str] = ()
    compact: bool = False


class ApproveInFreshContext(msgspec.Struct, frozen=True):
    """Carry out the plan in a new session that knows nothing but the plan; this one ends. Fields: see `ApprovePlan`."""

    mode: PlanMode | None = None
    plan: str | None = None
    allow_prompts: bool | Sequence[int] = False
    rules: Sequence[str] = ()


class RevisePlan(msgspec.Struct, frozen=True):
    """Keep planning: `feedback` says what to change, `images` (content blocks) show it."""

    feedback: str
    images: Sequence[Image | Mapping[str, Any]] = ()


class OutlinePlan(msgspec.Struct, frozen=True):
    """Pause: Claude is to write the plan out step by step; its next plan is then held for the person."""


class RejectPlan(msgspec.Struct, frozen=True):
    """Do not carry out the plan. Plan mode stays; with `interrupt` the turn ends too."""

    message: str = ""
    interrupt: bool = False


class EnterPlan(msgspec.Struct, frozen=True):
    """Let Claude plan first."""


class ImplementNow(msgspec.Struct, frozen=True):
    """Do not enter plan mode: Claude is to start implementing."""


PlanAnswer: TypeAlias = (
    ApprovePlan | ApproveInFreshContext | RevisePlan | OutlinePlan | RejectPlan | EnterPlan | ImplementNow
)
ENTERING = (EnterPlan, ImplementNow)

# ---------------------------------------------------------------------------------------------------------------------
# Outcomes


class SendMessage(msgspec.Struct, frozen=True):
    """Send a user message."""

    content: str | tuple[Any, ...]


class Compact(msgspec.Struct, frozen=True):
    """Compact the conversation with the command `/compact`, once the turn is over: before, it may be taken for text."""


class SetMode(msgspec.Struct, frozen=True):
    """See to it that the session is in `mode`: ask for it with `set_permission_mode` unless the CLI announced it."""

    mode: str


class FreshStart(msgspec.Struct, frozen=True, kw_only=True):
    """End this session and start its successor: with `prompt`, in `mode`, allowed what `rules` cover.

    `bypass_available` is as it was: whether the new session, too, may switch to bypassing permissions.
    """

    prompt: str
    mode: PlanMode
    rules: tuple[str, ...] = ()
    bypass_available: bool = False


FollowUp: TypeAlias = SendMessage | Compact | SetMode | FreshStart


class PlanOutcome(msgspec.Struct, frozen=True):
    """What an answer comes to: the response, what is done after it, and whether the next plan is held."""

    answer: Allow | Deny
    follow_ups: tuple[FollowUp, ...] = ()
    hold_next: bool = False


class PlanContext(msgspec.Struct, frozen=True, kw_only=True):
    """What an answer to a plan depends on, besides the ask."""

    cli_version: str | None = None
    bypass_available: bool = False
    """Whether the session was launched so that it may bypass permissions."""
    previous_mode: str = "default"
    """The mode before plan mode."""
    context_used: float | None = None
    """How much of the model's context is used, in percent."""


def resolve_plan_answer(ask: Ask, answer: PlanAnswer, context: PlanContext) -> PlanOutcome:
    """What `answer` comes to. Raises `UnfitAnswer` with what would fit."""
    _check_kind(ask, answer)
    match answer:
        case ApprovePlan():
            return _approve(ask, answer, context)
        case ApproveInFreshContext():
            return _start_afresh(ask, answer, context)
        case RevisePlan(feedback=feedback, images=images):
            return _revise(feedback, images)
        case OutlinePlan():
            return PlanOutcome(Deny(OUTLINE), hold_next=True)
        case RejectPlan(message=message, interrupt=interrupt):
            return PlanOutcome(Deny(message.strip() or REJECTED, interrupt=interrupt))
        case EnterPlan():
            return PlanOutcome(Allow(updated_permissions=(_set_mode("plan"),)), (SetMode("plan"),))
        case ImplementNow():
            return PlanOutcome(Deny(NO_PLAN_WANTED))


def leave_plan_mode(context: PlanContext) -> tuple[FollowUp, ...]:
    """What takes back that Claude entered plan mode, for CLIs that enter it without asking."""
    return (SetMode(context.previous_mode), SendMessage(NO_PLAN_WANTED))


def _check_kind(ask: Ask, answer: PlanAnswer) -> None:
    fitting = {"plan": not isinstance(answer, ENTERING), "enter_plan": isinstance(answer, ENTERING)}
    if not fitting.get(ask.kind, False):
        raise UnfitAnswer(f"{type(answer).__name__} does not answer a {ask.kind} ask")


def _approve(ask: Ask, answer: ApprovePlan, context: PlanContext) -> PlanOutcome:
    mode = _chosen_mode(ask, answer.mode, context)
    from handrail.policy.answers.plan_rules import session_rules

    rules = _chosen_rules(ask, answer)
    updates = [_set_mode(mode), *([msgspec.to_builtins(session_rules(rules))] if rules else [])]
    allow = Allow(updated_input=_edited_input(ask, answer.plan, context), updated_permissions=tuple(updates))
    return PlanOutcome(allow, (SetMode(mode), *([Compact()] if answer.compact else [])))


def _start_afresh(ask: Ask, answer: ApproveInFreshContext, context: PlanContext) -> PlanOutcome:
    plan = _edited(ask, answer.plan) or ask.plan
    start = FreshStart(
        prompt=IMPLEMENT + plan if plan else CONTINUE,
        mode=_chosen_mode(ask, answer.mode, context),
        rules=_chosen_rules(ask, answer),
        bypass_available=context.bypass_available,
    )
    return PlanOutcome(Deny(FRESH_START, interrupt=True), (start,))


def _chosen_rules(ask: Ask, answer: ApprovePlan | ApproveInFreshContext) -> tuple[str, ...]:
    from handrail.policy.answers.plan_rules import chosen_rules  # costs nothing until a plan is approved

    return chosen_rules(ask, answer.allow_prompts, answer.rules)


def _revise(feedback: str, images: Sequence[Image | Mapping[str, Any]]) -> PlanOutcome:
    if not feedback.strip() and not images:
        raise UnfitAnswer("the feedback is empty: say what to change, or use RejectPlan")
    # A denial carries text only, so the images come as a message of their own.
    shown = (SendMessage(({"type": "text", "text": IMAGES_FOLLOW}, *map(_image_block, images))),) if images else ()
    return PlanOutcome(Deny(feedback if feedback.strip() else SEE_IMAGES), shown)


def _chosen_mode(ask: Ask, mode: PlanMode | None, context: PlanContext) -> PlanMode:
    if mode is None:
        return "acceptEdits" if ask.plan else "default"
    if not ask.plan and mode != "default":
        raise UnfitAnswer(
            f"there is no plan to approve in the mode {mode}: approve it in the mode default, or reject it"
        )
    if mode == "bypassPermissions" and not context.bypass_available:
        raise UnfitAnswer(
            "this session was not launched so that it may bypass permissions: approve in another mode, or launch with "
            "Options(allow_dangerously_skip_permissions=True)"
        )
    return mode


def _edited_input(ask: Ask, plan: str | None, context: PlanContext) -> Mapping[str, Any] | None:
    """The call's input with the edited plan; None if nothing was edited."""
    edited = _edited(ask, plan)
    if edited is None:
        return None
    if not takes_edited_plans(context.cli_version):
        # It would tell Claude that the plan was approved as it stood, and Claude would carry out the wrong one.
        raise UnfitAnswer(
            f"Claude Code {context.cli_version or '(version unknown)'} ignores an edited plan: approve the edited plan "
            "with ApproveInFreshContext, or send it back with RevisePlan"
        )
    return {**ask.input, "plan": edited}


def _edited(ask: Ask, plan: str | None) -> str | None:
    """The plan as it was edited; None if it was not."""
    if plan is None or plan == ask.plan:
        return None
    if not plan.strip():
        raise UnfitAnswer("the edited plan is empty: use RejectPlan if nothing should be done")
    if not ask.plan:
        raise UnfitAnswer("there is no plan to edit: say what is wanted with RevisePlan")
    return plan


def takes_edited_plans(cli_version: str | None) -> bool:
    """Whether this CLI carries out a plan as it was edited; older ones go by the plan as it was."""
    numbers = re.match(r"(\d+)\.(\d+)\.(\d+)", cli_version or "")
    return numbers is not None and tuple(map(int, numbers.groups())) >= FIRST_TO_TAKE_EDITED_PLANS


def _set_mode(mode: str) -> dict[str, Any]:
    # In the answer itself: sent afterwards, it would come too late for the first edit.
    update: dict[str, Any] = msgspec.to_builtins(control.SetMode(mode=mode, destination="session"))
    return update


def _image_block(image: Image | Mapping[str, Any]) -> dict[str, Any]:
    block: dict[str, Any] = msgspec.to_builtins(image)
    if block.get("type") != "image":
        raise UnfitAnswer(f"images are content blocks of the type image, not {block.get('type')!r}")
    return block


# ---------------------------------------------------------------------------------------------------------------------
# The plan's text


class PlanText(msgspec.Struct, frozen=True):
    """A plan, and where it was found: in the request, in Claude's tool call, or in the plan file at `path`."""

    text: str
    source: Literal["request", "call", "file"]
    path: str | None = None


def plan_text(
    ask: Ask, call_input: Mapping[str, Any] | None, read_file: Callable[[str, int], bytes | None]
) -> PlanText | None:
    """The plan of `ask`: from the request, else from the input of the tool call with its `tool_use_id`, else from the
    file that the request names, read with `read_file` (as `Files.read`). No other file is looked at: the newest in the
    directory may belong to another session.
    """
    path = _plan_file(ask, call_input or {})
    if plan := _plan_in(ask.input):
        return PlanText(plan, "request", path)
    if plan := _plan_in(call_input or {}):
        return PlanText(plan, "call", path)
    content = read_file(path, LARGEST_PLAN_FILE) if path is not None else None
    text = content.decode("utf-8", "replace") if content is not None else ""
    return PlanText(text, "file", path) if text.strip() else None


def _plan_file(ask: Ask, call_input: Mapping[str, Any]) -> str | None:
    """The plan file, if it was the CLI that named it: up to 2.1.197 a path in Claude's own call is passed on."""
    path = ask.input.get("planFilePath")
    if not isinstance(path, str) or path == call_input.get("planFilePath"):
        return None
    return path if path.startswith("/") and path.endswith(".md") else None


def _plan_in(values: Mapping[str, Any]) -> str | None:
    plan = values.get("plan")
    return plan if isinstance(plan, str) and plan.strip() else None

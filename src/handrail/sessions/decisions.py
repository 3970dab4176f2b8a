"""Decisions in one session: what waits for a person, everybody who may answer, and what answers depend on."""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import msgspec

from handrail.errors import HandrailError, ProcessError, UnfitAnswer
from handrail.policy.answers.plan import FreshStart, PlanAnswer
from handrail.policy.files import Disk, Files
from handrail.protocol.asks import Allow, Answers, Ask, Deny, DialogResult, Elicited
from handrail.protocol.control import PreToolUseInput, StopTask
from handrail.protocol.frames import Assistant, Frame, Init, Result, Status, TaskStarted
from handrail.protocol.options import Options
from handrail.sessions.asking import Asking, OnAsk, PolicyAnswer, Resolved
from handrail.sessions.asks import Actor, AnyAnswer, AskBook, AskChange, Correspondent, Decision
from handrail.sessions.budget import AnyBudget, Budgets, Purse, purses_of
from handrail.sessions.held_calls import HeldCall, call_held
from handrail.sessions.hooks import Hook, HookAnswer, HookContext, ToolDecision, ask_tool
from handrail.sessions.plan_mode import PlanModeEntered, entered_plan_mode
from handrail.sessions.plan_review import PLAN_MODE, LiveSession, PlanReview
from handrail.sessions.survey import Surveyor
from handrail.transports.ancestry import descends_from_session
from handrail.transports.discovery import parse_version

if TYPE_CHECKING:
    from handrail.policy.policy import Policy
    from handrail.policy.storage.loading import PolicySource
    from handrail.sessions.enforcement import Enforcement

# What only some sessions need (policies, plans, questions, forms) is imported by those: importing the client is quick.

__all__ = ["CALLBACK", "Decisions", "Successor"]

logger = logging.getLogger("handrail.client")

CALLBACK = Actor("on_ask", "callback")
FIRST_TO_OBEY_HOOKS = (2, 1, 120)
"""The first version tried that asks whenever a PreToolUse hook says so; up to 2.1.62 an allow rule outvotes it."""

FIRST_TO_ASK_WITH_HOOKS = (2, 1, 52)
"""The first version tried that asks and calls PermissionRequest hooks at once; 2.1.37 calls them instead of asking."""

AGENT_TASK = "local_agent"
PLAN_APPROVED = Actor("whoever approved the plan", "python")
REVIEW_FAILED = {
    "permissionDecision": "deny",
    "permissionDecisionReason": "Handrail stopped this because its policy failed, not because anyone refused it.",
}
REMEMBERED_CALLS = 200
IN_HOOK = Actor("whoever allowed the call before, in the hook", "hook")
COOLDOWN = Actor("the pause after an outline was asked for", "policy")


class Successor(msgspec.Struct, frozen=True):
    """How to go on with an approved plan in a session that knows nothing else: its options, and its first message.

    `policy` is that of this session, with the rules that were approved with the plan.
    """

    options: Options
    prompt: str
    policy: Policy | PolicySource | None = None


class Decisions:
    """The decisions of one live session."""

    def __init__(
        self,
        session: LiveSession,
        options: Options,
        *,
        on_ask: OnAsk | None,
        actor: Actor,
        policy: Policy | PolicySource | None,
        budget: AnyBudget | None,
        on_change: Callable[[AskChange], None],
        record: Callable[[Decision], Awaitable[None]] | None,
        cli_version: Callable[[], str | None],
        files: Files | None = None,
        ask_suffix: str = "",
    ) -> None:
        self._ask_suffix = ask_suffix
        self._files = files = files or Disk()
        home = options.env.get("HOME") or os.path.expanduser("~")
        self.successor: Successor | None = None
        self._session = session
        self._options = options
        self._work: set[asyncio.Task[Any]] = set()
        self._cwd = os.path.abspath(options.cwd or os.getcwd())
        self._cli_version = cli_version
        self._listener = on_change
        self._agents: dict[str, str] = {}
        self._plan_mode_ask: str | None = None
        self._allowed_in_hook: OrderedDict[str, Mapping[str, Any]] = OrderedDict()
        self.enforcement = self._enforce(policy, home) if policy is not None else None
        self.book = AskBook(on_change=self._on_change, record=record, is_own_process=descends_from_session)
        self.plans = PlanReview(
            session,
            files,
            mode=options.permission_mode or "default",
            bypass_available=_may_bypass(options),
            cli_version=cli_version,
            fresh_start=self._start_afresh,
            clock=time.monotonic,
        )
        self._surveyor = Surveyor(files, home=home)
        self._agent_tasks: set[str] = set()
        self._turn_runs = False
        purses = purses_of(budget)
        self.budget = self._hold_to(purses) if purses else None
        self.asking = Asking(
            self.book,
            self._surveyor,
            on_ask=on_ask,
            actor=actor,
            complete=self._complete,
            resolve=self._resolve,
            rule=self._rule,
            expire_after=self._expire_after,
            asks_with_hooks=lambda: not _older(cli_version(), FIRST_TO_ASK_WITH_HOOKS),
        )

    def _enforce(self, policy: Policy | PolicySource, home: str) -> Enforcement:
        from handrail.sessions.enforcement import Enforcement

        return Enforcement.of(
            policy,
            cwd=self._cwd,
            home=home,
            add_dirs=[os.path.join(self._cwd, each) for each in self._options.add_dirs],
            mode=lambda: self.plans.mode,
            have_asked=self._have_asked,
            files=self._files,
        )

    def _hold_to(self, purses: Sequence[Purse]) -> Budgets:
        return Budgets(
            purses,
            open_ask=self._open_own,
            withdraw=lambda ask_id: self.asking.withdraw(ask_id),
            stop_spending=lambda: self._in_background(self._stop_spending()),
        )

    @property
    def guards(self) -> tuple[Hook, ...]:
        """The hooks that make the policy and the budget bind."""
        return tuple(source.guard() for source in (self.enforcement, self.budget) if source is not None)

    def launch_options(self) -> Options:
        """The options to start the CLI with, so that its own settings say what they can of the policy."""
        if self.enforcement is None:
            return self._options
        from handrail.sessions.enforcement import with_settings

        return with_settings(self._options, self.enforcement.policy)

    def review(self, call: Mapping[str, Any], output: dict[str, Any]) -> dict[str, Any]:
        """What a PreToolUse hook answered, once the policy has seen what it would change."""
        if self.enforcement is None:
            return output
        try:
            return self.enforcement.review(call, output)
        except Exception:  # an error would count as no answer, and the call would pass
            logger.exception("the policy failed on what a hook changed")
            return {"hookSpecificOutput": {"hookEventName": "PreToolUse", **REVIEW_FAILED}}

    def receive(self, frame: Frame) -> None:
        """Follow what answers depend on: what the model said, modes, subagents, and how full the context is."""
        match frame:
            case Assistant():
                plan_call = self.plans.on_assistant(frame)
                if plan_call is not None:
                    self.asking.more_is_known(plan_call)
            case Init():
                self._cwd = frame.cwd or self._cwd
                self.plans.on_mode(frame)
                self._turn_runs = True
                if self.budget is not None:
                    self.budget.on_turn()
            case Status():
                self._on_mode(frame)
            case Result():
                self.plans.on_result(frame)
                self._turn_runs = False
                if self.budget is not None:
                    self.budget.on_result(frame)
            case TaskStarted():
                kind = frame.subagent_type or frame.task_type or "task"
                if frame.task_type == AGENT_TASK:
                    self._agent_tasks.add(frame.task_id)
                self._agents[frame.task_id] = f"{kind}: {frame.description}" if frame.description else kind

    def _on_mode(self, frame: Status) -> None:
        entered_by = self.plans.on_mode(frame)
        if self.plans.mode != PLAN_MODE and self._plan_mode_ask is not None:
            self.asking.withdraw(self._plan_mode_ask)
            self._plan_mode_ask = None
        if entered_by is not None and not self.asking.asked_about(entered_by):
            ask = entered_plan_mode(entered_by)
            self._plan_mode_ask = ask.id
            self._open_own(ask, PlanModeEntered(self.plans.leave))

    async def _have_asked(self, call: PreToolUseInput, context: HookContext, reason: str) -> HookAnswer:
        """Have a person asked about a call: by the CLI, or here if it would not."""
        if not _older(self._cli_version(), FIRST_TO_OBEY_HOOKS):
            return ask_tool(reason)
        agent = context.raw.get("agent_id")
        ask = call_held(
            call.tool_name,
            call.tool_input,
            tool_use_id=context.tool_use_id or str(uuid4()),
            agent_id=agent if isinstance(agent, str) else None,
            reason=reason,
        )
        ask = msgspec.structs.replace(ask, id=ask.id + self._ask_suffix)
        held = HeldCall(resolve=self._resolve, look_again=self._surveyor.look_again, interrupt=self._interrupt_turn)
        self._open_own(ask, held)
        try:
            answer = await held.decision()
        finally:
            self.asking.withdraw(ask.id)
        if isinstance(answer, ToolDecision) and answer.behavior == "allow" and ask.tool_use_id:
            self._allowed_in_hook[ask.tool_use_id] = answer.updated_input or ask.input
            if len(self._allowed_in_hook) > REMEMBERED_CALLS:
                self._allowed_in_hook.popitem(last=False)
        return answer

    def _interrupt_turn(self) -> None:
        self._in_background(self._session.interrupt())

    async def _stop_spending(self) -> None:
        """End what costs money: agents in the background, and the turn, if one runs. Commands cost nothing."""
        agents = [task for task in self._session.background_tasks if task in self._agent_tasks]
        requests = [self._session.request(StopTask(task_id=task)) for task in agents]
        if self._turn_runs:
            requests.append(self._session.interrupt())
        for outcome in await asyncio.gather(*requests, return_exceptions=True):
            if isinstance(outcome, HandrailError) and not isinstance(outcome, ProcessError):
                logger.warning("the budget is spent, but something still runs: %s", outcome)

    def _in_background(self, work: Coroutine[Any, Any, Any]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._work.add(task)
        task.add_done_callback(self._work.discard)

    async def ready_to_send(self) -> None:
        """Wait until a message may be sent. Raises `BudgetSpent`."""
        if self.budget is not None:
            await self.budget.wait()

    def stop(self) -> None:
        """The session is over."""
        self.plans.stop()
        if self.budget is not None:
            self.budget.release()

    # ------------------------------------------------------------ what asking needs to know

    def _complete(self, ask: Ask) -> Ask:
        """Add what the session knows."""
        return msgspec.structs.replace(
            self.plans.complete(ask),
            cwd=self._cwd,
            opened_at=ask.opened_at or time.time(),
            agent=self._agents.get(ask.agent_id, "") if ask.agent_id else "",
            suggestions=ask.suggestions or self._own_suggestions(ask),
        )

    def _own_suggestions(self, ask: Ask) -> tuple[dict[str, Any], ...]:
        """What could be allowed for good. The CLI suggests nothing where it asks because our hook says so."""
        if self.enforcement is None or ask.kind != "permission":
            return ()
        from handrail.policy.always import suggest_always

        return suggest_always(ask.tool_name, ask.input, cwd=self._cwd)

    def _resolve(self, ask: Ask, answer: AnyAnswer) -> Resolved:
        """`answer` in the terms of the wire. Raises `UnfitAnswer`."""
        resolved = self._checked(ask, answer)
        if (
            self.enforcement is None
            or not isinstance(resolved.answer, Allow)
            or not resolved.answer.updated_permissions
        ):
            return resolved
        updates = msgspec.to_builtins(resolved.answer.updated_permissions)

        def then(decision: Decision) -> None:
            self._take_over(updates, decision)
            resolved.then(decision)

        return Resolved(resolved.answer, then)

    def _checked(self, ask: Ask, answer: AnyAnswer) -> Resolved:
        if isinstance(answer, PlanAnswer):
            return self.plans.resolve(ask, answer)
        match answer:
            case Answers() if ask.kind == "question":
                from handrail.policy.answers.questions import check_answers

                return Resolved(check_answers(ask, answer, cli_version=self._cli_version()))
            case Elicited() if ask.kind == "elicitation":
                from handrail.policy.answers.forms import check_elicited

                check_elicited(ask, answer)
            case DialogResult() if ask.kind == "dialog":
                from handrail.policy.answers.forms import check_dialog

                check_dialog(ask, answer)
            case Allow(updated_input=changed) if ask.kind == "permission" and changed is not None:
                if self.enforcement is not None and (denial := self.enforcement.denial(ask, changed)) is not None:
                    raise UnfitAnswer(denial)
            case Allow() | Deny() if ask.kind == "plan":
                return Resolved(answer, lambda decision: self.plans.answered())
        return Resolved(answer)

    def _open_own(self, ask: Ask, correspondent: Correspondent) -> None:
        """Open an ask of our own, which no CLI waits for."""
        self.asking.open(self._surveyor.survey(self._complete(ask)), correspondent)

    def _rule(self, ask: Ask) -> PolicyAnswer | None:
        if ask.tool_use_id and self._allowed_in_hook.pop(ask.tool_use_id, None) == ask.input:
            # An ask rule in the CLI's own settings comes after the hook: nobody is asked twice about one call.
            return PolicyAnswer(Allow(), IN_HOOK)
        if self.enforcement is None or (self.budget is not None and self.budget.is_spent):
            return None
        if ask.kind == "plan" and self.enforcement.policy.outline_cooldown:
            too_soon = self.plans.too_soon()
            return PolicyAnswer(too_soon, COOLDOWN) if too_soon else None
        return self.enforcement.answer(ask)

    def _expire_after(self, ask: Ask) -> float | None:
        """How long an ask may wait. The plan that a person asked an outline of is held until they are back."""
        return None if self.enforcement is None or ask.after_outline else self.enforcement.policy.expire_after

    # ------------------------------------------------------------ what follows from a decision

    def _on_change(self, change: AskChange) -> None:
        self.asking.changed(change)
        try:
            self._listener(change)
        except Exception:  # whoever listens must not keep an answer from the CLI
            logger.exception("on_ask_change failed")

    def _take_over(self, updates: Sequence[Any], decision: Decision) -> None:
        """The person changed the rules with this answer, which is on its way."""
        if self.enforcement is not None:
            self.enforcement.remember(updates, actor=decision.actor, at=decision.at)

    def _start_afresh(self, start: FreshStart) -> None:
        options = msgspec.structs.replace(
            self._options,
            resume=None,
            continue_conversation=False,
            fork_session=False,
            session_id=None,
            permission_mode=start.mode,
            dangerously_skip_permissions=False,
            allow_dangerously_skip_permissions=start.bypass_available,
            allowed_tools=(*self._options.allowed_tools, *start.rules),
        )
        self.successor = Successor(options, start.prompt, self._policy_with(start.rules))

    def _policy_with(self, rules: Sequence[str]) -> Policy | PolicySource | None:
        """The policy for a session that follows this one: these rules were approved for it."""
        if self.enforcement is None:
            return None
        if rules:
            from handrail.policy.answers.plan_rules import session_rules

            self.enforcement.remember([msgspec.to_builtins(session_rules(rules))], actor=PLAN_APPROVED, at=time.time())
        return self.enforcement.for_successor()


def _older(cli_version: str | None, than: tuple[int, int, int]) -> bool:
    parsed = parse_version(cli_version or "")
    return parsed is not None and parsed < than


def _may_bypass(options: Options) -> bool:
    return (
        options.permission_mode == "bypassPermissions"
        or options.dangerously_skip_permissions
        or options.allow_dangerously_skip_permissions
    )

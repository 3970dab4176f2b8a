"""Plan review in a live session: follows what answers to a plan depend on, and carries out what they entail."""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import msgspec

from handrail.errors import HandrailError
from handrail.policy.answers.plan import (
    Compact,
    FollowUp,
    FreshStart,
    PlanAnswer,
    PlanContext,
    SendMessage,
    SetMode,
    leave_plan_mode,
    plan_text,
    resolve_plan_answer,
)
from handrail.policy.answers.plan_cooldown import OutlineCooldown
from handrail.policy.files import Files
from handrail.protocol.asks import Ask, Deny
from handrail.protocol.blocks import ToolUse
from handrail.protocol.frames import Assistant, Init, Result, Status
from handrail.sessions.asking import Resolved
from handrail.sessions.asks import Decision

__all__ = ["LiveSession", "PlanReview"]

logger = logging.getLogger("handrail.client")

PLAN_MODE = "plan"
MODE_FOLLOWS_WITHIN = 2.0
"""How long the CLI may take to announce a mode that an answer carried."""

USUAL_CONTEXT_WINDOW = 200_000
REMEMBERED_CALLS = 50


class LiveSession(Protocol):
    """What an answer may make a session do."""

    async def send(self, prompt: Any) -> Any: ...

    async def set_permission_mode(self, mode: str) -> None: ...

    async def interrupt(self) -> Any: ...

    async def request(self, request: Any) -> Any: ...

    @property
    def background_tasks(self) -> Mapping[str, str]: ...


class PlanReview:
    """One session's plans: their texts, the modes around them, and whether one is held back for an outline."""

    def __init__(
        self,
        session: LiveSession,
        files: Files,
        *,
        mode: str,
        bypass_available: bool,
        cli_version: Callable[[], str | None],
        fresh_start: Callable[[FreshStart], None],
        clock: Callable[[], float],
    ) -> None:
        self.mode = mode
        self._mode_before = "default" if mode == PLAN_MODE else mode
        self._mode_changed = asyncio.Event()
        self._session = session
        self._files = files
        self._bypass_available = bypass_available
        self._cli_version = cli_version
        self._fresh_start = fresh_start
        self._cooldown = OutlineCooldown(clock)
        self._calls: OrderedDict[str, Mapping[str, Any]] = OrderedDict()
        self._tokens = 0
        self._window = USUAL_CONTEXT_WINDOW
        self._hold_next = False
        self._entering: str | None = None
        self._compact_next = False
        self._work: set[asyncio.Task[None]] = set()

    # ------------------------------------------------------------ following the session

    def on_assistant(self, frame: Assistant) -> str | None:
        """Learn from what the model said; returns the id of a plan call in it."""
        plan_call = None
        for block in frame.message.blocks:
            if block.__class__ is not ToolUse:
                continue
            if block.name == "ExitPlanMode" and isinstance(block.input, Mapping):
                plan_call = block.id
                self._calls[block.id] = block.input
                if len(self._calls) > REMEMBERED_CALLS:
                    self._calls.popitem(last=False)
            elif block.name == "EnterPlanMode":
                self._entering = block.id
        usage = frame.message.usage
        if usage is not None and frame.parent_tool_use_id is None:
            self._tokens = sum(
                tokens or 0
                for tokens in (
                    usage.input_tokens,
                    usage.cache_creation_input_tokens,
                    usage.cache_read_input_tokens,
                    usage.output_tokens,
                )
            )
        return plan_call

    def on_result(self, frame: Result) -> None:
        if self._compact_next:  # older CLIs take a command that is sent during a turn for text
            self._compact_next = False
            self.carry_out((SendMessage("/compact"),))
        windows = [usage.context_window for usage in (frame.model_usage or {}).values() if usage.context_window]
        self._window = max(windows, default=self._window)

    def on_mode(self, frame: Init | Status) -> str | None:
        """The CLI says which mode it is in; returns the call by which Claude entered plan mode just now, if it did."""
        if not frame.permission_mode or frame.permission_mode == self.mode:
            return None
        self.mode_is(frame.permission_mode)
        entering, self._entering = self._entering, None
        return entering if self.mode == PLAN_MODE else None

    def mode_is(self, mode: str) -> None:
        """The session is in this mode from now on."""
        if mode == PLAN_MODE and self.mode != PLAN_MODE:
            self._mode_before = self.mode
        self.mode = mode
        self._mode_changed.set()

    # ------------------------------------------------------------ asks and answers

    @property
    def context(self) -> PlanContext:
        """What answers to a plan depend on now."""
        return PlanContext(
            cli_version=self._cli_version(),
            bypass_available=self._bypass_available,
            previous_mode=self._mode_before,
            context_used=100 * self._tokens / self._window if self._tokens else None,
        )

    def complete(self, ask: Ask) -> Ask:
        """A plan ask with its plan, marked if it follows a request for an outline."""
        if ask.kind != "plan":
            return ask
        found = plan_text(ask, self._calls.get(ask.tool_use_id or ""), self._files.read)
        return msgspec.structs.replace(ask, plan=found.text if found else None, after_outline=self._hold_next)

    def too_soon(self) -> Deny | None:
        """The answer to a plan that comes too soon after an outline was asked for, where that is sent back."""
        return self._cooldown.intercept()

    def resolve(self, ask: Ask, answer: PlanAnswer) -> Resolved:
        """`answer` in the terms of the wire. Raises `UnfitAnswer`."""
        outcome = resolve_plan_answer(ask, answer, self.context)

        def then(decision: Decision) -> None:
            if outcome.hold_next:
                self._hold_next = True
                self._cooldown.outlined()
            else:
                self.answered()
            self.carry_out(outcome.follow_ups)

        return Resolved(outcome.answer, then)

    def leave(self) -> None:
        """Take back that Claude entered plan mode."""
        self.carry_out(leave_plan_mode(self.context), announced=False)

    def answered(self) -> None:
        """A plan got an answer that is no request for an outline."""
        self._hold_next = False
        self._cooldown.answered()

    # ------------------------------------------------------------ following up

    def carry_out(self, follow_ups: tuple[FollowUp, ...], *, announced: bool = True) -> None:
        """Do what an answer entails, in order, without keeping anybody waiting.

        If the answer carried the mode, the CLI has announced it or will.
        """
        for follow_up in follow_ups:
            match follow_up:
                case Compact():
                    self._compact_next = True
                case FreshStart():
                    self._fresh_start(follow_up)
        later = [each for each in follow_ups if isinstance(each, SetMode | SendMessage)]
        if later:
            patience = MODE_FOLLOWS_WITHIN if announced else 0.0
            task = asyncio.get_running_loop().create_task(self._carry_out(later, patience))
            self._work.add(task)
            task.add_done_callback(self._work.discard)

    def stop(self) -> None:
        """The session is over."""
        for task in self._work:
            task.cancel()

    async def _carry_out(self, follow_ups: Sequence[SetMode | SendMessage], patience: float) -> None:
        for follow_up in follow_ups:
            try:
                if isinstance(follow_up, SetMode):
                    await self._ensure_mode(follow_up.mode, patience)
                else:
                    await self._session.send(follow_up.content)
            except HandrailError as error:
                logger.warning("after the plan was answered: %s", error)

    async def _ensure_mode(self, mode: str, patience: float) -> None:
        """Wait for the CLI to announce the mode; if it does not, tell it."""
        try:
            async with asyncio.timeout(patience):
                while self.mode != mode:
                    self._mode_changed.clear()
                    await self._mode_changed.wait()
        except TimeoutError:
            await self._session.set_permission_mode(mode)

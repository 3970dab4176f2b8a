"""Where asks are answered: one at a time, each at its place in the transcript, with the screen to itself."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from contextlib import AbstractContextManager, nullcontext
from typing import Protocol

from handrail.cli.ask_view import Asking
from handrail.cli.facts import Facts
from handrail.cli.prompts import STOPPED, PromptInterrupted
from handrail.cli.style import FAILED, NEEDS_YOU
from handrail.cli.terminal import Terminal
from handrail.cli.view import View
from handrail.policy.answers.plan import PlanContext
from handrail.protocol.asks import ASK_SUBTYPES, Ask, Deny
from handrail.protocol.frames import ControlRequest, Frame
from handrail.sessions.asks import AnyAnswer

__all__ = ["Answerer", "AskDesk"]

CATCH_UP_SECONDS = 0.5


class Answerer(Protocol):
    """Whoever answers asks."""

    async def answer(self, ask: Ask, asking: Asking) -> AnyAnswer:
        """The answer to `ask`. `PromptInterrupted` means: deny it, and stop the turn."""


class AskDesk:
    """Takes asks as they come and brings each before the answerer in turn.

    Whoever shows frames waits for `free` before each one and reports each with `reached`.
    """

    def __init__(self, answerer: Answerer, *, view: View, facts: Facts, terminal: Terminal | None) -> None:
        self._answerer = answerer
        self._view = view
        self._facts = facts
        self._terminal = terminal
        self._one_at_a_time = asyncio.Lock()
        self._free = asyncio.Event()
        self._free.set()
        self._reached: defaultdict[str, asyncio.Event] = defaultdict(asyncio.Event)

    async def free(self) -> None:
        """Wait until nobody is being asked."""
        await self._free.wait()

    async def reached(self, frame: Frame) -> None:
        """This frame was shown. Where it is the one that asks, the ask takes over the screen from here."""
        if isinstance(frame, ControlRequest) and frame.subtype in ASK_SUBTYPES:
            self._reached[frame.request_id].set()
            await asyncio.sleep(0)

    async def answer(self, ask: Ask, *, waiting: int, plan: PlanContext) -> AnyAnswer:
        """The answer to `ask`; `waiting` others wait behind it, and answers to plans depend on `plan`."""
        async with self._one_at_a_time:
            await self._catch_up(ask)
            self._free.clear()
            try:
                return await self._answer(ask, self._facts.asking(ask, waiting=waiting, plan=plan))
            finally:
                self._free.set()

    async def _catch_up(self, ask: Ask) -> None:
        """Wait until the frames before the ask are shown: the call it is about is among them."""
        try:
            async with asyncio.timeout(CATCH_UP_SECONDS):
                await self._reached[ask.id].wait()
        except TimeoutError:
            pass  # an ask can come without a frame of its own: from before we read, or inside a tool call
        finally:
            self._reached.pop(ask.id, None)

    async def _answer(self, ask: Ask, asking: Asking) -> AnyAnswer:
        try:
            with self._view.held(), self._listening():
                return await self._answerer.answer(ask, asking)
        except PromptInterrupted:
            self._view.notice(FAILED, "denied, and the turn is stopped")
            return Deny(STOPPED, interrupt=True)
        except asyncio.CancelledError:
            self._view.notice(NEEDS_YOU, "the question was withdrawn: no answer is needed any more")
            raise

    def _listening(self) -> AbstractContextManager[None]:
        return nullcontext() if self._terminal is None else self._terminal.listening()

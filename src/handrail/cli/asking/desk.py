"""Where asks are answered: one at a time, and off the screen as soon as somebody else has answered."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Protocol

import msgspec

from handrail.cli.asking.ask_view import Asking
from handrail.cli.asking.asker import STOPPED
from handrail.cli.asking.outcomes import answered_elsewhere, what_was_asked
from handrail.cli.keyboard.keyboard import PromptInterrupted
from handrail.cli.showing.style import FAILED, NEEDS_YOU
from handrail.errors import DecisionRefused, HandrailError, HostAway, UnfitAnswer
from handrail.events.model import AskClosed, AskOpened
from handrail.policy.answers.plan import RejectPlan
from handrail.protocol.asks import Ask, Deny
from handrail.remote.errors import HubUnreachable
from handrail.sessions.ask_records import ask_of, plan_context_of
from handrail.sessions.asks import AnyAnswer
from handrail.store.base import AskRow

__all__ = ["Answerer", "AskDesk", "opened_from"]

PROMPT_SECONDS = 2.0
"""How long an answer may be under way before the person hears of it."""

Decide = Callable[[str, AnyAnswer, str], Awaitable[None]]
"""Answers the ask with this id and this digest."""


class Answerer(Protocol):
    """Whoever answers asks."""

    async def answer(self, ask: Ask, asking: Asking) -> AnyAnswer:
        """The answer to `ask`. `PromptInterrupted` means: deny it, and stop the turn."""


class Front(Protocol):
    """What the desk needs of where it stands."""

    def notice(self, colour: str, text: str) -> None: ...

    def waiting(self, count: int) -> None:
        """So many asks wait for an answer."""

    def stop_turn(self) -> None:
        """The person wants the turn stopped."""


def opened_from(row: AskRow) -> AskOpened:
    """The event that opened a stored ask, as far as it matters."""
    ask = msgspec.json.decode(row.body)
    return AskOpened(ask_id=row.id, kind=row.kind, digest=row.digest, title=row.title, ask=ask)


class AskDesk:
    """Takes asks as they are opened and brings each before the answerer in turn. Without one, it only says them.

    `open` has to be called once the asks of the past are told: only those that are still open then are asked.
    """

    def __init__(self, answerer: Answerer | None, decide: Decide, front: Front) -> None:
        self._answerer = answerer
        self._decide = decide
        self._front = front
        self._waiting: dict[str, AskOpened] = {}
        self._known: dict[str, AskOpened] = {}
        self._answering: tuple[str, asyncio.Task[AnyAnswer]] | None = None
        self._answered_here: set[str] = set()
        self._news = asyncio.Event()
        self._is_open = False

    # ------------------------------------------------------------ what happens

    def open(self) -> None:
        """From now on, what waits is asked."""
        if not self._is_open:
            self._is_open = True
            self._news.set()
            if self._answerer is None:
                for opened in self._waiting.values():
                    self._say(opened)

    def opened(self, event: AskOpened) -> None:
        """Something waits for an answer, or is another thing now."""
        changed = event.ask_id in self._waiting and self._waiting[event.ask_id].digest != event.digest
        self._waiting[event.ask_id] = self._known[event.ask_id] = event
        if changed and self._is_being_asked(event.ask_id):
            self._front.notice(NEEDS_YOU, "what is asked has changed: look again")
            self._take_away(event.ask_id)
        self._tell()
        if self._is_open and self._answerer is None:
            self._say(event)

    def closed(self, event: AskClosed) -> None:
        """An ask is over."""
        asked = self._known.pop(event.ask_id, None)
        if self._waiting.pop(event.ask_id, None) is not None:
            self._take_away(event.ask_id)
            self._tell()
        if event.ask_id in self._answered_here:
            self._answered_here.discard(event.ask_id)
        elif (line := answered_elsewhere(event, asked)) is not None:
            self._front.notice(*line)

    def _is_being_asked(self, ask_id: str) -> bool:
        return self._answering is not None and self._answering[0] == ask_id

    def _take_away(self, ask_id: str) -> None:
        if self._answering is not None and self._answering[0] == ask_id:
            self._answering[1].cancel()

    def _tell(self) -> None:
        self._front.waiting(len(self._waiting))
        self._news.set()

    def _say(self, opened: AskOpened) -> None:
        how = f"handrail answer {opened.ask_id[:8]}"
        self._front.notice(NEEDS_YOU, f"waits for an answer: {what_was_asked(opened)} ({how})")

    # ------------------------------------------------------------ answering

    async def run(self) -> None:
        """Answer what waits, until cancelled."""
        if self._answerer is None:
            return
        while True:
            await self._news.wait()
            self._news.clear()
            while self._is_open and self._waiting:
                await self._ask(self._answerer, next(iter(self._waiting.values())))

    async def _ask(self, answerer: Answerer, opened: AskOpened) -> None:
        """Have one ask answered, unless it is taken away meanwhile."""
        ask = ask_of(opened.ask)
        asking = Asking(who=ask.agent, waiting=len(self._waiting) - 1, plan=plan_context_of(opened.ask))
        task = asyncio.create_task(answerer.answer(ask, asking))
        self._answering = opened.ask_id, task
        try:
            await asyncio.wait([task])
        finally:
            self._answering = None
            if not task.done():
                task.cancel()
        if not task.cancelled():
            await self._take(opened, task)

    async def _take(self, opened: AskOpened, task: asyncio.Task[AnyAnswer]) -> None:
        stops = False
        try:
            answer = task.result()
        except PromptInterrupted:
            self._front.notice(FAILED, "denied, and the turn is stopped")
            answer, stops = Deny(STOPPED, interrupt=True), True
        stops = stops or (isinstance(answer, Deny | RejectPlan) and answer.interrupt)
        await self._send(opened, answer)
        if stops:
            # Told by the answer, the CLI may stop only the subagent that asked.
            self._front.stop_turn()

    async def _send(self, opened: AskOpened, answer: AnyAnswer) -> None:
        self._answered_here.add(opened.ask_id)
        try:
            await self._decided(opened, answer)
        except UnfitAnswer as error:
            self._answered_here.discard(opened.ask_id)
            self._front.notice(FAILED, f"this answer was not taken: {error}")
            return  # it waits, and is asked again
        except (HostAway, HubUnreachable) as error:
            self._answered_here.discard(opened.ask_id)
            if opened.ask_id in self._waiting:
                self._front.notice(FAILED, f"your answer was not taken, and the ask waits: {error}")
            return  # it is asked again, unless it is over by now
        except HandrailError as error:
            self._answered_here.discard(opened.ask_id)
            why = "" if isinstance(error, DecisionRefused) else "it could not be sent: "
            self._front.notice(FAILED, f"your answer was not taken: {why}{error}")
        current = self._waiting.get(opened.ask_id)
        if current is not None and current.digest == opened.digest:
            del self._waiting[opened.ask_id]
            self._tell()

    async def _decided(self, opened: AskOpened, answer: AnyAnswer) -> None:
        """Send the answer, and say so if that takes long: a hub that is away is tried for a while."""
        sending = asyncio.ensure_future(self._decide(opened.ask_id, answer, opened.digest))
        try:
            done, _ = await asyncio.wait([sending], timeout=PROMPT_SECONDS)
            if not done:
                self._front.notice(NEEDS_YOU, "your answer has not arrived yet: it is tried again for a while")
            await sending
        finally:
            sending.cancel()

"""The outbox: brings every message to what it is to show, as fast as Telegram lets it.

What is wanted is in the database, and so is what is shown; so a worker that starts anew goes on where the last one
ended. The one thing that cannot be known is whether a message was taken whose sending was never answered: it is sent
again, because one too many does less harm than one too few.
"""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from typing import Any, Literal, TypeAlias, TypeVar

from handrail.errors import StoreFull, StoreLocked, StoreUnavailable
from handrail.telegram.bot_errors import Blocked, BotError, ChatMoved, FloodWait, Refused, TokenInvalid, Unreachable
from handrail.telegram.model import Place
from handrail.telegram.outbox.fleeting import Fleeting, Moment
from handrail.telegram.outbox.pacing import Pace, Pacing, Rank, Waiting
from handrail.telegram.outbox.patience import Patience
from handrail.telegram.outbox.port import MessageBot
from handrail.telegram.outbox.ways import (
    AS_IT_IS,
    CONCERNING_ALL,
    Again,
    LeftAlone,
    Outcome,
    Removed,
    Shown,
    Way,
    take_step,
)
from handrail.telegram.state import BridgeState, Delivery, Tables
from handrail.telegram.text.rich import RichText

__all__ = ["Outbox"]

T = TypeVar("T")
_Where: TypeAlias = Literal["telegram", "database"]

_AT_ONCE = 16
"""How many calls may be under way, all to different places or of different urgency."""
_KEPT_FREE = {Rank.ASK: 0, Rank.REPLY: 2, Rank.ANSWER: 4, Rank.PROGRESS: 8, Rank.LIGHT: 8}
"""How many of these each rank leaves to those before it: a call may take long, if Telegram is slow or a file large."""
_FINISHING = 5.0
"""How long what is under way may take to end when the outbox is ended."""
_MOST_VANISHED = 1_000
_PASSING = (StoreLocked, StoreFull, StoreUnavailable)
"""What is wrong with a database for a while only."""

_log = logging.getLogger("handrail.telegram")


class Outbox:
    """Have `run` run; want messages in a transaction on the state, and they come to be."""

    def __init__(
        self,
        state: BridgeState,
        bot: MessageBot,
        *,
        clock: Callable[[], float] = time.monotonic,
        pace: Pace | None = None,
        on_trouble: Callable[[str], None] = lambda words: None,
        on_moved: Callable[[int, int], Awaitable[None]] | None = None,
        may_write: Callable[[str, Place], bool] = lambda key, place: True,
    ) -> None:
        """`on_moved` has it known that a chat has another number now; without it, that is noted and nothing else.

        `may_write` says, of a key and a place, whether something may be written there when its turn comes.
        """
        self.has_drafts = True
        """Whether the Bot API server knows drafts, as far as is known."""
        self._state = state
        self._bot = bot
        self._clock = clock
        self._on_trouble = on_trouble
        self._on_moved = on_moved or self._move
        self._may_write = may_write
        self._pace = pace or Pace()
        self._pacing = Pacing(self._pace)
        self._patience = Patience(shortest=self._pace.retry_seconds, longest=self._pace.longest_retry_seconds)
        self._fleeting = Fleeting()
        self._ways: dict[str, tuple[bytes, Way]] = {}
        self._vanished: set[str] = set()
        """Messages that somebody deleted: changing one is not tried again and again."""
        self._under_way: dict[str, tuple[Waiting, asyncio.Task[None]]] = {}
        self._nudged = asyncio.Event()
        self._round = 0
        self._round_over = asyncio.Condition()
        self._troubles: dict[_Where, str] = {}
        self._fatal: Exception | None = None

    @property
    def trouble(self) -> str:
        """Why nothing can be written at the moment, in words; empty if nothing is wrong."""
        return "; ".join(self._troubles.values())

    async def run(self) -> None:
        """Work until cancelled. Raises `TokenInvalid`, or a `StoreError` that does not pass by itself."""
        stop_listening = self._state.on_want(self.nudge)
        try:
            while True:
                self._nudged.clear()
                at = await self._start_what_may_go()
                await self._end_round()
                if self._fatal:
                    raise self._fatal
                await self._wait_until(at)
        finally:
            stop_listening()
            await self._finish()

    def nudge(self) -> None:
        """Something may have come that can be written."""
        self._nudged.set()

    async def idle(self) -> None:
        """Wait until nothing is left to do. What waits for a chat that rests does not count. Needs `run` to run."""
        seen = self._round
        while not await self._is_idle():
            seen = await self._next_round(seen)

    async def revive(self, chat: int) -> None:
        """Somebody wrote in a chat: if it rested, because the bot was blocked there, it does so no longer."""
        if await self._state.write(lambda tables: tables.revive(chat)):
            self.nudge()

    def draft(self, place: Place, draft_id: int, text: RichText) -> None:
        """Show how far an answer is, when there is time for it. Only the latest of a `draft_id` is shown."""
        if self.has_drafts and place.is_private:
            self._fleeting.draft(place, draft_id, text, self._clock())
            self.nudge()

    def drop_draft(self, place: Place, draft_id: int) -> None:
        """No draft of this is to be shown any more: the answer itself comes."""
        self._fleeting.drop_draft(place, draft_id)

    def action(self, place: Place, action: str = "typing") -> None:
        """Show that the bot does something, when there is time for it."""
        self._fleeting.action(place, action, self._clock())
        self.nudge()

    # ------------------------------------------------------------ choosing

    async def _start_what_may_go(self) -> float:
        """Returns when to look again."""
        try:
            waiting = await self._waiting()
        except _PASSING as error:
            self._complain("database", str(error))
            return self._clock() + self._pace.retry_seconds
        self._troubles.pop("database", None)
        while len(self._under_way) < _AT_ONCE:
            choice = self._pacing.choose(filter(self._has_room, waiting), now := self._clock())
            if choice.next is None:
                return min(choice.at, self._patience.next_at(now) or math.inf)
            waiting.remove(choice.next)
            self._start(choice.next, now)
        return math.inf

    def _has_room(self, one: Waiting) -> bool:
        """Whether one more call of its rank may be under way."""
        return len(self._under_way) < _AT_ONCE - _KEPT_FREE[one.rank]

    async def _waiting(self) -> list[Waiting]:
        """The first of each place and urgency, if none of these is under way."""
        now = self._clock()
        aside = self._patience.set_aside(now)
        heads = await self._state.read(lambda tables: tables.heads(but=aside))
        found = [
            Waiting(
                key=head.key,
                place=head.place,
                rank=Rank(head.priority),
                number=head.number,
                waited=head.waited,
                is_edit=not head.is_new,
            )
            for head in heads
        ]
        busy = {(waiting.place, waiting.rank) for waiting, _ in self._under_way.values()}
        return [one for one in (*found, *self._fleeting.waiting(now)) if self._is_free(one, busy)]

    def _is_free(self, one: Waiting, busy: set[tuple[Place, Rank]]) -> bool:
        """Whether nothing is under way that must be done first. A draft must not come behind the answer itself."""
        if one.rank is Rank.ANSWER and (one.place, Rank.LIGHT) in busy:
            return False
        return (one.place, one.rank) not in busy and one.key not in self._under_way

    def _start(self, waiting: Waiting, now: float) -> None:
        self._pacing.took(waiting, now)
        moment = self._fleeting.take(waiting.key) if waiting.rank is Rank.LIGHT else None
        work = self._show(waiting, moment) if moment else self._deliver(waiting)
        task = asyncio.create_task(self._work(waiting, work), name=f"outbox {waiting.key}")
        self._under_way[waiting.key] = waiting, task

    async def _work(self, waiting: Waiting, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except Exception as error:  # noqa: BLE001 - `run` raises it
            self._fatal = error
        finally:
            del self._under_way[waiting.key]
            self.nudge()

    # ------------------------------------------------------------ doing

    async def _deliver(self, waiting: Waiting) -> None:
        """One call for one message, and what comes of it."""
        delivery = await self._stored(self._state.read, lambda tables: tables.delivery(waiting.key))
        if delivery is None:
            return
        if not self._may_write(delivery.key, delivery.place):
            await self._stored(self._state.write, lambda tables: tables.forgone(delivery))
            return
        if delivery.key in self._vanished and not delivery.content.buttons:
            await self._stored(self._state.write, lambda tables: tables.left_alone(delivery))
            return
        try:
            outcome = await take_step(self._bot, delivery, self._way(delivery))
        except CONCERNING_ALL as error:
            await self._failed(error, waiting)
        else:
            self._worked(waiting.key)
            await self._settle(delivery, outcome)

    async def _settle(self, delivery: Delivery, outcome: Outcome) -> None:
        key = delivery.key
        if isinstance(outcome, Again):
            _log.info("Telegram did not take %s as it is (%s): trying another way", key, outcome.problem)
            self._ways[key] = delivery.digest, outcome.way
            return
        self._ways.pop(key, None)
        self._vanished.discard(key)
        match outcome:
            case Shown(message_id):
                await self._stored(self._state.write, lambda tables: tables.shown(delivery, message_id))
            case Removed():
                await self._stored(self._state.write, lambda tables: tables.removed(key))
            case LeftAlone(problem, is_gone):
                _log.log(logging.INFO if is_gone else logging.WARNING, "Telegram refused %s: %s", key, problem)
                if is_gone:
                    self._remember_vanished(key)
                refusal = "" if is_gone else problem
                await self._stored(self._state.write, lambda tables: tables.left_alone(delivery, refusal))

    async def _show(self, waiting: Waiting, moment: Moment) -> None:
        if not self._may_write(waiting.key, waiting.place):
            return
        try:
            await moment.show(self._bot)
        except CONCERNING_ALL as error:
            await self._failed(error, waiting)
        except Refused as error:
            if moment.is_draft:
                _log.info("no drafts are shown from now on: %s", error.description)
                self.has_drafts = False
        except BotError as error:
            _log.debug("%s was not shown: %s", waiting.key, error.description)

    def _way(self, delivery: Delivery) -> Way:
        """As it was last found to be worth a try, if it is still the same that is wanted."""
        digest, way = self._ways.get(delivery.key, (delivery.digest, AS_IT_IS))
        return way if digest == delivery.digest else AS_IT_IS

    # ------------------------------------------------------------ failing

    def _worked(self, key: str) -> None:
        self._patience.worked(key)
        self._troubles.pop("telegram", None)

    async def _failed(self, error: BotError, waiting: Waiting) -> None:
        """Of what concerns more than one message."""
        now, chat, is_light = self._clock(), waiting.place.chat, waiting.rank is Rank.LIGHT
        match error:
            case TokenInvalid():
                raise error
            case FloodWait():
                _log.info("Telegram wants %g s of silence in chat %d", error.retry_after, chat)
                self._pacing.flooded(chat, error.retry_after, now, light=is_light)
            case Blocked():
                _log.warning("chat %d takes nothing until somebody writes there: %s", chat, error.description)
                await self._stored(self._state.write, lambda tables: tables.rest(chat, error.description))
            case ChatMoved():
                await self._moved(chat, error.chat)
            case Unreachable() if not is_light:
                self._complain("telegram", error.description)
                self._pacing.pause(now + self._patience.failed(waiting.key, now, is_away=error.is_away))

    async def _moved(self, old: int, new: int) -> None:
        try:
            await self._on_moved(old, new)
        except _PASSING as error:  # what is to be sent is still meant for the old number, so this is heard again
            self._complain("database", str(error))

    async def _move(self, old: int, new: int) -> None:
        await self._state.write(lambda tables: tables.move_chat(old, new))

    def _complain(self, where: _Where, words: str) -> None:
        """Once, as long as it is the same."""
        if words != self._troubles.get(where):
            _log.warning("%s", words)
            self._on_trouble(words)
        self._troubles[where] = words

    async def _stored(
        self,
        access: Callable[[Callable[[Tables], T]], Coroutine[Any, Any, T]],
        function: Callable[[Tables], T],
    ) -> T:
        """What was done must be stored before it is done again: if the database cannot be used now, wait for it."""
        while True:
            try:
                return await access(function)
            except _PASSING as error:
                self._complain("database", str(error))
                await asyncio.sleep(self._pace.retry_seconds)

    # ------------------------------------------------------------ around

    def _remember_vanished(self, key: str) -> None:
        if len(self._vanished) >= _MOST_VANISHED:  # of those that are forgotten, each costs a call once more
            self._vanished.clear()
        self._vanished.add(key)

    async def _next_round(self, seen: int) -> int:
        """Wait until there was another round than the one that was seen."""
        async with self._round_over:
            await self._round_over.wait_for(lambda: self._round != seen or self._fatal)
        if self._fatal:
            raise self._fatal
        return self._round

    async def _end_round(self) -> None:
        self._round += 1
        async with self._round_over:
            self._round_over.notify_all()

    async def _is_idle(self) -> bool:
        if self._under_way or len(self._fleeting):
            return False
        return await self._state.read(lambda tables: tables.waiting()) == 0 and not self._under_way

    async def _wait_until(self, at: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(None if at == math.inf else max(0.0, at - self._clock())):
                await self._nudged.wait()

    async def _finish(self) -> None:
        """Let what is under way end, so that it need not be done again; what does not is cut off."""
        tasks = [task for _, task in self._under_way.values()]
        if not tasks:
            return
        _, slow = await asyncio.wait(tasks, timeout=_FINISHING)
        for task in slow:
            task.cancel()
        await asyncio.gather(*slow, return_exceptions=True)

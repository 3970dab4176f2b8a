"""Follows a durable session live: what happens goes to the view, asks to whoever answers, keys and signals back to it.

`handrail run` and `handrail attach` are this: one on a session that it started, the other on anybody's.

    surface = make_surface(json=json, without="leave")
    code = await follow(session, surface=surface, actor=Actor(user, "attach", os.getpid()), until=Forever(),
                        after=0, detaches=True)
"""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Coroutine, Sequence
from contextlib import aclosing
from enum import IntEnum
from typing import Any, Protocol

from handrail.cli.account import Account
from handrail.cli.asking.desk import Answerer, AskDesk, opened_from
from handrail.cli.asking.unattended import Nobody
from handrail.cli.endings import Forever, Pulse, Until
from handrail.cli.showing.style import FAILED, NEEDS_YOU, QUIET
from handrail.cli.surface import Surface
from handrail.cli.surroundings import Surroundings
from handrail.errors import AlreadyDecided, HandrailError
from handrail.events.model import AskClosed, AskOpened, Completed, Delta, Event, ProcessExited
from handrail.policy.answers.plan import RejectPlan
from handrail.protocol.asks import Deny
from handrail.sessions.asks import Actor, AnyAnswer
from handrail.store.base import AskRow, SessionRow

__all__ = ["Attachment", "ExitCode", "Followed", "Until", "follow"]

GOING_ON = frozenset({"running", "needs_you"})
LIVELINESS_SECONDS = 1.0
LAST_EVENTS_SECONDS = 3.0
NOTICE_SECONDS = 5.0
"""How long the CLI may take to begin the run in which it takes notice of what ended in the background."""

GoOn = Callable[[SessionRow], Collection[str]]
"""The commands that go on with a session."""


class ExitCode(IntEnum):
    """What `handrail run` and its like exit with; a signal's number n gives 128 + n."""

    OK = 0
    FAILED = 1
    USAGE = 2
    DENIED = 3
    """It ended well, but something was denied because nobody could be asked."""
    INTERRUPTED = 130


class Followed(Protocol):
    """What is used of a `handrail.sessions.session.Session`."""

    @property
    def id(self) -> str: ...

    async def row(self) -> SessionRow: ...

    async def is_live(self) -> bool: ...
    def subscribe(
        self, after: int = 0, *, deltas: bool = True, follow: bool = True
    ) -> AsyncGenerator[Event | Delta, None]: ...

    async def send(self, content: Any, *, actor: Actor) -> str: ...

    async def decide(self, ask_id: str, answer: AnyAnswer, *, actor: Actor, digest: str | None = None) -> None: ...

    async def interrupt(self) -> None: ...

    async def stop(self) -> None: ...


async def follow(
    session: Followed,
    *,
    surface: Surface,
    actor: Actor,
    until: Until,
    after: int = 0,
    detaches: bool = False,
    go_on: GoOn = lambda row: (),
) -> int:
    """Show what happens behind event `after`, and answer what is asked, until it is over; returns the exit code.

    The first Ctrl-C interrupts the turn. The second one, Ctrl-D and signals end the session or, if this one `detaches`,
    only leave it. `go_on` makes the commands that the summary ends with.
    """
    attachment = Attachment(surface, actor)
    return await attachment.run(
        attachment.follow(session, until=until, after=after, detaches=detaches, go_on=go_on),
    )


class Attachment:
    """One person's, or nobody's, place at a session: from before it is opened until it is over."""

    def __init__(self, surface: Surface, actor: Actor, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._silent_since = clock()
        self._surface = surface
        self._view = surface.view
        self._actor = actor
        self._detaches = False
        self._tells_each_run = False
        self._session: Followed | None = None
        self._pulse = Pulse()
        self._main: asyncio.Task[int] | None = None
        self._reading: asyncio.Task[None] | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._account = Account()
        self._fault: BaseException | None = None
        self._stops = 0
        self._has_left = False
        self._killed_by: int | None = None

    async def run(self, work: Coroutine[Any, Any, int]) -> int:
        """Do `work` with signals heard and the terminal taken; returns its exit code, or that of what ended it."""
        self._main = asyncio.create_task(work)
        with Surroundings(self._surface, on_interrupt=self._on_interrupt, on_kill=self._on_kill):
            self._listen()
            try:
                return await self._main
            except asyncio.CancelledError:
                if self._fault is not None:
                    raise self._fault from None
                if not self._is_ended:
                    raise
                return self._exit_code()
            finally:
                for task in (self._main, *self._tasks):
                    task.cancel()
                self._surface.stop()

    def _listen(self) -> None:
        keyboard = self._surface.keyboard
        self._surface.output.when_broken = self._on_nobody_reads
        if keyboard is not None:
            keyboard.on_line = lambda line: self._start(self._say(line))
            keyboard.on_leave = self._on_leave
            keyboard.on_gone = lambda: self._on_kill(signal.SIGHUP)
            self._start(keyboard.run())

    # ------------------------------------------------------------ following

    async def follow(
        self,
        session: Followed,
        *,
        until: Until,
        after: int = 0,
        actor: Actor | None = None,
        detaches: bool = False,
        begin: Callable[[], Awaitable[object]] | None = None,
        pending: Sequence[AskRow] = (),
        go_on: GoOn = lambda row: (),
    ) -> int:
        """Follow an open session; `begin` is awaited once everything is in place, to send the first message.

        `pending` are asks that were opened before the events that are shown.
        """
        self._session = session
        self._actor = actor or self._actor
        self._detaches = detaches
        row = await session.row()
        known = row.last_seq
        self._pulse.is_running = row.status in GOING_ON
        desk = AskDesk(self._answerer, self._decide, self)
        for ask in pending:
            desk.opened(opened_from(ask))
        self._tells_each_run = detaches or isinstance(until, Forever)
        self._reading = asyncio.create_task(self._read(session, until, desk, after, known))
        helpers = [asyncio.create_task(desk.run()), asyncio.create_task(self._watch(session))]
        try:
            if begin is not None:
                await begin()
            await self._until_read(self._reading, helpers)
        except HandrailError as error:
            self._surface.fail(str(error))
            return ExitCode.FAILED if self._killed_by is None else self._exit_code()
        finally:
            for task in (self._reading, *helpers):
                task.cancel()
            await asyncio.gather(self._reading, *helpers, return_exceptions=True)
        await self._sum_up(session, go_on)
        return self._exit_code()

    @property
    def _answerer(self) -> Answerer | None:
        """Whoever answers here. Where nobody is, the asks of a session that lives elsewhere are others' to answer."""
        answerer = self._surface.answerer
        return None if self._detaches and isinstance(answerer, Nobody) else answerer

    async def _until_read(self, reading: asyncio.Task[None], helpers: list[asyncio.Task[None]]) -> None:
        """Wait for the end; what a helper fails with is not hidden."""
        waiting = {reading, *helpers}
        while not reading.done():
            done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            for task in done - {reading}:
                task.result()
        if not reading.cancelled():
            reading.result()

    async def _read(self, session: Followed, until: Until, desk: AskDesk, after: int, known: int) -> None:
        if known <= after:
            desk.open()
        async with aclosing(session.subscribe(after)) as items:
            async for item in items:
                self._view.show(item)
                if isinstance(item, Delta):
                    continue
                self._receive(item, desk)
                over = until.over(item)
                if item.seq >= known:
                    desk.open()
                    if over or self._has_stopped(item):
                        return

    def _receive(self, event: Event, desk: AskDesk) -> None:
        self._silent_since = self._clock()
        self._pulse.receive(event)
        self._account.receive(event)
        match event:
            case AskOpened():
                desk.opened(event)
            case AskClosed():
                desk.closed(event)
            case Completed():
                self._stops = 0 if self._detaches else self._stops
                if self._tells_each_run:
                    self._view.run_ended(event)
                self._say_what_is_left()

    def _say_what_is_left(self) -> None:
        background = self._view.progress.background
        if background and not self._stops:
            self._view.notice(QUIET, f"waiting for what runs in the background: {', '.join(background.values())}")

    def _has_stopped(self, event: Event) -> bool:
        """Whether what the person stopped has come to its end."""
        ended = isinstance(event, Completed | ProcessExited) and not self._pulse.is_running
        return ended and self._is_ended and not self._detaches

    async def _watch(self, session: Followed) -> None:
        """Notice what no event tells: that nothing more comes, or that the journal cannot be written any more."""
        while True:
            await asyncio.sleep(LIVELINESS_SECONDS)
            if self._pulse.owes_notice and self._silent_since + NOTICE_SECONDS < self._clock():
                self._stop_reading()
                return
            if not self._detaches and self._pulse.is_running and not await session.is_live():
                await asyncio.sleep(LAST_EVENTS_SECONDS)
                self._account.trouble = self._account.trouble or "the session has ended"
                self._stop_reading()
                return

    # ------------------------------------------------------------ the end

    async def _sum_up(self, session: Followed, go_on: GoOn) -> None:
        if self._account.last is None:
            # Whoever only looks on, or came to answer one ask, need not see a run end.
            if not self._is_ended and (self._account.trouble or not self._tells_each_run):
                self._surface.fail(self._account.trouble or "it ended before anything was answered")
        elif not self._tells_each_run:
            ending = self._account.ending(self._view, stopped=self._is_ended, denied=self._surface.denied)
            self._view.end(ending, resume=go_on(await session.row()))

    @property
    def _is_ended(self) -> bool:
        """Whether a person or a signal ended it."""
        return self._stops > 0 or self._killed_by is not None or self._has_left

    def _exit_code(self) -> int:
        if self._killed_by is not None:
            return 128 + self._killed_by
        if self._has_left and self._detaches:
            return ExitCode.OK
        if self._is_ended:
            return ExitCode.INTERRUPTED
        if not self._account.ok:
            return ExitCode.FAILED
        return ExitCode.DENIED if self._surface.denied else ExitCode.OK

    # ------------------------------------------------------------ asks (as the desk's front)

    async def _decide(self, ask_id: str, answer: AnyAnswer, digest: str) -> None:
        if self._session is None:
            return
        stand_in = self._surface.actor_for_answers
        if isinstance(answer, Deny | RejectPlan) and answer.interrupt:
            self._stops += 1  # now: the turn may be over before the answer is known to have been taken
        try:
            await self._session.decide(ask_id, answer, actor=stand_in or self._actor, digest=digest)
        except AlreadyDecided:
            if stand_in is None:
                raise
            return  # where nobody answers, nobody needs to know who was faster
        self._surface.taken(answer)

    def notice(self, colour: str, text: str) -> None:
        """Something about an ask."""
        self._view.notice(colour, text)

    def waiting(self, count: int) -> None:
        """So many asks wait."""
        self._view.progress.waiting_asks = count

    def stop_turn(self) -> None:
        """Interrupt what runs."""
        self._stops += 1
        self._start(self._interrupt())

    # ------------------------------------------------------------ keys and signals

    async def _say(self, line: str) -> None:
        if self._session is None:
            self._view.notice(QUIET, "it has not started yet: your message was not sent")
            return
        try:
            await self._session.send(line, actor=self._actor)
        except HandrailError as error:
            self._view.notice(FAILED, f"your message was not sent: {error}")

    def _on_interrupt(self) -> None:
        """Ctrl-C: at an ask, deny and stop the turn; else stop the turn; the second time, leave."""
        keyboard = self._surface.keyboard
        if keyboard is not None and keyboard.interrupt():
            return
        if self._session is None:
            self._stops += 1
            self._cancel()
        elif self._stops == 0 and (self._pulse.is_running or not self._detaches):
            last = "leaves" if self._detaches else "ends Claude Code"
            self._view.notice(NEEDS_YOU, f"interrupting the turn; Ctrl-C again {last}")
            self.stop_turn()
        else:
            self._leave()

    def _on_leave(self) -> None:
        """Ctrl-D."""
        if self._detaches:
            self._leave()
        else:
            self._view.notice(QUIET, "Claude Code runs in this process and ends with it: Ctrl-C twice ends both")

    def _on_kill(self, number: int) -> None:
        self._killed_by = self._killed_by or number
        self._cancel() if self._session is None else self._leave()

    def _on_nobody_reads(self) -> None:
        """Nobody reads what is written any more: end, as programs do that a closed pipe kills."""
        self._on_kill(signal.SIGPIPE)

    def _leave(self) -> None:
        if self._has_left:
            self._stop_reading()
            return
        self._has_left = True
        if self._detaches:
            self._stop_reading()
        else:
            if self._killed_by is None:
                self._view.notice(NEEDS_YOU, "ending Claude Code")
            self._start(self._stop())

    async def _interrupt(self) -> None:
        if self._session is None:
            return
        try:
            await self._session.interrupt()
        except HandrailError as error:
            self._view.notice(FAILED, f"the turn could not be interrupted: {error}")

    async def _stop(self) -> None:
        """End the session, and let its last events be read."""
        if self._session is not None:
            try:
                await self._session.stop()
            except HandrailError as error:
                self._view.notice(FAILED, f"the session could not be ended: {error}")
        if self._reading is not None:
            await asyncio.wait([self._reading], timeout=LAST_EVENTS_SECONDS)
        self._stop_reading()

    def _stop_reading(self) -> None:
        if self._reading is not None:
            self._reading.cancel()

    def _cancel(self) -> None:
        if self._main is not None:
            self._main.cancel()

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (fault := task.exception()) is not None:
            self._fault = fault
            self._cancel()

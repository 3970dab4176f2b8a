"""Runs one turn: frames to the view, asks to whoever answers them, signals to the session; ends with an exit code."""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Callable, Coroutine, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager
from enum import IntEnum
from typing import Any

from handrail.cli.desk import AskDesk
from handrail.cli.facts import Facts
from handrail.cli.style import FAILED, NEEDS_YOU, QUIET
from handrail.cli.terminal import Terminal
from handrail.cli.view import View
from handrail.errors import HandrailError
from handrail.policy.answers.plan import PlanContext
from handrail.protocol.asks import Ask, Deny
from handrail.protocol.frames import Result
from handrail.protocol.options import Options
from handrail.sessions.asking import OnAsk
from handrail.sessions.asks import AnyAnswer
from handrail.sessions.client import Client
from handrail.sessions.following import Following
from handrail.sessions.readers import FrameReader
from handrail.sessions.turn import Turn

__all__ = ["ExitCode", "Opening", "Run"]

TICK_SECONDS = 0.05

Opening = Callable[[OnAsk, Options | None], AbstractAsyncContextManager[Client]]
"""Opens a session for a callback: the one that the command line asks for, or one with these options."""


class ExitCode(IntEnum):
    """What `handrail run` exits with."""

    OK = 0
    ERROR = 1
    USAGE = 2
    INTERRUPTED = 130


class Run:
    """One turn of one session. `resume` makes the command that goes on from a session id."""

    def __init__(
        self,
        *,
        prompt: str,
        view: View,
        facts: Facts,
        desk: AskDesk,
        terminal: Terminal | None,
        fail: Callable[[str], None],
        resume: Callable[[str], str],
    ) -> None:
        self._prompt = prompt
        self._view = view
        self._facts = facts
        self._desk = desk
        self._terminal = terminal
        self._fail = fail
        self._resume = resume
        self._client: Client | None = None
        self._last: Result | None = None
        self._main: asyncio.Task[Any] | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._stops = 0
        self._killed_by: int | None = None

    async def go(self, opening: Opening) -> int:
        """Open the session, run the turn, close; returns the exit code. Raises what kept it from opening."""
        self._main = asyncio.current_task()
        with self._signals(), self._logging(), self._screen():
            try:
                return await self._run_all(opening)
            except asyncio.CancelledError:
                if not self._stopped:
                    raise
                return self._exit_code(None)

    async def _run_all(self, opening: Opening) -> int:
        """The session, and those that follow it because a plan was approved in a fresh context."""
        options, prompt = None, self._prompt
        while True:
            async with opening(self._on_ask, options) as client:
                self._client = client
                code = await self._run(client, prompt)
            if client.successor is None or self._stopped:
                return code
            options, prompt = client.successor.options, client.successor.prompt
            self._view.notice(QUIET, "a new session carries out the plan; it knows nothing else")

    async def _run(self, client: Client, prompt: str) -> int:
        frames = client.frames()
        turn = client.turn(prompt)
        try:
            async with turn:
                await self._follow(frames, turn)
        except HandrailError as error:
            if not self._stopped:
                self._view.stop()
                self._fail(str(error))
                return ExitCode.ERROR
        if self._last is not None:
            self._view.end(self._last, resume=self._resume(client.session_id or ""), stopped=self._stopped)
        return self._exit_code(turn.result)

    @property
    def _stopped(self) -> bool:
        """Whether a person or a signal ended the run."""
        return self._stops > 0 or self._killed_by is not None

    def _exit_code(self, result: Result | None) -> int:
        if self._stopped:
            return ExitCode.INTERRUPTED if self._killed_by is None else 128 + self._killed_by
        return ExitCode.OK if result is not None and result.ok else ExitCode.ERROR

    # ------------------------------------------------------------ frames

    async def _follow(self, frames: FrameReader, turn: Turn) -> None:
        """Show every frame until the turn is over and nothing that it started runs any more."""
        following = Following(turn)
        async for frame in frames:
            await self._desk.free()
            self._facts.receive(frame)
            self._view.show(frame)
            await self._desk.reached(frame)
            following.receive(frame)
            if isinstance(frame, Result):
                self._last = frame
                if following.background and not self._stopped:
                    running = ", ".join(following.background)
                    self._view.notice(QUIET, f"waiting for what runs in the background: {running}")
            if following.over(ignore_background=self._stopped):
                return

    async def _on_ask(self, ask: Ask) -> AnyAnswer:
        client = self._client
        answer = await self._desk.answer(
            ask,
            waiting=len(client.asks) - 1 if client else 0,
            plan=client.plan_context if client else PlanContext(),
        )
        if isinstance(answer, Deny) and answer.interrupt:
            # Told by the answer, the CLI may stop only the subagent that asked.
            self._stop_turn()
        return answer

    # ------------------------------------------------------------ stopping

    def _on_interrupt(self) -> None:
        """Ctrl-C: at a prompt, deny and stop the turn; else stop the turn; the second time, leave."""
        if self._terminal is not None and self._terminal.interrupt():
            return
        if self._client is None:
            self._leave_while_opening()
        elif self._stops == 0:
            self._view.notice(NEEDS_YOU, "interrupting the turn; Ctrl-C again ends Claude Code")
            self._stop_turn()
        else:
            self._view.notice(NEEDS_YOU, "ending Claude Code")
            self._start(self._client.close())

    def output_gone(self) -> None:
        """Nobody reads what is written any more: end, as programs do that a closed pipe kills."""
        if self._killed_by is None:
            self._on_kill(signal.SIGPIPE)

    def _on_kill(self, number: int) -> None:
        self._killed_by = number
        if self._client is None:
            self._leave_while_opening()
        else:
            self._start(self._client.close())

    def _leave_while_opening(self) -> None:
        self._stops += 1
        if self._main is not None:
            self._main.cancel()

    def _stop_turn(self) -> None:
        self._stops += 1
        self._start(self._interrupt())

    async def _interrupt(self) -> None:
        if self._client is None:
            return
        try:
            await self._client.interrupt()
        except HandrailError as error:
            self._view.notice(FAILED, f"the turn could not be interrupted: {error}")

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # ------------------------------------------------------------ surroundings

    @contextmanager
    def _signals(self) -> Iterator[None]:
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGINT, self._on_interrupt)
        for number in (signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, self._on_kill, number)
        try:
            yield
        finally:
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                loop.remove_signal_handler(number)

    @contextmanager
    def _screen(self) -> Iterator[None]:
        """Keep the view up to date, and leave the terminal as it was found."""
        ticking = asyncio.create_task(self._tick())
        if self._terminal is not None:
            self._terminal.mute()
        try:
            yield
        finally:
            ticking.cancel()
            self._view.stop()
            if self._terminal is not None:
                self._terminal.restore()

    async def _tick(self) -> None:
        while True:
            self._view.tick()
            await asyncio.sleep(TICK_SECONDS)

    @contextmanager
    def _logging(self) -> Iterator[None]:
        """Warnings of the client are notices here."""
        logger = logging.getLogger("handrail")
        handler = _NoticeHandler(self._view, asyncio.get_running_loop())
        propagate, logger.propagate = logger.propagate, False
        logger.addHandler(handler)
        try:
            yield
        finally:
            logger.removeHandler(handler)
            logger.propagate = propagate


class _NoticeHandler(logging.Handler):
    """Shows log records of warnings and worse; they may come from any thread."""

    def __init__(self, view: View, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(logging.WARNING)
        self._view = view
        self._loop = loop

    def emit(self, record: logging.LogRecord) -> None:
        self._loop.call_soon_threadsafe(self._view.notice, NEEDS_YOU, record.getMessage())

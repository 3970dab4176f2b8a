"""A transport over whatever socket the CLI has dialled in on: it goes on while one socket follows another."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

from handrail.errors import ClientClosed, LocalProtocolError
from handrail.protocol.ingress import AnotherProcess, IngressLink, Lost, Notice, Received
from handrail.transports.base import Receiver
from handrail.transports.discovery import parse_version
from handrail.transports.ingress.served import Served
from handrail.transports.ingress.sockets import RETRY, SECOND, STOP, Socket, SocketClosed

__all__ = ["IngressTransport", "Surroundings"]

logger = logging.getLogger("handrail.ingress")

PING_PATIENCE = 5.0
"""How long a socket has to answer a ping, when another one wants its place."""
FIRST_PATIENT = (2, 1, 52)
"""The first version tried that dials for ten minutes; 2.1.37 gives up after some five seconds."""
SHORT_WINDOW = 15.0
WINDOW = 660.0
"""How long a CLI is waited for that has lost its socket: somewhat longer than it tries."""
AFTER_ACKNOWLEDGING = 0.05
"""How many seconds after a POST was answered the CLI expects an answer to what was in it."""
VERIFY_AFTER = 1.0
POSTED_WITHIN = 30.0
"""How long a CLI that posts may take to repeat what was not acknowledged."""
UNHEARD_AFTER = 2.0
"""How long after a CLI is back a call may be left without a word about it, and again as long to be sure."""
NOTABLE_ABSENCE = 10.0

LOST = (
    "Claude Code sent messages that never arrived, while its connection was down: what it did meanwhile is not all "
    "here, and a turn may have ended unseen. If nothing follows, send a message or interrupt"
)
UNHEARD = (
    "Claude Code asked about a call while its connection was down, and that never arrived: it waits for an answer that "
    "nobody can give. Interrupt it, and tell it to go on"
)
TOO_LONG = "Claude Code sent a line longer than the limit: it was skipped"
TOO_MUCH = (
    "Claude Code sent a message longer than the limit: it was not taken, and the connection was closed. If it sends it "
    "again and again, stop the session"
)


def _no_notice(text: str) -> None:
    logger.warning("%s", text)


async def _nothing_to_store() -> None:
    return


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a transport needs of its session."""

    notice: Callable[[str], None] = _no_notice
    """Takes a warning that belongs into the session's journal."""
    presence: Callable[[bool], None] = lambda here: None
    """Told whether the CLI has a socket, each time that this changes."""
    settled: Callable[[], Awaitable[None]] = _nothing_to_store
    """Waits until what was received is stored: a POST is acknowledged after that."""


class IngressTransport:
    """One CLI that dials in. Implements `handrail.transports.base.Transport`; `serve` is for whoever has its sockets.

    The peer counts as lost once it had no socket for `window` seconds: by default as long as its version tries.
    """

    pid: int | None = None
    stderr_tail = ""

    def __init__(
        self, link: IngressLink | None = None, *, around: Surroundings | None = None, window: float | None = None
    ) -> None:
        self.link = link or IngressLink()
        self.around = around or Surroundings()
        self.arrived = asyncio.Event()
        """Set once the CLI had its first socket."""
        self.over = asyncio.Event()
        """Set once no socket will be served any more."""
        self.parting = STOP
        """The code with which the socket is closed at the end."""
        self.was_closed = False
        """Whether we ended it, rather than the CLI."""
        self._window = window
        self._receiver: Receiver | None = None
        self._opened = asyncio.Event()
        """Set once there is somebody to take what arrives, or nobody will be."""
        self._served: Served | None = None
        self._taking = asyncio.Lock()
        self._corks = 0
        self._waiting = b""
        self._giving_up: asyncio.TimerHandle | None = None
        self._timers: set[asyncio.TimerHandle] = set()
        self._verifying = False
        self._away_since: float | None = None
        self._told_of_too_much = False

    # ------------------------------------------------------------ as a transport

    async def open(self, receiver: Receiver) -> None:
        """Take what arrives from now on. The CLI need not be there yet: what is written waits for it."""
        if self._receiver is not None:
            raise LocalProtocolError("this transport is already open")
        if self.over.is_set():
            raise ClientClosed("this transport was closed: make a new one")
        self._receiver = receiver
        self._opened.set()

    def write(self, data: bytes) -> None:
        if self._corks:
            self._waiting += data
        elif not self.over.is_set():
            self._write(self.link.send(data, now=self._now()))

    async def drain(self) -> None:
        if self._served is not None:
            await self._served.drain()

    def close_input(self) -> None:
        """A WebSocket has no half that could be closed: the CLI is ended by `close`."""

    async def close(self) -> None:
        served = self._served
        self.was_closed = self.was_closed or not self.over.is_set()
        self.end(None)
        if served is not None:
            await served.drain()
            await served.socket.close(self.parting, "the session is over" if self.parting == STOP else "going away")
            await served.done.wait()

    async def hang_up(self, code: int, reason: str) -> None:
        """Close the socket that is there now. The CLI may dial again."""
        if self._served is not None:
            await self._served.socket.close(code, reason)

    def end(self, exit_code: int | None) -> None:
        """The CLI is gone: no socket is served any more. Idempotent."""
        if self.over.is_set():
            return
        self.over.set()
        self._opened.set()
        self._stay_no_longer()
        for timer in self._timers:
            timer.cancel()
        if undelivered := self.link.undelivered:
            self.around.notice(f"Claude Code never got {undelivered} of the messages and answers that were sent to it")
        if self._receiver is not None:
            self._receiver.connection_lost(exit_code)

    # ------------------------------------------------------------ sockets

    @property
    def is_here(self) -> bool:
        """Whether the CLI has a socket now."""
        return self._served is not None

    async def serve(self, socket: Socket, *, last_request_id: str | None = None) -> None:
        """Be the CLI's end of `socket` until it is gone; refuse it if another one is alive."""
        await self._opened.wait()
        async with self._taking:
            if not await self._may_take():
                logger.warning("a second CLI was refused: the first one has the session, and lives")
                await socket.close(SECOND, "another Claude Code has this session")
                return
            if self.over.is_set():
                await socket.close(self.parting, "the session is over")
                return
            served = self._served = Served(socket, self.link)
        try:
            self._arrive(served, last_request_id)
            await served.run(self._received)
        finally:
            served.done.set()
            if served.was_too_much:
                self._note_too_much()
            if self._served is served:
                self._leave()

    async def _may_take(self) -> bool:
        """Whether a new socket may take the place of the one that is there: only if that one is dead."""
        served = self._served
        if served is None:
            return True
        try:
            async with asyncio.timeout(PING_PATIENCE):
                await served.socket.ping()
        except (TimeoutError, SocketClosed):
            logger.info("a socket that does not answer is replaced")
            served.abandon()
            with suppress(TimeoutError):
                async with asyncio.timeout(PING_PATIENCE):
                    await served.done.wait()
            return True
        return False

    def _arrive(self, served: Served, last_request_id: str | None) -> None:
        self._stay_no_longer()
        self._note_absence()
        if self.arrived.is_set() or last_request_id is not None:
            self._later(UNHEARD_AFTER, self._look_for_unheard)
        served.write(self.link.connected(last_request_id, now=self._now()))
        self._later(POSTED_WITHIN, self._look_for_losses)
        self.arrived.set()
        self.around.presence(True)

    def _leave(self) -> None:
        self._served = None
        self.link.disconnected()
        if self.over.is_set():
            return
        self._away_since = self._now()
        self._giving_up = asyncio.get_running_loop().call_later(self._patience(), self._give_up)
        self.around.presence(False)

    def _patience(self) -> float:
        if self._window is not None:
            return self._window
        version = parse_version(self.link.cli_version or "")
        return SHORT_WINDOW if version is not None and version < FIRST_PATIENT else WINDOW

    def _give_up(self) -> None:
        self.around.notice(
            f"Claude Code lost its connection and did not come back within {self._patience():.0f} s: it may run on, "
            "and can still dial in"
        )
        self.end(None)

    def _stay_no_longer(self) -> None:
        if self._giving_up is not None:
            self._giving_up.cancel()
            self._giving_up = None

    def _note_too_much(self) -> None:
        """Say it once: what was not taken may be sent again on each new socket."""
        if not self._told_of_too_much:
            self._told_of_too_much = True
            self.around.notice(TOO_MUCH)

    def _note_absence(self) -> None:
        if self._away_since is not None and self._now() - self._away_since > NOTABLE_ABSENCE:
            self.around.notice(f"Claude Code was not connected for {self._now() - self._away_since:.0f} s; it is back")
        self._away_since = None

    # ------------------------------------------------------------ what arrives

    def _received(self, message: str | bytes) -> None:
        self._pass_on(self.link.receive(message, now=self._now()))

    @asynccontextmanager
    async def posted(self, events: Iterable[bytes]) -> AsyncGenerator[None, None]:
        """Take events that came by POST; acknowledge it inside. What follows from them is written behind that.

        The CLI drops an answer to something that it has not seen acknowledged.
        """
        await self._opened.wait()
        self._corks += 1
        try:
            self._pass_on(self.link.receive_posted(events, now=self._now()))
            await self.around.settled()
            yield
        finally:
            self._later(AFTER_ACKNOWLEDGING, self._uncork)

    def _pass_on(self, received: Received) -> None:
        if received.data and self._receiver is not None:
            self._receiver.data_received(received.data)
        self._write(received.reply)
        for notice in received.notices:
            self._on_notice(notice)

    def _on_notice(self, notice: Notice) -> None:
        match notice:
            case Lost():
                self.around.notice(LOST)
            case AnotherProcess():
                self.around.notice("another Claude Code has dialled in for this session: the one before has ended")
                self.parting = RETRY  # it is no stranger: it dials again, and gets a seat of its own
                self.end(None)
                if self._served is not None:
                    self._served.hang_up(RETRY, "the session begins anew: dial again")
            case _:
                self.around.notice(TOO_LONG)

    def _look_for_losses(self) -> None:
        lost = self.link.still_lost()
        if lost is not None:
            self._on_notice(lost)

    def _look_for_unheard(self) -> None:
        """A call that nobody asks about is a sign that the question was lost, unless it is on its way just now."""
        before = self.link.unheard

        def look_again() -> None:
            if self.is_here and before & self.link.unheard:
                self.around.notice(UNHEARD)

        if before:
            self._later(UNHEARD_AFTER, look_again)

    # ------------------------------------------------------------ what is written

    def _write(self, lines: bytes) -> None:
        if lines and self._served is not None:
            self._served.write(lines)
            self._verify_soon()

    def _uncork(self) -> None:
        self._corks -= 1
        if not self._corks:
            waiting, self._waiting = self._waiting, b""
            self.write(waiting)

    def _verify_soon(self) -> None:
        """A CLI that posts may drop an answer: ask it after a while what it waits for."""
        if self.link.posts and self.link.doubtful and not self._verifying:
            self._verifying = True
            self._later(VERIFY_AFTER, self._verify)

    def _verify(self) -> None:
        self._verifying = False
        self._write(self.link.verify())

    def _later(self, seconds: float, work: Callable[[], None]) -> None:
        def run() -> None:
            self._timers.discard(timer)
            work()

        timer = asyncio.get_running_loop().call_later(seconds, run)
        self._timers.add(timer)

    def _now(self) -> float:
        return asyncio.get_running_loop().time()

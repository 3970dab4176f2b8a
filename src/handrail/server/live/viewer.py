"""One WebSocket: what it asks for, and what it is told, as fast as it takes it in and no faster."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, suppress
from importlib.metadata import version
from typing import Protocol

import msgspec
from starlette.websockets import WebSocket, WebSocketDisconnect, WebSocketDisconnected

from handrail.errors import HandrailError, SessionNotFound
from handrail.server.calls import Caller
from handrail.server.live import protocol as p
from handrail.server.live.channels import Channels
from handrail.server.live.credit import Credit
from handrail.server.live.follows import Following, begin
from handrail.server.problems import problem_of

__all__ = ["Feed", "Meter", "Viewer"]

logger = logging.getLogger("handrail.live")

MOST_FOLLOWS = 100
LONGEST_MESSAGE = 16 * 1024
MOST_BAD = 20
"""How many messages may be impossible to understand before the socket is closed."""
MOST_REPLIES = 100
A_SECOND = 200.0
"""Messages that a client may send in a second, in the long run; faster ones wait."""
BURST = 400.0
CLOSING_PATIENCE = 2.0
RETRY = 1.0
"""How long to wait before the journal is read again that could not be read."""


class Meter(Protocol):
    """Counts what viewers cost."""

    def viewer_came(self) -> None: ...

    def viewer_left(self) -> None: ...

    def messages_sent(self, number: int = 1) -> None: ...

    def deltas_dropped(self, number: int = 1) -> None: ...


class Feed(Protocol):
    """What a viewer follows beside sessions: the list of them, and what waits for a person."""

    def messages(self) -> AsyncGenerator[str, None]:
        """What the viewer lacks."""

    def close(self) -> None: ...


class Viewer:
    """One socket. `run` serves it to its end; `close` ends it."""

    def __init__(
        self,
        socket: WebSocket,
        caller: Caller,
        channels: Channels,
        *,
        home: Callable[[Callable[[], None]], Feed],
        meter: Meter,
        credit: Credit | None = None,
    ) -> None:
        self.caller = caller
        self.over = asyncio.Event()
        """Set once the socket is closed."""
        self._socket = socket
        self._channels = channels
        self._open_home = home
        self._meter = meter
        self._credit = credit or Credit()
        self._follows: dict[str, tuple[Following, Callable[[], None]]] = {}
        self._wanted: dict[str, p.Follow] = {}
        """Sessions that are to be followed as soon as that is possible."""
        self._home: Feed | None = None
        self._visible = True
        self._replies: asyncio.Queue[p.FromHub] = asyncio.Queue(MOST_REPLIES)
        self._wake = asyncio.Event()
        self._closing = asyncio.Event()
        self._code = 1000
        self._bad = 0
        self._sent = 0
        self._pace = _Pace()
        self._troubled: dict[str, asyncio.TimerHandle] = {}

    def close(self, code: int) -> None:
        """End it, with one of `CLOSE_CODES`."""
        if not self._closing.is_set():
            self._code = code
            self._closing.set()

    async def run(self) -> None:
        """Serve the socket until it closes. Never raises for what the other side does."""
        await self._socket.accept()
        self._meter.viewer_came()
        loop = asyncio.get_running_loop()
        tasks = [loop.create_task(work) for work in (self._receive(), self._send(), self._closed())]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            results = await asyncio.gather(*tasks, return_exceptions=True)
            self._meter.viewer_left()
            self._leave_all()
            await self._say_goodbye(results)
            self.over.set()

    async def _closed(self) -> None:
        await self._closing.wait()

    async def _say_goodbye(self, results: list[BaseException | None]) -> None:
        for error in results:
            if isinstance(error, Exception) and not isinstance(error, WebSocketDisconnect | WebSocketDisconnected):
                logger.error("a viewer's socket failed", exc_info=error)
                self.close(1011)
        # It may be closed from the other side already, or not be read any more: then the server drops it.
        with suppress(RuntimeError, WebSocketDisconnect, TimeoutError):
            async with asyncio.timeout(CLOSING_PATIENCE):
                await self._socket.close(self._code, p.CLOSE_CODES[self._code])

    # ------------------------------------------------------------ what it asks for

    async def _receive(self) -> None:
        while True:
            message = await self._socket.receive()
            if message["type"] == "websocket.disconnect":
                return
            await self._pace.keep()
            text = message.get("text")
            await self._take(text if text is not None else message.get("bytes") or b"")
            if self._bad > MOST_BAD:
                self.close(4400)
                return

    async def _take(self, text: str | bytes) -> None:
        if len(text) > LONGEST_MESSAGE:
            await self._complain("too_large", f"a message has at most {LONGEST_MESSAGE} characters")
            return
        try:
            request = p.decode_request(text)
        except msgspec.ValidationError as error:
            await self._complain("invalid", f"this message does not fit: {error}")
            return
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            await self._complain("bad_request", f"this message is no JSON: {error}")
            return
        await self._do(request)

    async def _complain(self, code: str, detail: str) -> None:
        self._bad += 1
        await self._reply(p.ProblemMessage(code=code, detail=detail))

    async def _reply(self, message: p.FromHub) -> None:
        await self._replies.put(message)
        self._wake.set()

    async def _do(self, request: p.FromClient) -> None:
        match request:
            case p.Follow():
                await self._follow(request)
            case p.Unfollow():
                self._leave(request.session)
            case p.Ack():
                self._credit.acknowledge(request.session, request.seq)
                self._wake.set()
            case p.Visible():
                self._visible = request.on
                self._wake.set()
            case p.HomeRequest():
                self._follow_home(request.on)
            case p.Ping():
                await self._reply(p.Pong(n=request.n))

    async def _follow(self, request: p.Follow) -> None:
        known = {*self._follows, *self._wanted}
        if request.session not in known and len(known) >= MOST_FOLLOWS:
            detail = f"one socket follows at most {MOST_FOLLOWS} sessions: unfollow one, or open another socket"
            await self._reply(p.ProblemMessage(session=request.session, code="too_many_requests", detail=detail))
            return
        self._leave(request.session)
        self._wanted[request.session] = request
        self._wake.set()

    def _leave(self, session_id: str) -> None:
        self._wanted.pop(session_id, None)
        followed = self._follows.pop(session_id, None)
        if followed is not None:
            following, stop_listening = followed
            stop_listening()
            self._channels.leave(following.shared)
            self._credit.forget(session_id)
        timer = self._troubled.pop(session_id, None)
        if timer is not None:
            timer.cancel()

    def _follow_home(self, on: bool) -> None:
        if self._home is not None:
            self._home.close()
        self._home = self._open_home(self._wake.set) if on else None
        self._wake.set()

    def _leave_all(self) -> None:
        for session_id in [*self._follows, *self._wanted]:
            self._leave(session_id)
        self._follow_home(False)

    # ------------------------------------------------------------ what it is told

    async def _send(self) -> None:
        me = p.Me(name=self.caller.name, role=self.caller.role)
        await self._write(p.encode(p.Hello(version=version("handrail"), server_time=time.time(), me=me)))
        while True:
            await self._wake.wait()
            self._wake.clear()
            while await self._send_some():
                pass
            self._meter.messages_sent(self._sent)
            self._sent = 0

    async def _send_some(self) -> bool:
        """A little of everything that there is to tell; whether there may be more."""
        sent = await self._send_replies()
        if self._home is not None:
            sent |= await self._send_home(self._home)
        for session_id in [*self._wanted, *self._follows]:
            if session_id not in self._troubled:
                sent |= await self._send_of(session_id)
        return sent

    async def _send_replies(self) -> bool:
        sent = False
        while not self._replies.empty():
            await self._write(p.encode(self._replies.get_nowait()))
            sent = True
        return sent

    async def _send_home(self, home: Feed) -> bool:
        sent = False
        async with aclosing(home.messages()) as messages:
            async for text in messages:
                await self._write(text)
                sent = True
        return sent

    async def _send_of(self, session_id: str) -> bool:
        """Some of one session. One whose journal cannot be read now stays followed, and is tried again."""
        try:
            wanted = self._wanted.get(session_id)
            if wanted is not None:
                await self._join(wanted)
            followed = self._follows.get(session_id)
            return followed is not None and await self._send_session(session_id, followed[0])
        except HandrailError as error:
            if isinstance(error, SessionNotFound):
                self._leave(session_id)
            else:
                self._retry(session_id)
            problem = p.ProblemMessage(session=session_id, code=problem_of(error).code, detail=str(error))
            await self._write(p.encode(problem))
            return False

    async def _join(self, wanted: p.Follow) -> None:
        shared = await self._channels.join(wanted.session)
        if self._wanted.get(wanted.session) is not wanted:  # it was not wanted for long
            self._channels.leave(shared)
            return
        del self._wanted[wanted.session]
        self._follows[wanted.session] = begin(wanted, shared), shared.channel.listen(self._wake.set)

    async def _send_session(self, session_id: str, following: Following) -> bool:
        if following.shared.channel.gone:
            self._leave(session_id)
            await self._write(p.encode(p.Gone(session=session_id)))
            return False
        sent = False
        if self._credit.is_left:
            async with aclosing(following.messages()) as messages:
                async for seq, text in messages:
                    if not self._is_followed(session_id, following):
                        return True
                    self._credit.spend(session_id, seq, len(text))
                    await self._write(text)
                    sent = True
                    if not self._credit.is_left:
                        break
            for text in following.notes():
                await self._write(text)
        if not self._is_followed(session_id, following):
            return True
        if not (self._visible and self._credit.is_left):
            if following.shared.channel.blocks:
                self._meter.deltas_dropped()
            return sent
        for text in following.deltas():
            await self._write(text)
        return sent

    def _is_followed(self, session_id: str, following: Following) -> bool:
        """Whether it is still wanted: while a message is on its way, another request may come."""
        followed = self._follows.get(session_id)
        return followed is not None and followed[0] is following

    def _retry(self, session_id: str) -> None:
        """Leave a session alone for a moment: its journal cannot be read now."""
        self._troubled[session_id] = asyncio.get_running_loop().call_later(RETRY, self._try_again, session_id)

    def _try_again(self, session_id: str) -> None:
        self._troubled.pop(session_id, None)
        self._wake.set()

    async def _write(self, text: str) -> None:
        # Waits while the other side does not read: so nothing piles up here.
        await self._socket.send({"type": "websocket.send", "text": text})
        self._sent += 1


class _Pace:
    """Lets a client send so much, and makes it wait beyond that."""

    def __init__(self) -> None:
        self._left = BURST
        self._at = time.monotonic()

    async def keep(self) -> None:
        now = time.monotonic()
        self._left = min(BURST, self._left + (now - self._at) * A_SECOND) - 1.0
        self._at = now
        if self._left < 0.0:
            await asyncio.sleep(-self._left / A_SECOND)

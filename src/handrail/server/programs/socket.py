"""One program's WebSocket: offers and answers come in, calls go out."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress

from starlette.websockets import WebSocket, WebSocketDisconnect, WebSocketDisconnected

from handrail.errors import LocalProtocolError
from handrail.link.programs import (
    LONGEST_MESSAGE,
    FromHub,
    Offer,
    Offered,
    Result,
    Withdraw,
    decode_from_program,
    encode,
)
from handrail.server.calls import Caller
from handrail.server.programs.programs import Line, Programs

__all__ = ["ProgramSocket", "ProgramSockets"]

logger = logging.getLogger("handrail.programs")

BAD_MESSAGE = 4400
REVOKED = 4401


class ProgramSockets:
    """The open sockets of a hub's programs."""

    def __init__(self, programs: Programs) -> None:
        self._programs = programs
        self._open: set[ProgramSocket] = set()

    async def serve(self, websocket: WebSocket, caller: Caller) -> None:
        """Serve a socket to its end."""
        socket = ProgramSocket(websocket, caller, self._programs)
        self._open.add(socket)
        try:
            await socket.run()
        finally:
            self._open.discard(socket)

    def close_token(self, token_id: str) -> None:
        """A token is not valid any more: neither are the sockets that were opened with it."""
        for socket in self._open:
            if socket.caller.token_id == token_id:
                socket.close(REVOKED)


class ProgramSocket:
    """Serves a socket to its end."""

    def __init__(self, socket: WebSocket, caller: Caller, programs: Programs) -> None:
        self.caller = caller
        self._socket = socket
        self._programs = programs
        self._outgoing: asyncio.Queue[FromHub | None] = asyncio.Queue()
        self._line: Line = self._outgoing.put_nowait
        self._code = 1000

    async def run(self) -> None:
        """Serve it until either side closes it. Never raises for what the other side does."""
        await self._socket.accept()
        _allow_large_answers(self._socket)
        loop = asyncio.get_running_loop()
        tasks = [loop.create_task(self._receive()), loop.create_task(self._send())]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._programs.disconnect(self._line)
            for task in tasks:
                task.cancel()
            self._say(await asyncio.gather(*tasks, return_exceptions=True))
            # It may be closed from the other side already.
            with suppress(RuntimeError, WebSocketDisconnect):
                await self._socket.close(self._code)

    def close(self, code: int) -> None:
        """End it."""
        self._code = code
        self._outgoing.put_nowait(None)

    def _say(self, ended: list[BaseException | None]) -> None:
        for error in ended:
            if isinstance(error, Exception) and not isinstance(error, WebSocketDisconnect | WebSocketDisconnected):
                logger.error("a program's socket failed", exc_info=error)
                self._code = 1011

    async def _receive(self) -> None:
        while True:
            message = await self._socket.receive()
            if message["type"] == "websocket.disconnect":
                return
            text = message.get("text")
            try:
                self._take(text if text is not None else message.get("bytes") or b"")
            except LocalProtocolError as error:
                logger.warning("the program of %s says what cannot be understood: %s", self.caller.name, error)
                self._code = BAD_MESSAGE
                return

    def _take(self, text: str | bytes) -> None:
        message = decode_from_program(text)
        match message:
            case Offer(programs=ids):
                taken = self._programs.connect(ids, self.caller, self._line)
                refused = tuple(each for each in ids if each not in taken)
                self._line(Offered(programs=taken, refused=refused))
            case Withdraw(program=program):
                self._programs.withdraw(program, self._line)
            case Result():
                self._programs.answered(message, self._line)

    async def _send(self) -> None:
        while (message := await self._outgoing.get()) is not None:
            await self._socket.send({"type": "websocket.send", "text": encode(message)})


def _allow_large_answers(socket: WebSocket) -> None:
    """What a tool gives may be larger than what others may say; a server of another kind has limits of its own."""
    terms = socket.scope.get("extensions", {}).get("handrail.socket")
    if terms is not None:
        terms.allow(LONGEST_MESSAGE)

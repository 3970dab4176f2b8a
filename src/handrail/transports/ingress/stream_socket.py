"""A WebSocket on an asyncio stream."""

from __future__ import annotations

import asyncio
import os
from collections import deque
from collections.abc import Callable
from types import TracebackType
from typing import Self

from websockets.exceptions import InvalidState, PayloadTooBig
from websockets.frames import Frame, Opcode
from websockets.protocol import State
from websockets.server import ServerProtocol

from handrail.transports.ingress.sockets import MessageTooLong, SocketClosed

__all__ = ["StreamSocket"]

READ_AT_ONCE = 64 * 1024
CLOSING_PATIENCE = 2.0
"""How long the other end may take to say goodbye too."""
PING_EVERY = 20.0
PONG_WITHIN = 20.0
AT_MOST_UNREAD = 64
"""How many messages are read ahead of whoever takes them."""


class StreamSocket:
    """Implements `Socket` with a `ServerProtocol` whose handshake is done. Used with `async with`."""

    def __init__(self, protocol: ServerProtocol, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._protocol = protocol
        self._reader = reader
        self._writer = writer
        self._messages: asyncio.Queue[str | bytes | None] = asyncio.Queue(AT_MOST_UNREAD)
        self._parts: list[bytes] = []
        self._is_text = True
        self._pongs: dict[bytes, asyncio.Future[None]] = {}
        self._gone = asyncio.Event()
        self._tasks: deque[asyncio.Task[None]] = deque()

    async def __aenter__(self) -> Self:
        loop = asyncio.get_running_loop()
        self._tasks.extend([loop.create_task(self._read()), loop.create_task(self._stay_awake())])
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._end()

    # ------------------------------------------------------------ as a socket

    async def receive(self) -> str | bytes:
        is_over = self._gone.is_set() and self._messages.empty()
        message = None if is_over else await self._messages.get()
        if message is None:
            kind = MessageTooLong if isinstance(self._protocol.parser_exc, PayloadTooBig) else SocketClosed
            raise kind("the socket is gone")
        return message

    async def send(self, text: str) -> None:
        self._do(lambda: self._protocol.send_text(text.encode()))
        await self._drained()

    async def ping(self) -> None:
        payload = os.urandom(8)
        pong = self._pongs[payload] = asyncio.get_running_loop().create_future()
        try:
            self._do(lambda: self._protocol.send_ping(payload))
            await pong
        finally:
            del self._pongs[payload]

    async def close(self, code: int, reason: str) -> None:
        if self._protocol.state is State.OPEN:
            self._protocol.send_close(code, reason)
            self._flush()
        try:
            async with asyncio.timeout(CLOSING_PATIENCE):
                await self._gone.wait()
        except TimeoutError:
            self._end()

    # ------------------------------------------------------------ inside

    def _do(self, send: Callable[[], None]) -> None:
        if self._gone.is_set():
            raise SocketClosed("the socket is gone")
        try:
            send()
        except InvalidState as error:
            raise SocketClosed("the socket is closing") from error
        self._flush()

    def _flush(self) -> None:
        for piece in self._protocol.data_to_send():
            if piece:
                self._writer.write(piece)
            else:  # the protocol's way to say that nothing more will be written
                self._writer.close()

    async def _drained(self) -> None:
        try:
            await self._writer.drain()
        except OSError as error:
            raise SocketClosed(str(error)) from error

    async def _read(self) -> None:
        try:
            while data := await self._reader.read(READ_AT_ONCE):
                self._protocol.receive_data(data)
                self._flush()
                for event in self._protocol.events_received():
                    if isinstance(event, Frame):
                        await self._take(event)
                if self._protocol.parser_exc is not None:
                    break
        except OSError:
            pass
        finally:
            self._end()

    async def _take(self, frame: Frame) -> None:
        match frame.opcode:
            case Opcode.PONG:
                pong = self._pongs.get(bytes(frame.data))
                if pong is not None and not pong.done():
                    pong.set_result(None)
            case Opcode.TEXT | Opcode.BINARY | Opcode.CONT:
                if frame.opcode is not Opcode.CONT:
                    self._is_text = frame.opcode is Opcode.TEXT
                self._parts.append(bytes(frame.data))
                if frame.fin:
                    data, self._parts = b"".join(self._parts), []
                    await self._messages.put(data.decode("utf-8", "replace") if self._is_text else data)

    async def _stay_awake(self) -> None:
        """Notice an other end that went away without a word."""
        try:
            while True:
                await asyncio.sleep(PING_EVERY)
                async with asyncio.timeout(PONG_WITHIN):
                    await self.ping()
        except (TimeoutError, SocketClosed):
            self._end()

    def _end(self) -> None:
        if self._gone.is_set():
            return
        self._gone.set()
        for pong in self._pongs.values():
            if not pong.done():
                pong.set_exception(SocketClosed("the socket is gone"))
        if not self._messages.full():
            self._messages.put_nowait(None)
        self._writer.close()

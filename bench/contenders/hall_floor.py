"""The floor: each frame is a message whose bytes were made beforehand, written to each socket as they are."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from websockets.asyncio.server import ServerConnection, serve
from websockets.frames import Frame, Opcode

from handrail.events.codec import encode_event
from handrail.events.model import Delta, Event


class FloorHall:
    first = ""

    def __init__(self) -> None:
        self.url = ""
        self._sockets: set[ServerConnection] = set()
        self._prepared: dict[int, bytes] = {}

    def prepare(self, items: Sequence[Event | Delta]) -> None:
        for item in items:
            self._prepared[id(item)] = Frame(Opcode.TEXT, encode_event(item)).serialize(mask=False)

    async def endpoint(self, socket: ServerConnection) -> None:
        self._sockets.add(socket)
        await socket.wait_closed()
        self._sockets.discard(socket)

    async def show(self, items: Sequence[Event | Delta]) -> None:
        for item in items:
            prepared = self._prepared[id(item)]
            for socket in tuple(self._sockets):
                socket.transport.write(prepared)
                await socket.drain()
        await asyncio.sleep(0)


@asynccontextmanager
async def hall(look: str) -> AsyncIterator[FloorHall]:
    made = FloorHall()
    async with serve(made.endpoint, "127.0.0.1", 0, compression=None, ping_interval=None) as server:
        made.url = f"ws://127.0.0.1:{next(iter(server.sockets)).getsockname()[1]}/"
        yield made

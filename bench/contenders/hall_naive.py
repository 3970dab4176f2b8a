"""What a bridge usually does: each frame is made JSON and sent for each viewer, as it comes."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import msgspec
from starlette.websockets import WebSocket, WebSocketDisconnect

from bench.contenders.halls import served
from handrail.events.model import Delta, Event


class NaiveHall:
    first = ""

    def __init__(self) -> None:
        self.url = ""
        self.sockets: set[WebSocket] = set()

    async def endpoint(self, socket: WebSocket) -> None:
        await socket.accept()
        self.sockets.add(socket)
        try:
            while True:
                await socket.receive_text()
        except WebSocketDisconnect:
            self.sockets.discard(socket)

    async def show(self, items: Sequence[Event | Delta]) -> None:
        for item in items:
            message = msgspec.to_builtins(item)
            for socket in tuple(self.sockets):
                await socket.send_text(json.dumps(message))


@asynccontextmanager
async def hall(look: str) -> AsyncIterator[NaiveHall]:
    made = NaiveHall()
    async with served(made.endpoint) as made.url:
        yield made

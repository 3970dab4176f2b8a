"""Halls: places where something is shown to many people over WebSockets. What is shown is given, as it was decoded."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Protocol

import uvicorn
from starlette.applications import Starlette
from starlette.routing import WebSocketRoute
from starlette.websockets import WebSocket

from handrail.events.model import Delta, Event

__all__ = ["Hall", "HallModule", "served"]


class Hall(Protocol):
    """Where people look."""

    url: str
    first: str
    """What each of them says first."""

    async def show(self, items: Sequence[Event | Delta]) -> None:
        """Show these, which came at once."""


class HallModule(Protocol):
    """A module of this package that has a hall."""

    def hall(self, look: str) -> AbstractAsyncContextManager[Hall]: ...


@asynccontextmanager
async def served(endpoint: Callable[[WebSocket], Awaitable[None]]) -> AsyncIterator[str]:
    """An endpoint on a real server, without compression; gives its address."""
    listener = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(
        Starlette(routes=[WebSocketRoute("/", endpoint)]),
        ws="websockets-sansio",
        ws_per_message_deflate=False,
        ws_ping_interval=None,
        lifespan="off",
        log_config=None,
        access_log=False,
        timeout_graceful_shutdown=1,
    )
    server = uvicorn.Server(config)
    serving = asyncio.get_running_loop().create_task(server.serve(sockets=[listener]))
    while not server.started:
        await asyncio.sleep(0.01)
    try:
        yield f"ws://127.0.0.1:{listener.getsockname()[1]}/"
    finally:
        server.should_exit = True
        await serving

"""A TCP proxy between a host and its hub: its address stays while hubs come and go, and it can cut the line."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from urllib.parse import urlsplit


class Middle:
    """Passes bytes on to `target`, if there is one."""

    def __init__(self) -> None:
        self.url = ""
        self.connections = 0
        self._target: int | None = None
        self._writers: set[asyncio.StreamWriter] = set()

    def lead_to(self, url: str) -> None:
        """Connections go there from now on."""
        self._target = urlsplit(url).port

    def cut(self) -> None:
        """Every connection is reset, and no further one goes through."""
        self._target = None
        for writer in self._writers:
            writer.transport.abort()

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._target is None:
            writer.transport.abort()
            return
        self.connections += 1
        there, back = await asyncio.open_connection("127.0.0.1", self._target)
        self._writers |= {writer, back}
        try:
            await asyncio.gather(_pass(reader, back), _pass(there, writer))
        finally:
            self._writers -= {writer, back}
            for each in (writer, back):
                each.transport.abort()


async def _pass(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
        writer.transport.abort()


@asynccontextmanager
async def middle(proxy: Middle | None = None) -> AsyncIterator[Middle]:
    """A proxy on loopback, of a kind of its own if one is given."""
    proxy = proxy or Middle()
    running: set[asyncio.Task[None]] = set()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        running.add(task)
        with suppress(asyncio.CancelledError):  # the server is closed
            await proxy.handle(reader, writer)
        running.discard(task)

    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    proxy.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield proxy
    finally:
        proxy.cut()
        server.close()
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)

"""A program, a hub, and a link between them that can be cut."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any
from urllib.parse import urlsplit

from handrail.server.hub import HubSettings

PATIENCE = 60.0


async def eventually(condition: Callable[[], Any | Awaitable[Any]]) -> Any:
    """What a condition gives once it is true."""
    async with asyncio.timeout(PATIENCE):
        while True:
            found = condition()
            if asyncio.iscoroutine(found):
                found = await found
            if found:
                return found
            await asyncio.sleep(0.01)


class Wire:
    """A TCP proxy in front of a hub: cut, it drops every connection, and refuses new ones until it is mended."""

    def __init__(self) -> None:
        self._target = 0
        self._connections: set[asyncio.StreamWriter] = set()
        self.is_cut = False
        self.accepted = 0
        self.passed = 0
        """Bytes from the hub."""
        self.cut_after: int | None = None
        """After how many further bytes from the hub the wire cuts itself."""
        self.answer = b""
        """What is answered in the place of the hub, if anything is."""
        self.url = ""

    @asynccontextmanager
    async def laid(self) -> AsyncIterator[Wire]:
        server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        try:
            yield self
        finally:
            server.close()
            self.cut()
            await asyncio.sleep(0)

    @property
    def settings(self) -> HubSettings:
        """Those of a hub that is known under the wire's address, too."""
        return HubSettings(allowed_hosts=(urlsplit(self.url).netloc,))

    def leads_to(self, url: str) -> None:
        """The hub is there now."""
        self._target = urlsplit(url).port or 0

    def cut(self) -> None:
        self.is_cut = True
        self.cut_after = None
        for writer in tuple(self._connections):
            writer.transport.abort()

    def mend(self) -> None:
        self.is_cut = False
        self.cut_after = None

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.accepted += 1
        if self.is_cut:
            writer.transport.abort()
            return
        if self.answer:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(self.answer)
            writer.close()
            return
        try:
            there, back = await asyncio.open_connection("127.0.0.1", self._target)
        except OSError:
            writer.transport.abort()
            return
        self._connections |= {writer, back}
        pumps = [asyncio.create_task(_pump(reader, back)), asyncio.create_task(self._from_hub(there, writer))]
        try:
            await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for pump in pumps:
                pump.cancel()
            await asyncio.gather(*pumps, return_exceptions=True)
            for each in (writer, back):
                self._connections.discard(each)
                each.transport.abort()

    async def _from_hub(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while data := await reader.read(4096):
                self.passed += len(data)
                if self.cut_after is not None:
                    self.cut_after -= len(data)
                    if self.cut_after <= 0:
                        self.cut()
                        return
                writer.write(data)
                await writer.drain()


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()

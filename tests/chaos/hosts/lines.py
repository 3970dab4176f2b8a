"""A line between a host and its hub that misbehaves: it delays, stalls, cuts, and delivers late what it held back."""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import suppress

from ...host.middle import Middle

END = b""


class Way:
    """One direction of a connection. What comes in is held until it may pass."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._held: deque[bytes] = deque()
        self._something = asyncio.Event()
        self.may_pass = asyncio.Event()
        self.may_pass.set()
        self.delay = 0.0

    @property
    def held(self) -> int:
        """How many bytes have come in, and not passed."""
        return sum(map(len, self._held))

    async def run(self) -> None:
        taking = asyncio.create_task(self._take())
        try:
            await self._give()
        finally:
            taking.cancel()
            await asyncio.gather(taking, return_exceptions=True)

    async def _take(self) -> None:
        with suppress(ConnectionError):
            while data := await self._reader.read(65536):
                self._put(data)
        self._put(END)

    def _put(self, data: bytes) -> None:
        self._held.append(data)
        self._something.set()

    async def _give(self) -> None:
        while True:
            await self._something.wait()
            await self.may_pass.wait()
            if self.delay:
                await asyncio.sleep(self.delay)
            if not await self._give_one():
                return

    async def _give_one(self) -> bool:
        data = self._held.popleft()
        if not self._held:
            self._something.clear()
        if data == END:
            return False
        with suppress(ConnectionError):
            self._writer.write(data)
            await self._writer.drain()
        return True


class Connection:
    """One connection: a way to the hub, and one back."""

    def __init__(self, up: Way, down: Way, host: asyncio.StreamWriter, hub: asyncio.StreamWriter) -> None:
        self.up, self.down = up, down
        self._host, self._hub = host, hub

    async def run(self) -> None:
        """Until both ends are closed: an end that is left alone does not hear of the other's."""
        try:
            await asyncio.gather(self._pass(self.up, self._hub), self._pass(self.down, self._host))
        finally:
            self.cut()

    async def _pass(self, way: Way, to: asyncio.StreamWriter) -> None:
        await way.run()
        to.transport.abort()

    def cut(self) -> None:
        for each in (self._host, self._hub):
            each.transport.abort()

    def stall(self, *, up: bool = True, down: bool = True) -> None:
        """Let nothing pass, and say nothing of it."""
        for way, stalls in ((self.up, up), (self.down, down)):
            if stalls:
                way.may_pass.clear()

    def go_on(self) -> None:
        for way in (self.up, self.down):
            way.may_pass.set()

    def leave_the_hub_alone(self) -> None:
        """The host's end is over, and the hub does not hear of it: it may even get more of what was said."""
        self.up.may_pass.clear()
        self._host.transport.abort()

    def leave_the_host_alone(self) -> None:
        """The hub's end is over, and the host does not hear of it."""
        self.down.may_pass.clear()
        self._hub.transport.abort()


class BadLine(Middle):
    """A proxy whose connections can be treated one by one, also those that one of the two ends has given up."""

    def __init__(self) -> None:
        super().__init__()
        self.delay = 0.0
        """Of each piece, in seconds, on connections from now on."""
        self.current: Connection | None = None
        self.earlier: list[Connection] = []
        """Those before the current one."""

    def cut_once(self) -> None:
        """The connection is reset. The next one goes through."""
        if self.current is not None:
            self.current.cut()

    def end(self) -> None:
        """Let everything go."""
        for each in [*self.earlier, self.current]:
            if each is not None:
                each.cut()
                each.go_on()

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._target is None:
            writer.transport.abort()
            return
        self.connections += 1
        there, back = await asyncio.open_connection("127.0.0.1", self._target)
        connection = Connection(Way(reader, back), Way(there, writer), writer, back)
        connection.up.delay = connection.down.delay = self.delay
        if self.current is not None:
            self.earlier.append(self.current)
        self.current = connection
        self._writers |= {writer, back}
        try:
            await connection.run()
        finally:
            self._writers -= {writer, back}

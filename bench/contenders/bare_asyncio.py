"""The floor where waking up is what costs: asyncio's own pipe transports and a protocol, nothing decoded.

Reads at most 64 KB at a time: asyncio's own 256 KB cost more than all the rest. A request is answered in the callback
that has read it.
"""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from bench.contenders import Tally
from bench.contenders.floor import FLAGS, INITIALIZE, PROMPT, READ_SIZE, REQUEST, Counter, Reader, answer


@asynccontextmanager
async def session(cli: str) -> AsyncIterator[BareSession]:
    process = subprocess.Popen([cli, *FLAGS], bufsize=0, stdin=subprocess.PIPE, stdout=subprocess.PIPE)  # noqa: ASYNC220
    with process:
        bare = BareSession()
        await bare.connect(process)
        await bare.write_and_read(INITIALIZE, Reader())
        yield bare
        bare.close()


class BareSession(asyncio.Protocol):
    async def connect(self, process: subprocess.Popen[bytes]) -> None:
        self._loop = asyncio.get_running_loop()
        self._output: Any
        self._output, _ = await self._loop.connect_read_pipe(lambda: self, process.stdout)
        self._output.max_size = READ_SIZE
        self._input, _ = await self._loop.connect_write_pipe(asyncio.BaseProtocol, process.stdin)

    async def consume(self, tally: Tally, look: str) -> None:
        await self.write_and_read(PROMPT, Counter(tally))

    async def write_and_read(self, line: bytes, reader: Reader) -> None:
        self._reader = reader
        self._done = self._loop.create_future()
        self._input.write(line)
        await self._done

    def data_received(self, data: bytes) -> None:
        if data.startswith(REQUEST):
            self._input.write(answer(data))
        elif self._reader.feed(data):
            self._done.set_result(None)

    def close(self) -> None:
        self._input.close()
        self._output.close()

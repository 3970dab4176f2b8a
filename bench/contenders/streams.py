"""The floor of a round trip as anybody would write it: asyncio's subprocess and streams, one task that reads."""

from __future__ import annotations

import asyncio
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from bench.contenders import Tally
from bench.contenders.floor import FLAGS, INITIALIZE, PROMPT, REQUEST, RESULT, answer


@asynccontextmanager
async def session(cli: str) -> AsyncIterator[StreamSession]:
    process = await asyncio.create_subprocess_exec(cli, *FLAGS, stdin=PIPE, stdout=PIPE)
    assert process.stdin is not None
    assert process.stdout is not None
    streams = StreamSession(process.stdout, process.stdin)
    await streams.initialize()
    yield streams
    process.stdin.close()
    await process.wait()


class StreamSession:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def initialize(self) -> None:
        await self._write(INITIALIZE)
        await self._reader.readline()

    async def consume(self, tally: Tally, look: str) -> None:
        await self._write(PROMPT)
        while not (line := await self._reader.readline()).startswith(RESULT):
            if line.startswith(REQUEST):
                await self._write(answer(line))
            tally.frames += 1

    async def _write(self, line: bytes) -> None:
        self._writer.write(line)
        await self._writer.drain()

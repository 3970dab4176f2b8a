"""The floor: asyncio and a pipe, without a client. Reads at most 64 KB at a time.

`read` drops what it has read, `decode` decodes it into the same typed union.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec

from bench.contenders import Tally
from handrail.protocol.frames import ControlRequest
from handrail.protocol.frames.wire import WireFrame

READ_SIZE = 65536
FLAGS = ("--output-format", "stream-json", "--input-format", "stream-json")
INITIALIZE = b'{"type":"control_request","request_id":"init","request":{"subtype":"initialize"}}\n'
PROMPT = b'{"type":"user","message":{"role":"user","content":"go"}}\n'
RESULT = b'{"type":"result"'
REQUEST = b'{"type":"control_request"'

decoder = msgspec.json.Decoder(WireFrame)


@asynccontextmanager
async def session(cli: str) -> AsyncIterator[BareSession]:
    process = subprocess.Popen([cli, *FLAGS], bufsize=0, stdin=subprocess.PIPE, stdout=subprocess.PIPE)  # noqa: ASYNC220
    with process:
        bare = BareSession(process)
        await bare.write_and_read(INITIALIZE, Reader())
        yield bare


class BareSession:
    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._stdin = process.stdin.fileno()
        self._stdout = process.stdout.fileno()
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self._stdout, self._on_readable)

    async def consume(self, tally: Tally, look: str) -> None:
        await self.write_and_read(PROMPT, Decoder(tally) if look == "decode" else Counter(tally))

    async def write_and_read(self, line: bytes, reader: Reader) -> None:
        self._reader = reader
        self._done = self._loop.create_future()
        os.write(self._stdin, line)
        await self._done

    def _on_readable(self) -> None:
        chunk = os.read(self._stdout, READ_SIZE)
        if not chunk:
            self._loop.remove_reader(self._stdout)
        elif self._reader.feed(chunk):
            self._done.set_result(None)


class Reader:
    """Reads one answer. `feed` says whether all has come."""

    def __init__(self) -> None:
        self._tail = b""

    def feed(self, chunk: bytes) -> bool:
        return chunk.endswith(b"\n")

    def _ends_turn(self, chunk: bytes) -> bool:
        """The result is the last line and fits in what is kept of the chunk before."""
        self._tail = self._tail[-2048:] + chunk[-2048:]
        return chunk.endswith(b"\n") and self._tail.rfind(RESULT) > self._tail.rfind(b"\n", 0, -1)


class Counter(Reader):
    """Counts lines and drops them."""

    def __init__(self, tally: Tally) -> None:
        super().__init__()
        self._tally = tally

    def feed(self, chunk: bytes) -> bool:
        self._tally.frames += chunk.count(b"\n")
        return self._ends_turn(chunk)


class Decoder(Reader):
    """Decodes whole lines together, into the union that Handrail uses."""

    def __init__(self, tally: Tally) -> None:
        super().__init__()
        self._tally = tally
        self._pieces: list[bytes] = []

    def feed(self, chunk: bytes) -> bool:
        end = chunk.rfind(b"\n") + 1
        if end:
            frames = decoder.decode_lines(b"".join((*self._pieces, chunk[:end])))
            self._tally.frames += len(frames)
            self._pieces.clear()
        if end < len(chunk):
            self._pieces.append(chunk[end:])
        return self._ends_turn(chunk)


def answer(line: bytes) -> bytes:
    """Allows what is asked for."""
    request: ControlRequest = decoder.decode(line)
    body = {"behavior": "allow", "updatedInput": request.request["input"]}
    response = {"subtype": "success", "request_id": request.request_id, "response": body}
    return msgspec.json.encode({"type": "control_response", "response": response}) + b"\n"

"""People who look: a process of its own that opens sockets and reads them to the end of the run.

Usage: python -m bench.viewers URL COUNT FIRST

`FIRST` is what each of them says first. It prints "ready" once all of them are connected, and "done" and how many
messages came once each of them has seen the end.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

from websockets.asyncio.client import ClientConnection, connect

ACK_EVERY = 50
ENDS = ('"type":"completed"', '"type": "completed"')
END_ROW = '"type":"end"'


async def main(url: str, count: int, first: str) -> None:
    connected = asyncio.Barrier(count + 1)
    async with asyncio.TaskGroup() as group:
        people = [group.create_task(look(url, first, connected)) for _ in range(count)]
        await connected.wait()
        print("ready", flush=True)
    print("done", sum(person.result() for person in people), flush=True)


async def look(url: str, first: str, connected: asyncio.Barrier) -> int:
    async with connect(url, compression=None, max_size=None, open_timeout=60) as socket:
        if first:
            await socket.send(first)
            await socket.recv()  # whoever answers is ready
        await connected.wait()
        return await read(socket, acknowledges=bool(first))


async def read(socket: ClientConnection, *, acknowledges: bool) -> int:
    seen = 0
    async for text in socket:
        seen += 1
        assert isinstance(text, str)
        if _is_the_end(text):
            return seen
        if acknowledges and seen % ACK_EVERY == 0:
            await _acknowledge(socket, json.loads(text))
    raise AssertionError("the socket was closed before the end")


def _is_the_end(text: str) -> bool:
    if text.startswith('{"type":"view"'):
        return END_ROW in text
    return any(end in text[:200] for end in ENDS)


async def _acknowledge(socket: ClientConnection, message: dict[str, Any]) -> None:
    seq = message.get("seq") or message.get("event", {}).get("seq")
    if seq is not None:
        await socket.send(json.dumps({"type": "ack", "session": message["session"], "seq": seq}))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2]), sys.argv[3] if len(sys.argv) > 3 else ""))

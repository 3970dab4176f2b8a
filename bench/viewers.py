"""People who look: a process of its own that opens sockets and reads them to the end of the run.

Usage: python -m bench.viewers URL COUNT FIRST

`FIRST` is what each of them says first. It prints "ready" once all of them are connected, and "done" and how many
messages came once each of them has seen the end.
"""

from __future__ import annotations

import asyncio
import json
import sys

from websockets.asyncio.client import ClientConnection, connect

ACK_EVERY = 50
END = '"type":"completed"'
END_SPACED = '"type": "completed"'


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
        if END in text[:200] or END_SPACED in text[:200]:
            return seen
        if acknowledges and seen % ACK_EVERY == 0 and '"type":"event"' in text[:20]:
            event = json.loads(text)
            await socket.send(json.dumps({"type": "ack", "session": event["session"], "seq": event["event"]["seq"]}))
    raise AssertionError("the socket was closed before the end")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2]), sys.argv[3] if len(sys.argv) > 3 else ""))

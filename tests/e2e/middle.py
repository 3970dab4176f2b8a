"""Stands between a CLI that connects and the server that it connects to, and does what networks and servers do.

It passes on what both sides send, frame by frame, pings and all, and keeps the messages. It can close the connection of
the CLI with any code, cut it, be away for a while, and cut the lines of the server into other frames. POSTs pass, too.
"""

from __future__ import annotations

import asyncio
import json
import re
import struct
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from typing import Any, Self
from urllib.parse import urlsplit

TEXT, BINARY, CLOSE = 0x1, 0x2, 0x8
Framing = Callable[[bytes], Iterable[tuple[int, bytes]]]
"""How one message of the server reaches the CLI: as which frames, each with its kind."""


def as_it_is(message: bytes) -> Iterable[tuple[int, bytes]]:
    return [(TEXT, message)]


def in_pieces(message: bytes) -> Iterable[tuple[int, bytes]]:
    """Cut anywhere, also inside of a line, but not inside of a character: text frames must be whole."""
    text = message.decode()
    return [(TEXT, text[start : start + 11].encode()) for start in range(0, len(text), 11)]


def joined_with_others(message: bytes) -> Iterable[tuple[int, bytes]]:
    """Together with other lines, in one frame."""
    idle = b'{"type":"keep_alive"}\n'
    return [(TEXT, idle + message + idle)]


def as_bytes(message: bytes) -> Iterable[tuple[int, bytes]]:
    return [(BINARY, message)]


class Middle:
    """A proxy for one CLI. `async with`; `url` is where the CLI connects to."""

    def __init__(self, url: str) -> None:
        self._path = urlsplit(url).path
        self.leads_to(url)
        self._server: asyncio.Server | None = None
        self._port = 0
        self._cli: asyncio.StreamWriter | None = None
        self._writers: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._changed = asyncio.Condition()
        self.framing: Framing = as_it_is
        self.headers: list[dict[str, str]] = []
        """Those of each WebSocket that the CLI has opened, with names in lower case."""
        self.posts: list[dict[str, Any]] = []
        """What the CLI has posted, by request."""
        self.from_cli: list[dict[str, Any]] = []
        self.to_cli: list[dict[str, Any]] = []
        self.trail: list[tuple[str, str]] = []
        """What happened to the CLI's requests, in order: ("acknowledged" or "answered", id of the request)."""

    async def __aenter__(self) -> Self:
        await self.come_back()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.go_away()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    @property
    def url(self) -> str:
        return f"ws://127.0.0.1:{self._port}{self._path}"

    @property
    def connections(self) -> int:
        """How often the CLI has connected."""
        return len(self.headers)

    def leads_to(self, url: str) -> None:
        """Pass on to this server from now on."""
        target = urlsplit(url)
        self._hub = (target.hostname or "", target.port or 80)

    # ------------------------------------------------------------ what happens to the connection

    async def close(self, code: int) -> None:
        """Close the CLI's connection as a server does; 1006: without a word."""
        assert self._cli is not None
        if code == 1006:
            self._cli.transport.abort()
            return
        self._cli.write(_frame(CLOSE, struct.pack("!H", code)))
        with suppress(ConnectionError):
            await self._cli.drain()
        self._cli.close()

    async def go_away(self) -> None:
        """Cut every connection, and listen no more."""
        if self._server is not None:
            self._server.close()
            self._server = None
        for writer in self._writers:
            writer.transport.abort()

    async def come_back(self) -> None:
        """Listen where it listened before."""
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", self._port)
        self._port = self._server.sockets[0].getsockname()[1]

    # ------------------------------------------------------------ what a test waits for

    async def connected(self, times: int) -> None:
        """Wait until the CLI has connected so often."""
        await self.until(lambda: self.connections >= times)

    async def until(self, condition: Callable[[], object], timeout: float = 60.0) -> None:
        """Wait for something that a message or a connection brings."""
        async with asyncio.timeout(timeout), self._changed:
            await self._changed.wait_for(lambda: bool(condition()))

    # ------------------------------------------------------------ passing on

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.get_running_loop().create_task(self._serve(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, from_cli: asyncio.StreamReader, cli: asyncio.StreamWriter) -> None:
        from_hub, hub = await asyncio.open_connection(*self._hub)
        both = {cli, hub}
        self._writers |= both
        try:
            with suppress(asyncio.IncompleteReadError, ConnectionError):
                head = await from_cli.readuntil(b"\r\n\r\n")
                is_socket = re.search(rb"^upgrade: *websocket", head, re.IGNORECASE | re.MULTILINE) is not None
                work = self._socket if is_socket else self._requests
                await work(head, from_cli, cli, from_hub, hub)
        finally:
            self._writers -= both
            for each in both:
                each.transport.abort()

    async def _socket(
        self,
        head: bytes,
        from_cli: asyncio.StreamReader,
        cli: asyncio.StreamWriter,
        from_hub: asyncio.StreamReader,
        hub: asyncio.StreamWriter,
    ) -> None:
        # Without compression, frames can be read and cut.
        hub.write(self._to_hub(re.sub(rb"(?im)^sec-websocket-extensions:.*\r\n", b"", head)))
        cli.write(answer := await from_hub.readuntil(b"\r\n\r\n"))
        assert answer.startswith(b"HTTP/1.1 101"), answer
        self._cli = cli
        await self._note(lambda: self.headers.append(_headers(head)))
        await _first_of(self._up(from_cli, hub), self._down(from_hub, cli))

    async def _up(self, from_cli: asyncio.StreamReader, hub: asyncio.StreamWriter) -> None:
        while True:
            raw, kind, payload = await _read_frame(from_cli)
            hub.write(raw)
            if kind in (TEXT, BINARY):
                await self._note(lambda payload=payload: self.from_cli.extend(_lines(payload)))  # type: ignore[misc]

    async def _down(self, from_hub: asyncio.StreamReader, cli: asyncio.StreamWriter) -> None:
        while True:
            raw, kind, payload = await _read_frame(from_hub)
            if kind not in (TEXT, BINARY):
                cli.write(raw)
                continue
            await self._note(lambda payload=payload: self._saw_from_hub(_lines(payload)))  # type: ignore[misc]
            cli.write(b"".join(_frame(*each) for each in self.framing(payload)))

    def _saw_from_hub(self, frames: list[dict[str, Any]]) -> None:
        self.to_cli += frames
        answers = [frame["response"]["request_id"] for frame in frames if frame["type"] == "control_response"]
        self.trail += [("answered", each) for each in answers]

    async def _requests(
        self,
        head: bytes,
        from_cli: asyncio.StreamReader,
        cli: asyncio.StreamWriter,
        from_hub: asyncio.StreamReader,
        hub: asyncio.StreamWriter,
    ) -> None:
        posted: list[dict[str, Any]] = []

        async def up(head: bytes) -> None:
            while True:
                raw = await from_cli.readexactly(int(_headers(head)["content-length"]))
                body = json.loads(raw)
                posted.extend(body["events"])
                await self._note(lambda body=body: self.posts.append(body))  # type: ignore[misc]
                hub.write(self._to_hub(head) + raw)
                head = await from_cli.readuntil(b"\r\n\r\n")

        async def down() -> None:
            while data := await from_hub.read(65536):
                requests = [event["request_id"] for event in posted if event["type"] == "control_request"]
                posted.clear()
                self.trail += [("acknowledged", each) for each in requests]
                cli.write(data)

        await _first_of(up(head), down())

    def _to_hub(self, head: bytes) -> bytes:
        """A request with the name of the server, which takes no others."""
        return re.sub(rb"(?im)^host:.*\r\n", b"Host: %s:%d\r\n" % (self._hub[0].encode(), self._hub[1]), head)

    async def _note(self, change: Callable[[], None]) -> None:
        async with self._changed:
            change()
            self._changed.notify_all()


async def _first_of(*works: Awaitable[None]) -> None:
    """Until one of them ends: then the others do, too."""
    tasks = [asyncio.ensure_future(work) for work in works]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _read_frame(reader: asyncio.StreamReader) -> tuple[bytes, int, bytes]:
    """A frame as it came, its kind, and its payload."""
    raw = await reader.readexactly(2)
    length, masked = raw[1] & 0x7F, raw[1] & 0x80
    if length >= 126:
        extended = await reader.readexactly(2 if length == 126 else 8)
        raw, length = raw + extended, int.from_bytes(extended)
    mask = await reader.readexactly(4) if masked else b""
    payload = await reader.readexactly(length)
    return raw + mask + payload, raw[0] & 0x0F, _unmasked(payload, mask)


def _unmasked(payload: bytes, mask: bytes) -> bytes:
    if not mask:
        return payload
    repeated = (mask * (len(payload) // 4 + 1))[: len(payload)]
    return (int.from_bytes(payload) ^ int.from_bytes(repeated)).to_bytes(len(payload))


def _frame(kind: int, payload: bytes) -> bytes:
    size = len(payload)
    if size < 126:
        length = struct.pack("!B", size)
    elif size < 1 << 16:
        length = struct.pack("!BH", 126, size)
    else:
        length = struct.pack("!BQ", 127, size)
    return bytes([0x80 | kind]) + length + payload


def _headers(head: bytes) -> dict[str, str]:
    lines = head.decode("latin-1").split("\r\n")[1:]
    return {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines) if name}


def _lines(payload: bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in payload.splitlines() if line.strip()]

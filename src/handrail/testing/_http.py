"""A minimal HTTP/1.1 server for loopback: keep-alive, chunked bodies, and clients that leave at any time."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import TypeAlias

__all__ = ["HTTPRequest", "HTTPResponse", "HTTPServer", "Handler"]

_READ_AHEAD = 1 << 20
_MAX_BODY = 1 << 30


@dataclass(frozen=True, slots=True)
class HTTPRequest:
    """One whole request; header names are in lower case."""

    method: str
    path: str
    query: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def keeps_alive(self) -> bool:
        """Whether the client may send another request on the same connection."""
        return self.headers.get("connection", "").lower() != "close"


class HTTPResponse:
    """The answer to one request: either `send` it whole, or `begin`, `write` pieces and `end`."""

    def __init__(self, writer: asyncio.StreamWriter, *, bodyless: bool) -> None:
        self._writer = writer
        self._bodyless = bodyless

    async def send(self, status: int, body: bytes, *, content_type: str = "application/json", **headers: str) -> None:
        """The whole answer at once. Underscores in header names become hyphens."""
        head = _head(status, content_type=content_type, content_length=str(len(body)), **headers)
        await self._write(head if self._bodyless else head + body)

    async def send_half(self, status: int, body: bytes) -> None:
        """Promise the whole body, send half of it and end: what a connection that breaks looks like."""
        head = _head(status, content_type="application/json", content_length=str(len(body)))
        await self._write(head + body[: len(body) // 2])
        self.cut()

    async def begin(self, status: int, *, content_type: str, **headers: str) -> None:
        """Start an answer that comes in pieces."""
        await self._write(_head(status, content_type=content_type, transfer_encoding="chunked", **headers))

    async def write(self, piece: bytes) -> None:
        """One piece, which must not be empty: an empty one would mean the end."""
        await self._write(_chunk(piece))

    async def end(self, piece: bytes) -> None:
        """The last piece."""
        await self._write(_chunk(piece) + _chunk(b""))

    def cut(self) -> None:
        """End the connection where the answer stands, once what was written has left."""
        self._writer.close()

    def abort(self) -> None:
        """Reset the connection at once."""
        self._writer.transport.abort()

    async def _write(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()


Handler: TypeAlias = Callable[[HTTPRequest, HTTPResponse], Awaitable[None]]


class HTTPServer:
    """Serves a handler on one loopback port. A handler whose client leaves is cancelled."""

    def __init__(self, handler: Handler) -> None:
        self._handler = handler
        self._connections: dict[asyncio.Task[None], asyncio.StreamWriter] = {}
        self._server: asyncio.Server | None = None

    async def start(self, host: str, port: int) -> int:
        """Listen, and return the port (useful when the one asked for was 0)."""
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(lambda: _Connection(self._connected), host, port)
        return int(self._server.sockets[0].getsockname()[1])

    async def close(self) -> None:
        """Stop listening and drop every connection."""
        if self._server is None:
            return
        self._server.close()
        connections = dict(self._connections)
        for task, writer in connections.items():
            task.cancel()
            writer.transport.abort()
        await asyncio.gather(*connections, return_exceptions=True)
        await self._server.wait_closed()
        self._server = None

    def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(self._serve(reader, writer))
        self._connections[task] = writer
        task.add_done_callback(self._connections.pop)
        return task

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await self._exchange(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # the client left: nobody is there to be told
        finally:
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while (request := await _read_request(reader, writer)) is not None:
                await self._handler(request, HTTPResponse(writer, bodyless=request.method == "HEAD"))
                if writer.is_closing() or not request.keeps_alive:
                    return
        except _BadRequestError as error:
            refusal = HTTPResponse(writer, bodyless=False)
            await refusal.send(400, str(error).encode(), content_type="text/plain", connection="close")


class _Connection(asyncio.StreamReaderProtocol):
    """Cancels the task that serves a connection when the client goes away: nobody is there to be answered."""

    def __init__(self, connected: Callable[[asyncio.StreamReader, asyncio.StreamWriter], asyncio.Task[None]]) -> None:
        super().__init__(asyncio.StreamReader(limit=_READ_AHEAD), self._start)
        self._connected = connected
        self._task: asyncio.Task[None] | None = None

    def eof_received(self) -> bool:
        super().eof_received()
        self._stop()
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._stop()

    def _start(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._task = self._connected(reader, writer)

    def _stop(self) -> None:
        if self._task is not None:
            self._task.cancel()


class _BadRequestError(Exception):
    """What arrived is not HTTP as this server understands it."""


async def _read_request(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> HTTPRequest | None:
    """The next request, or None at the end of the connection."""
    try:
        head = await _read_until(reader, b"\r\n\r\n")
    except asyncio.IncompleteReadError as error:
        if error.partial.strip():
            raise
        return None
    method, target, headers = _parse_head(head)
    if headers.get("expect", "").lower() == "100-continue":
        writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
    path, _, query = target.partition("?")
    return HTTPRequest(method, path, query, headers, await _read_body(reader, headers))


async def _read_until(reader: asyncio.StreamReader, separator: bytes) -> bytes:
    try:
        return await reader.readuntil(separator)
    except asyncio.LimitOverrunError as error:
        raise _BadRequestError("a header is too long") from error


def _parse_head(head: bytes) -> tuple[str, str, dict[str, str]]:
    start, *lines = head.decode("latin-1").strip("\r\n").split("\r\n")
    parts = start.split(" ")
    if len(parts) != 3 or not parts[2].startswith("HTTP/1."):
        raise _BadRequestError(f"not an HTTP/1 request line: {start[:100]!r}")
    headers = {}
    for line in lines:
        name, colon, value = line.partition(":")
        if not colon:
            raise _BadRequestError(f"not a header: {line[:100]!r}")
        headers[name.strip().lower()] = value.strip()
    return parts[0], parts[1], headers


async def _read_body(reader: asyncio.StreamReader, headers: Mapping[str, str]) -> bytes:
    if "chunked" in headers.get("transfer-encoding", "").lower():
        return await _read_chunks(reader)
    return await reader.readexactly(_size(headers.get("content-length", "0"), base=10))


async def _read_chunks(reader: asyncio.StreamReader) -> bytes:
    chunks = []
    while size := _size((await _read_until(reader, b"\n")).split(b";")[0].decode("latin-1"), base=16):
        chunks.append(await reader.readexactly(size))
        await reader.readexactly(2)
    while (await _read_until(reader, b"\n")).strip():
        pass  # trailers say nothing that matters here
    return b"".join(chunks)


def _size(text: str, *, base: int) -> int:
    try:
        size = int(text.strip(), base)
    except ValueError as error:
        raise _BadRequestError(f"not a length: {text[:100]!r}") from error
    if not 0 <= size <= _MAX_BODY:
        raise _BadRequestError(f"a length of {size} bytes is out of range")
    return size


def _chunk(piece: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(piece), piece)


def _head(status: int, **headers: str) -> bytes:
    try:
        reason = HTTPStatus(status).phrase
    except ValueError:
        reason = "Error"  # 529 is the API's own
    lines = [
        f"HTTP/1.1 {status} {reason}",
        *(f"{name.replace('_', '-')}: {headers[name]}" for name in headers),
    ]
    return "\r\n".join([*lines, "", ""]).encode("latin-1")

"""A listener of one session's own, on the loopback interface: for a CLI that we start ourselves to dial in.

It serves what a hub serves for CLIs from elsewhere: the WebSocket, and POSTs of those that send by HTTP.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
import secrets
from types import TracebackType
from typing import Self

import h11
from websockets.extensions.permessage_deflate import ServerPerMessageDeflateFactory
from websockets.http11 import Request
from websockets.server import ServerProtocol

from handrail.errors import LaunchError
from handrail.transports.ingress.posting import events_of, posts_path
from handrail.transports.ingress.sockets import SocketClosed
from handrail.transports.ingress.stream_socket import StreamSocket
from handrail.transports.ingress.transport import IngressTransport

__all__ = ["LONGEST_MESSAGE", "LoopbackIngress"]

logger = logging.getLogger("handrail.ingress")

LONGEST_MESSAGE = 65 * 1024 * 1024
"""Of a message and of a POST, in bytes: a line of the greatest length fits."""
LONGEST_HEAD = 64 * 1024
HEAD_PATIENCE = 10.0
READ_AT_ONCE = 64 * 1024


class LoopbackIngress:
    """Serves `transport` to whoever shows its token. Used with `async with`."""

    def __init__(self, transport: IngressTransport, *, session: str = "session") -> None:
        self.token = secrets.token_urlsafe(32)
        self._transport = transport
        self._path = f"/v1/session_ingress/ws/{session}"
        self._server: asyncio.Server | None = None
        self._work: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        try:
            self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0, limit=LONGEST_HEAD)
        except OSError as error:
            raise LaunchError(
                f"nothing can be listened on for the CLI to dial in: {error.strerror or error}"
            ) from error
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._server is not None:
            self._server.close()
        for task in self._work:
            task.cancel()
        await asyncio.gather(*self._work, return_exceptions=True)

    @property
    def url(self) -> str:
        """Where the CLI dials in."""
        if self._server is None:
            raise LaunchError("the listener is not open")
        return f"ws://127.0.0.1:{self._server.sockets[0].getsockname()[1]}{self._path}"

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.get_running_loop().create_task(self._serve(reader, writer))
        self._work.add(task)
        task.add_done_callback(self._work.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(HEAD_PATIENCE):
                head = await reader.readuntil(b"\r\n\r\n")
            if head.startswith(b"POST "):
                await self._serve_posts(head, reader, writer)
            else:
                await self._serve_socket(head, reader, writer)
        except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, SocketClosed) as error:
            logger.debug("a connection ended: %s", error)
        finally:
            writer.close()

    def _is_known(self, authorization: str | None) -> bool:
        shown = (authorization or "").partition(" ")[2].strip()
        return hmac.compare_digest(shown.encode(), self.token.encode())

    # ------------------------------------------------------------ the socket

    async def _serve_socket(self, head: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        protocol = ServerProtocol(
            extensions=[ServerPerMessageDeflateFactory()], max_size=LONGEST_MESSAGE, logger=_quiet_logger
        )
        protocol.receive_data(head)
        request = next((event for event in protocol.events_received() if isinstance(event, Request)), None)
        if request is None:
            return
        response = protocol.accept(request)
        if request.path != self._path:
            response = protocol.reject(404, "there is no such session\n")
        elif not self._is_known(request.headers.get("Authorization")):
            logger.warning("a CLI without the right token was refused")
            response = protocol.reject(401, "the token is not that of this session\n")
        protocol.send_response(response)
        writer.write(b"".join(protocol.data_to_send()))  # the end is marked by an empty piece, which is no data
        if response.status_code != 101:
            await writer.drain()
            return
        async with StreamSocket(protocol, reader, writer) as socket:
            await self._transport.serve(socket, last_request_id=request.headers.get("X-Last-Request-Id"))

    # ------------------------------------------------------------ POSTs

    async def _serve_posts(self, head: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """The requests of one HTTP connection, one after the other."""
        connection = h11.Connection(h11.SERVER, max_incomplete_event_size=LONGEST_HEAD)
        connection.receive_data(head)
        try:
            while await self._serve_post(connection, reader, writer):
                connection.start_next_cycle()
        except h11.RemoteProtocolError as error:
            logger.warning("a request could not be read: %s", error)

    async def _serve_post(
        self, connection: h11.Connection, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> bool:
        """One request; returns whether another may follow on the same connection."""
        request = await _next_event(connection, reader)
        if not isinstance(request, h11.Request):
            return False
        status = self._refusal_of(request)
        if status is None:  # of strangers nothing more is read
            body = await _body(connection, reader)
            events = events_of(body) if body is not None else None
            if events is not None:
                async with self._transport.posted(events):
                    await _respond(connection, writer, 200)
                return connection.our_state is h11.DONE
            status = 413 if body is None else 400
        logger.warning("a POST was refused with %d", status)
        await _respond(connection, writer, status)
        return connection.our_state is connection.their_state is h11.DONE

    def _refusal_of(self, request: h11.Request) -> int | None:
        """With which status to refuse a request, as far as its head says."""
        if request.target.decode("latin-1") != posts_path(self._path):
            return 404
        return None if self._is_known(_header(request, b"authorization")) else 401


_quiet_logger = logging.getLogger("handrail.ingress.websockets")
_quiet_logger.setLevel(logging.ERROR)


async def _next_event(connection: h11.Connection, reader: asyncio.StreamReader) -> object:
    while (event := connection.next_event()) is h11.NEED_DATA:
        connection.receive_data(await reader.read(READ_AT_ONCE))
    return event


async def _body(connection: h11.Connection, reader: asyncio.StreamReader) -> bytes | None:
    """The body of a request; None if it is too large."""
    parts: list[bytes] = []
    size = 0
    while isinstance(event := await _next_event(connection, reader), h11.Data):
        size += len(event.data)
        if size <= LONGEST_MESSAGE:
            parts.append(bytes(event.data))
    return b"".join(parts) if size <= LONGEST_MESSAGE else None


async def _respond(connection: h11.Connection, writer: asyncio.StreamWriter, status: int) -> None:
    content = b"{}" if status == 200 else b'{"error": "refused"}'
    headers = [("content-type", "application/json"), ("content-length", str(len(content)))]
    for event in (h11.Response(status_code=status, headers=headers), h11.Data(data=content), h11.EndOfMessage()):
        writer.write(connection.send(event) or b"")
    await writer.drain()


def _header(request: h11.Request, name: bytes) -> str | None:
    return next((value.decode("latin-1") for key, value in request.headers if key == name), None)

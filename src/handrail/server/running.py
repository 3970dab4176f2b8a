"""Serving the hub: on an address for browsers and programs, and on a socket of this machine for `handrail` itself.

Through the socket the kernel says which process calls, so a command needs no token, and a session's own processes can
be told from the people who answer them.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import ssl
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from handrail.errors import HandrailError
from handrail.server.auth.requests import UNIX_PREFIX
from handrail.server.live.compression import SharedDeflateFactory
from handrail.server.waiting import WaitingRoom
from handrail.sessions.owning.owner_peer import peer_of

if TYPE_CHECKING:
    from handrail.server.hub import HubSettings

__all__ = ["HubServer", "listen"]

logger = logging.getLogger("handrail.server")

BACKLOG = 512
LONGEST_MESSAGE = 1024 * 1024
LONGEST_HEAD = 128 * 1024
"""Of a request: its line and headers. The longest query that the API takes fits, each character written as twelve."""
SOCKET_EXTENSION = "handrail.socket"
PATIENCE_WITH_REQUESTS = 10
BETWEEN_LOOKS = 0.005


def _peer(transport: Any) -> tuple[str, int] | None:
    """The process behind a Unix socket, as the kernel knows it."""
    link = transport.get_extra_info("socket")
    if link is None or link.family != socket.AF_UNIX:
        return None
    peer = peer_of(link.fileno())
    return f"{UNIX_PREFIX}{peer.pid}", peer.uid


class HttpProtocol(H11Protocol):
    """Says in each scope which process of this machine calls, and does not wait for requests without end."""

    def __init__(self, *args: Any, room: WaitingRoom, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._room = room

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self.client = _peer(transport) or self.client
        self._room.enter(self)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.transport.is_closing() or self.transport.get_protocol() is not self:
            self._room.leave(self)
        elif self.cycle is None or self.cycle.response_complete:
            self._room.enter(self)
        elif self.cycle.more_body and not self.flow.read_paused:
            self._room.enter(self, again=True)  # long bodies may take long, as long as more of them comes
        else:
            self._room.leave(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._room.leave(self)
        super().connection_lost(exc)

    def send_away(self) -> None:
        self.transport.abort()


class LiveProtocol(WebSocketsSansIOProtocol):
    """The same for WebSockets, whose messages are compressed once for all of them."""

    def __init__(self, *args: Any, compression: SharedDeflateFactory, room: WaitingRoom, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.conn.available_extensions = [compression]
        self._room = room
        self._pings: dict[bytes, asyncio.Future[None]] = {}

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self.client = _peer(transport) or self.client

    def handle_connect(self, event: Any) -> None:
        super().handle_connect(event)
        if hasattr(self, "scope"):  # else it was refused before it could be one
            self.scope["extensions"][SOCKET_EXTENSION] = cast("Any", SocketControl(self))

    async def ping(self) -> None:
        payload = os.urandom(8)
        pong = self._pings[payload] = self.loop.create_future()
        try:
            if self.disconnected or self.close_sent:
                raise ConnectionError("the socket is gone")
            self.conn.send_ping(payload)
            self.transport.write(b"".join(self.conn.data_to_send()))
            await pong
        finally:
            del self._pings[payload]

    def handle_pong(self, event: Any) -> None:
        pong = self._pings.get(bytes(event.data))
        if pong is not None and not pong.done():
            pong.set_result(None)
        super().handle_pong(event)

    def connection_lost(self, exc: Exception | None) -> None:
        self._room.leave(self)
        super().connection_lost(exc)
        for pong in self._pings.values():
            if not pong.done():
                pong.set_exception(ConnectionError("the socket is gone"))

    async def send(self, message: Any) -> None:
        await super().send(message)
        # A socket that is refused with an answer is done with; uvicorn would log it as a mistake of ours.
        if message["type"] == "websocket.http.response.body" and not message.get("more_body"):
            self.handshake_complete = True
        if message["type"] == "websocket.close":
            self._room.enter(self)  # whoever was refused may take its time to hang up

    def send_away(self) -> None:
        self.transport.abort()


class SocketControl:
    """What ASGI leaves out, for sockets that are no viewer's: in a socket's scope, as an extension of that name."""

    def __init__(self, protocol: LiveProtocol) -> None:
        self._protocol = protocol

    async def ping(self) -> None:
        """Send a ping and wait for its pong. Raises `ConnectionError` once the socket is gone."""
        await self._protocol.ping()

    def allow(self, longest: int) -> None:
        """Take messages of up to so many bytes from now on: whoever sends them has shown who they are."""
        self._protocol.conn.max_message_size = longest


class HubServer:
    """Serves an application on sockets that are open already. Used with `async with`."""

    def __init__(self, app: Any, sockets: Sequence[socket.socket], *, tls: ssl.SSLContext | None = None) -> None:
        self._sockets = list(sockets)
        room = WaitingRoom()
        config = uvicorn.Config(
            app,
            http=cast("Any", partial(HttpProtocol, room=room)),
            ws=cast("Any", partial(LiveProtocol, compression=SharedDeflateFactory(), room=room)),
            ws_per_message_deflate=False,  # it would compress for each socket by itself
            ws_max_size=LONGEST_MESSAGE,
            h11_max_incomplete_event_size=LONGEST_HEAD,
            lifespan="off",
            log_config=None,
            access_log=False,
            proxy_headers=False,  # the hub's own guards know which proxies to believe
            server_header=False,
            date_header=False,
            backlog=BACKLOG,
        )
        config.load()
        if tls is not None:
            config.ssl = tls
        self._server = uvicorn.Server(config)
        self._server.lifespan = config.lifespan_class(config)

    async def __aenter__(self) -> HubServer:
        # Its `serve` would also look after signals, and look ten times a second whether it is over.
        await self._server.startup(sockets=self._sockets)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def stop(self) -> None:
        """Take no new requests, and wait for those that are under way, not for ever. Idempotent."""
        for server in self._server.servers:
            server.close()
        try:
            async with asyncio.timeout(PATIENCE_WITH_REQUESTS):
                await self._let_go()
        except TimeoutError:
            unanswered = self._server.server_state.tasks
            logger.warning("cut off %d requests that were not answered in time", len(unanswered))
            for task in unanswered:
                task.cancel()
            await asyncio.gather(*unanswered, return_exceptions=True)

    async def _let_go(self) -> None:
        """Tell each connection that it is over, and wait until all are."""
        state = self._server.server_state
        told: set[object] = set()
        while state.connections or state.tasks:
            for connection in state.connections - told:
                told.add(connection)
                connection.shutdown()
            await asyncio.sleep(BETWEEN_LOOKS)


def listen(settings: HubSettings) -> socket.socket:
    """The socket for browsers and programs. Raises `HandrailError`, which says what to do."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)  # named, or asyncio leaves Nagle on
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((settings.host, settings.port))
        listener.listen(BACKLOG)
        listener.setblocking(False)
    except OSError as error:
        listener.close()
        raise HandrailError(
            f"cannot listen on {settings.host}:{settings.port}: {error.strerror or error}. "
            "Is another hub running? Choose another port with --port"
        ) from None
    return listener

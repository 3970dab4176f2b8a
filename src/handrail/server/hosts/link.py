"""The link to one host: a WebSocket over which everything between the two goes, in parcels of many messages."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable
from contextlib import suppress
from typing import Any, Final, Protocol

from starlette.websockets import WebSocket, WebSocketDisconnect, WebSocketDisconnected

from handrail.errors import HandrailError, LocalProtocolError
from handrail.link import wire

__all__ = [
    "CLOSE_CODES",
    "CONFLICT",
    "PROTOCOL",
    "REPLACED",
    "REVOKED",
    "VERSION",
    "HostLink",
    "Serves",
    "first_message",
    "short",
]

logger = logging.getLogger("handrail.hosts")

PROTOCOL: Final = 4400
REVOKED: Final = 4401
CONFLICT: Final = 4409
VERSION: Final = 4426
REPLACED: Final = 4000
FAILED: Final = 1011
STOPPING: Final = 1012

CLOSE_CODES: Final = {
    REPLACED: "the same host has connected again",
    PROTOCOL: "this is not the protocol of hosts",
    REVOKED: "the host's key is not good any more",
    CONFLICT: "another process uses this host's key",
    VERSION: "this version of the protocol is not spoken here",
    FAILED: "the hub made a mistake, its log says more: connect again",
    STOPPING: "the hub stops: connect again",
}
"""Why the hub closes a link."""

HELLO_PATIENCE: Final = 10.0
PING_EVERY: Final = 10.0
PONG_PATIENCE: Final = 20.0
CLOSING_PATIENCE: Final = 2.0
LARGEST_PARCEL: Final = 256 * 1024
"""About how many bytes of small messages go into one parcel."""
MOST_OFFERED: Final = 200_000
"""How many journals a host may have offered before they are compared with the copies."""


class Pinging(Protocol):
    """What the server offers for a socket."""

    async def ping(self) -> None:
        """Returns when the other side has answered."""

    def allow(self, longest: int) -> None:
        """Take messages of up to so many bytes from now on."""


class Serves(Protocol):
    """Who takes what a host says."""

    def offer(self, offer: wire.Offer) -> Awaitable[None]: ...

    def page(self, page: wire.Page) -> None: ...

    def deltas(self, deltas: wire.Deltas) -> None: ...

    def gone(self, gone: wire.Gone) -> None: ...

    def reply(self, reply: wire.Reply) -> None: ...

    def callback(self, callback: wire.Callback) -> None: ...

    def facts(self, facts: wire.Facts) -> Awaitable[None]: ...

    def seen(self) -> Awaitable[None]:
        """The host has answered a ping."""


class HostLink:
    """One link, from its Hello to its end. `send` never waits; what is sent goes out in order."""

    def __init__(self, socket: WebSocket, name: str, hello: wire.Hello) -> None:
        self.hello = hello
        self.over = asyncio.Event()
        """Set once the socket is closed and everything of it is done."""
        self._socket = socket
        self._name = name
        self._pinging: Pinging | None = socket.scope.get("extensions", {}).get("handrail.socket")
        self._outgoing: list[wire.FromHub] = []
        self._something = asyncio.Event()
        self._all_sent = asyncio.Event()
        self._all_sent.set()
        self._offers: asyncio.Queue[wire.Offer] = asyncio.Queue()
        self._offered = 0
        self._closing = asyncio.Event()
        self._code = STOPPING
        self._reason = CLOSE_CODES[STOPPING]

    def send(self, message: wire.FromHub) -> None:
        """Have a message sent. What cannot be sent any more is dropped: it is told again on the next link."""
        self._outgoing.append(message)
        self._all_sent.clear()
        self._something.set()

    def close(self, code: int, reason: str = "") -> None:
        """End the link, with one of `CLOSE_CODES`."""
        if not self._closing.is_set():
            self._code, self._reason = code, reason or CLOSE_CODES[code]
            self._closing.set()

    async def is_alive(self, patience: float) -> bool:
        """Whether the other side answers."""
        if self._closing.is_set():
            return False
        if self._pinging is None:
            return True
        try:
            async with asyncio.timeout(patience):
                await self._pinging.ping()
        except (TimeoutError, OSError, RuntimeError, HandrailError):
            return False
        return True

    async def run(self, serves: Serves) -> None:
        """Serve the link until it ends. Never raises for what the host does."""
        loop = asyncio.get_running_loop()
        works = (self._receive(serves), self._send(), self._take_offers(serves), self._ping(serves), self._closed())
        tasks = [loop.create_task(work) for work in works]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            self._judge(await asyncio.gather(*tasks, return_exceptions=True))
            self._closing.set()
            await self._say_goodbye()

    def _judge(self, results: list[BaseException | None]) -> None:
        """Say why it ends, if that is for something that went wrong."""
        for error in results:
            if isinstance(error, LocalProtocolError):
                logger.warning("the link of %s is closed: %s", self._name, error)
                self.close(PROTOCOL, short(str(error)))
            elif isinstance(error, HandrailError):
                logger.warning("the link of %s is closed: %s", self._name, error)
                self.close(FAILED, short(str(error)))
            elif isinstance(error, Exception) and not isinstance(error, WebSocketDisconnect | WebSocketDisconnected):
                logger.error("the link of %s failed", self._name, exc_info=error)
                self.close(FAILED)

    async def _say_goodbye(self) -> None:
        # It may be closed from the other side already, or not be read any more: then the server drops it.
        with suppress(RuntimeError, WebSocketDisconnect, TimeoutError):
            async with asyncio.timeout(CLOSING_PATIENCE):
                await self._socket.close(self._code, self._reason)

    async def _closed(self) -> None:
        await self._closing.wait()

    # ------------------------------------------------------------ what comes

    async def _receive(self, serves: Serves) -> None:
        # Always read at once: pings are answered on the same socket. What is too much is refused, not left waiting.
        while (parcel := await next_parcel(self._socket)) is not None:
            for message in wire.decode_from_host(parcel):
                await self._take(message, serves)

    async def _take(self, message: wire.FromHost, serves: Serves) -> None:
        match message:
            case wire.Page():
                serves.page(message)
            case wire.Deltas():
                serves.deltas(message)
            case wire.Reply():
                serves.reply(message)
            case wire.Callback():
                serves.callback(message)
            case wire.Gone():
                serves.gone(message)
            case wire.Facts():
                await serves.facts(message)
            case wire.Offer():
                self._queue(message)
            case wire.Hello():
                raise LocalProtocolError("a host says hello once")

    def _queue(self, offer: wire.Offer) -> None:
        self._offered += _weight(offer)
        if self._offered > MOST_OFFERED:
            raise LocalProtocolError(f"more than {MOST_OFFERED} journals are offered at once: too many")
        self._offers.put_nowait(offer)

    async def _take_offers(self, serves: Serves) -> None:
        """One after the other, beside the rest: the copies are looked up in the store."""
        while True:
            offer = await self._offers.get()
            await self._all_sent.wait()  # a host that offers and does not read would have its answers pile up here
            await serves.offer(offer)
            self._offered -= _weight(offer)

    # ------------------------------------------------------------ what goes

    async def _send(self) -> None:
        while True:
            await self._something.wait()
            self._something.clear()
            while self._outgoing:
                # Waits while the other side does not read.
                await self._socket.send_bytes(self._next_parcel())
            self._all_sent.set()

    def _next_parcel(self) -> bytes:
        """As many messages as fit into one parcel, at least one."""
        size = count = 0
        for message in self._outgoing:
            size += len(message.params) if isinstance(message, wire.Command) else 100
            if count and size > LARGEST_PARCEL:
                break
            count += 1
        taken, self._outgoing = self._outgoing[:count], self._outgoing[count:]
        return wire.pack(taken)

    async def _ping(self, serves: Serves) -> None:
        """See that the other side is there: a cut is not always told."""
        while True:
            await asyncio.sleep(PING_EVERY)
            if not await self.is_alive(PONG_PATIENCE):
                logger.warning("%s does not answer any more: its link is closed", self._name)
                return
            await serves.seen()


async def first_message(socket: WebSocket) -> wire.Hello:
    """What a host says first. Raises `LocalProtocolError` if it does not say hello, and soon."""
    try:
        async with asyncio.timeout(HELLO_PATIENCE):
            parcel = await next_parcel(socket)
    except TimeoutError:
        raise LocalProtocolError(f"a host says hello within {HELLO_PATIENCE:.0f} s") from None
    if parcel is None:
        raise LocalProtocolError("it was gone before it said hello")
    messages = wire.decode_from_host(parcel)
    if len(messages) != 1 or not isinstance(messages[0], wire.Hello):
        raise LocalProtocolError("a host says hello first, and alone")
    return messages[0]


async def next_parcel(socket: WebSocket) -> bytes | None:
    """The next parcel; None at the end."""
    message: Any = await socket.receive()
    if message["type"] == "websocket.disconnect":
        return None
    parcel = message.get("bytes")
    if parcel is None:
        raise LocalProtocolError("a parcel is binary, not text")
    return bytes(parcel)


def _weight(offer: wire.Offer) -> int:
    return 1 + len(offer.heads)


def short(reason: str) -> str:
    """A reason as a close frame takes it: at most 123 bytes."""
    return reason.encode()[:120].decode(errors="ignore")

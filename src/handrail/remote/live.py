"""The live streams of a hub: every event of any number of sessions, over as few WebSockets as that takes.

A socket follows a session once, so two readers of the same session use two sockets. What comes is acknowledged as it
comes: a reader that is slow is left behind by itself, and holds up nobody else.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

import msgspec

from handrail.errors import HandrailError, SessionNotFound
from handrail.events.model import Delta
from handrail.remote.connection import HubConnection
from handrail.remote.errors import HubError
from handrail.remote.live_reader import LiveReader
from handrail.remote.sockets import LastingSocket, Watcher, both
from handrail.sessions.feed import Item

if TYPE_CHECKING:
    from websockets.asyncio.client import ClientConnection

__all__ = ["LivePool"]

logger = logging.getLogger("handrail.hub")

LIVE_PATH: Final = "/api/live"
MOST_FOLLOWS: Final = 90
"""Of one socket; a hub takes 100."""
ACKNOWLEDGED_EVERY: Final = 50
ACKNOWLEDGED_BYTES: Final = 128 * 1024

OnHome = Callable[[dict[str, Any]], None]


class _Message(msgspec.Struct):
    """Whatever the hub says: the fields of all its messages that matter here."""

    type: str
    session: str = ""
    event: msgspec.Raw = msgspec.Raw(b"")
    delta: Delta | None = None
    seq: int = 0
    code: str = ""
    detail: str = ""


_decoder = msgspec.json.Decoder(_Message)
_encoder = msgspec.json.Encoder()


class _Quiet:
    """A watcher who wants to know nothing."""

    def connected(self) -> None: ...

    def disconnected(self, reason: str) -> None: ...

    def failed(self, error: HandrailError) -> None: ...


class LivePool:
    """The sockets of one hub. The first one says whether the hub is connected, and has the list of what waits."""

    def __init__(self, connection: HubConnection, watcher: Watcher) -> None:
        self._connection = connection
        self._watcher = watcher
        self._links: list[_Link] = []

    def open(self) -> None:
        """Connect now, and stay connected."""
        self._primary()

    def on_home(self, listener: OnHome) -> Callable[[], None]:
        """Call `listener` with each message about the sessions and asks of the hub; returns what ends that."""
        primary = self._primary()
        primary.listen(listener)
        return lambda: primary.unlisten(listener)

    async def follow(self, session_id: str, after: int, *, deltas: bool) -> AsyncGenerator[Item, None]:
        """Every event behind number `after`, each once, and deltas between them, until you leave."""
        reader = LiveReader(session_id, after, deltas=deltas)
        link = self._link_for(session_id)
        link.add(reader)
        try:
            while (item := await reader.next(lambda: link.go_on(reader))) is not None:
                yield item
        finally:
            link.remove(reader)
            if link.is_idle and link in self._links[1:]:
                self._links.remove(link)
                await link.close()

    async def close(self) -> None:
        """Let go of all of them. Whoever follows something is at its end."""
        links, self._links = self._links, []
        for link in links:
            await link.close()

    def _primary(self) -> _Link:
        if not self._links:
            self._links.append(_Link(self._connection, self._watcher))
        return self._links[0]

    def _link_for(self, session_id: str) -> _Link:
        self._primary()
        for link in self._links:
            if link.has_room_for(session_id):
                return link
        link = _Link(self._connection, _Quiet())
        self._links.append(link)
        return link


class _Link:
    """One socket and those who read from it."""

    def __init__(self, connection: HubConnection, watcher: Watcher) -> None:
        self._readers: dict[str, LiveReader] = {}
        self._listeners: list[OnHome] = []
        self._outgoing: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._is_up = False
        self._unacknowledged: dict[str, int] = {}
        self._taken = self._taken_bytes = 0
        self._watcher = watcher
        self._failure: HandrailError | None = None
        socket = LastingSocket(connection, LIVE_PATH, self._serve, self)
        self._task = asyncio.get_running_loop().create_task(socket.run(), name="handrail live stream of a hub")

    # ------------------------------------------------------------ readers

    def has_room_for(self, session_id: str) -> bool:
        return session_id not in self._readers and len(self._readers) < MOST_FOLLOWS

    @property
    def is_idle(self) -> bool:
        return not self._readers and not self._listeners

    def add(self, reader: LiveReader) -> None:
        self._readers[reader.session_id] = reader
        if self._failure is not None:
            reader.end(self._failure)
        self._follow(reader)

    def remove(self, reader: LiveReader) -> None:
        if self._readers.get(reader.session_id) is reader:
            del self._readers[reader.session_id]
            self._say(type="unfollow", session=reader.session_id)

    def go_on(self, reader: LiveReader) -> None:
        """A reader has read what waited for it."""
        self._follow(reader)

    def listen(self, listener: OnHome) -> None:
        self._listeners.append(listener)
        self._say(type="home", on=True)

    def unlisten(self, listener: OnHome) -> None:
        if listener in self._listeners:
            self._listeners.remove(listener)
        if not self._listeners:
            self._say(type="home", on=False)

    async def close(self) -> None:
        self._task.cancel()
        with suppress(asyncio.CancelledError):
            await self._task
        for reader in self._readers.values():
            reader.end()

    def _follow(self, reader: LiveReader) -> None:
        reader.follows_anew()
        self._say(type="follow", session=reader.session_id, after=reader.cursor, deltas=reader.deltas)

    def _say(self, **message: Any) -> None:
        if self._is_up:
            self._outgoing.put_nowait(message)

    # ------------------------------------------------------------ the socket (a `Watcher` of its own)

    def connected(self) -> None:
        self._watcher.connected()

    def disconnected(self, reason: str) -> None:
        self._watcher.disconnected(reason)

    def failed(self, error: HandrailError) -> None:
        self._failure = error
        for reader in self._readers.values():
            reader.end(error)
        self._watcher.failed(error)

    async def _serve(self, socket: ClientConnection, came_up: Callable[[], None]) -> None:
        await socket.recv()  # hello
        self._outgoing = asyncio.Queue()
        self._unacknowledged.clear()
        self._is_up = True
        try:
            for reader in self._readers.values():
                if not reader.paused:
                    self._follow(reader)
            if self._listeners:
                self._say(type="home", on=True)
            came_up()
            await both(self._receive(socket), self._send(socket))
        finally:
            self._is_up = False

    async def _send(self, socket: ClientConnection) -> None:
        while True:
            await socket.send(_encoder.encode(await self._outgoing.get()).decode())

    async def _receive(self, socket: ClientConnection) -> None:
        async for text in socket:
            try:
                message = _decoder.decode(text)
            except msgspec.MsgspecError as error:  # of a newer hub: what this version does not know it does not need
                logger.warning("the hub says what cannot be understood: %s", error)
                continue
            if message.type == "home":
                self._tell_home(text)
            else:
                self._take(message, len(text))

    def _tell_home(self, text: str | bytes) -> None:
        home = msgspec.json.decode(text)
        for listener in tuple(self._listeners):
            listener(home)

    def _take(self, message: _Message, size: int) -> None:
        reader = self._readers.get(message.session)
        if reader is None:
            return
        match message.type:
            case "event":
                self._take_event(reader, bytes(message.event), size)
            case "delta" if message.delta is not None and not reader.paused:
                reader.take_delta(message.delta)
            case "caught_up":
                self._acknowledge()
            case "gone":
                reader.end()
            case "problem" if message.code == "session_not_found":
                reader.end(SessionNotFound(message.detail))
            case "problem" if message.code == "too_many_requests":
                reader.end(HubError(message.detail, code=message.code, status=0))

    def _take_event(self, reader: LiveReader, body: bytes, size: int) -> None:
        if reader.paused:
            return
        if not reader.take_event(body):
            self._follow(reader)
            return
        self._unacknowledged[reader.session_id] = reader.cursor
        self._taken += 1
        self._taken_bytes += size
        if self._taken >= ACKNOWLEDGED_EVERY or self._taken_bytes >= ACKNOWLEDGED_BYTES:
            self._acknowledge()
        if reader.is_full:
            reader.paused = True
            self._say(type="unfollow", session=reader.session_id)

    def _acknowledge(self) -> None:
        for session_id, seq in self._unacknowledged.items():
            self._say(type="ack", session=session_id, seq=seq)
        self._unacknowledged.clear()
        self._taken = self._taken_bytes = 0

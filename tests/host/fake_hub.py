"""A small hub: it speaks the wire, keeps copies in a store of its own, and can be slow, deaf or forgetful."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import msgspec
from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.exceptions import ConnectionClosed

from handrail.error_records import error_of
from handrail.errors import StoreError
from handrail.link import wire
from handrail.store.base import CopyHead, Store

HOST = "h1"
NOTHING = {"fence": 0, "last_seq": 0}


class Sink:
    """What a hub does with what a host sends: sans sockets."""

    def __init__(self, store: Store, *, host: str = HOST) -> None:
        self.store = store
        self.host = host
        self.seen: list[wire.FromHost] = []
        self.numbers: dict[str, int] = {}
        self.refusing: set[str] = set()
        self.refuse_next: set[str] = set()

    async def take(self, message: wire.FromHost) -> list[wire.FromHub]:
        """What to say to it. Pages must come numbered from 1, each behind the one before."""
        self.seen.append(message)
        match message:
            case wire.Offer():
                return await self._have(message.heads)
            case wire.Page():
                return await self._page(message)
        return []

    async def _have(self, offered: Sequence[CopyHead]) -> list[wire.FromHub]:
        known = {head.session_id: head for head in await self.store.copied(self.host)}
        heads = [known.get(head.session_id) or _nothing(head.session_id) for head in offered]
        return [wire.Have(heads=heads)] if heads else []

    async def _page(self, message: wire.Page) -> list[wire.FromHub]:
        session = message.page.session.id
        if session in self.refusing and message.number != 1:
            return []
        self.refusing.discard(session)
        assert message.number == 1 or message.number == self.numbers.get(session, 0) + 1
        self.numbers[session] = message.number
        if session in self.refuse_next:
            self.refuse_next.discard(session)
            return [await self._refused(session, "somebody wanted it so")]
        try:
            last = await self.store.take_copy(self.host, message.page)
        except StoreError as error:
            return [await self._refused(session, str(error))]
        return [wire.Ack(session=session, number=message.number, last_seq=last)]

    async def _refused(self, session: str, reason: str) -> wire.CopyRefused:
        self.refusing.add(session)
        row = await self.store.get_session(session)
        return wire.CopyRefused(session=session, last_seq=row.last_seq if row else 0, reason=reason)


def _nothing(session_id: str) -> CopyHead:
    return CopyHead(session_id=session_id, fence=0, last_seq=0)


@dataclass
class FakeHub:
    """A hub behind a real socket. `answer` answers callbacks of programs."""

    sink: Sink
    window: int = 1024 * 1024
    url: str = ""
    key: str = "hrh_secret"
    draining: bool = False
    version: int = wire.VERSION
    hellos: list[wire.Hello] = field(default_factory=list)
    callbacks: list[wire.Callback] = field(default_factory=list)
    answer: Callable[[wire.Callback], wire.CallbackReply | None] = lambda callback: None
    close_with: int | None = None
    """Close each connection at once, with this code."""
    ack: bool = True
    behind_a_login: bool = False
    """Whether something in front of it wants a login first."""
    _replies: dict[str, asyncio.Future[wire.Reply]] = field(default_factory=dict)
    _commands: dict[str, wire.Command] = field(default_factory=dict)
    _socket: ServerConnection | None = None
    _connected: asyncio.Event = field(default_factory=asyncio.Event)
    connections: int = 0

    async def handle(self, socket: ServerConnection) -> None:
        self.connections += 1
        if self.close_with is not None:
            await socket.close(self.close_with, "as the test wants it")
            return
        self.sink.numbers.clear()
        self.sink.refusing.clear()
        try:
            await self._serve(socket)
        except ConnectionClosed:
            pass
        finally:
            if self._socket is socket:
                self._socket = None
                self._connected.clear()

    async def _serve(self, socket: ServerConnection) -> None:
        hello, *_ = wire.decode_from_host(await _bytes(socket))
        assert isinstance(hello, wire.Hello)
        self.hellos.append(hello)
        welcome = wire.Welcome(
            version=self.version,
            hub="fake",
            host_id=HOST,
            name=hello.name,
            window=self.window,
            draining=self.draining,
        )
        first: list[wire.FromHub] = [welcome, *self._commands.values()]
        await socket.send(wire.pack(first))
        self._socket = socket
        self._connected.set()
        while True:
            for message in wire.decode_from_host(await _bytes(socket)):
                await self._take(socket, message)

    async def _take(self, socket: ServerConnection, message: wire.FromHost) -> None:
        answers = await self.sink.take(message)
        if not self.ack:
            answers = [answer for answer in answers if not isinstance(answer, wire.Ack)]
        match message:
            case wire.Reply():
                self._commands.pop(message.id, None)
                future = self._replies.pop(message.id, None)
                if future is not None and not future.done():
                    future.set_result(message)
            case wire.Callback():
                self.callbacks.append(message)
                reply = self.answer(message)
                answers = [*answers, *([reply] if reply is not None else [])]
        if answers:
            await socket.send(wire.pack(answers))

    async def connected(self) -> None:
        """Wait until the host is there."""
        await self._connected.wait()

    async def say(self, *messages: wire.FromHub) -> None:
        await self.connected()
        assert self._socket is not None
        await self._socket.send(wire.pack(messages))

    async def call(self, method: str, session: str = "", **params: Any) -> Any:
        """Have something done: returns its result, or raises what the host raised."""
        reply = await self.reply(self.command(method, session, **params))
        if reply.error is not None:
            raise error_of(reply.error)
        return msgspec.json.decode(reply.result)

    def command(self, method: str, session: str = "", **params: Any) -> wire.Command:
        return wire.Command(
            id=uuid4().hex,
            method=method,
            session=session,
            params=msgspec.json.encode(params),
            actor="ada",
            surface="web",
        )

    async def reply(self, command: wire.Command) -> wire.Reply:
        """Send a command, and again on each new connection, until there is an answer."""
        future = self._replies.setdefault(command.id, asyncio.get_running_loop().create_future())
        self._commands[command.id] = command
        if self._socket is not None:
            await self.say(command)
        return await future

    async def cut(self) -> None:
        """Lose the connection, without a word."""
        if self._socket is not None:
            self._connected.clear()
            self._socket.transport.abort()


async def _bytes(socket: ServerConnection) -> bytes:
    parcel = await socket.recv()
    assert isinstance(parcel, bytes)
    return parcel


@asynccontextmanager
async def fake_hub(sink: Sink, *, port: int = 0, hub: FakeHub | None = None) -> AsyncIterator[FakeHub]:
    """A hub on loopback. The same one again, on the same port, is one that was restarted."""
    hub = hub or FakeHub(sink)

    def check(socket: ServerConnection, request: Any) -> Any:
        if hub.behind_a_login:
            return socket.respond(401, "log in first")
        if request.headers.get("Authorization") != f"Bearer {hub.key}":
            return socket.respond(401, json.dumps({"code": "not_authenticated", "detail": "unknown"}))
        return None if request.path == wire.LINK_PATH else socket.respond(404, "nothing here")

    server: Server = await serve(
        hub.handle, "127.0.0.1", port, process_request=check, max_size=wire.LONGEST_PARCEL, compression=None
    )
    hub.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield hub
    finally:
        server.close()
        await server.wait_closed()

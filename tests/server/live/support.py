"""What tests of the live stream share: a small server over a real store, and clients that build what they are told."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import time
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Self, cast

from msgspec.structs import replace
from starlette.applications import Starlette
from starlette.routing import WebSocketRoute
from starlette.websockets import WebSocket
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from handrail.events.codec import encode_event
from handrail.events.model import Event
from handrail.places import Places
from handrail.protocol.options import Options
from handrail.server.calls import Caller
from handrail.server.live import Live
from handrail.server.running import HubServer
from handrail.sessions.manager import Manager
from handrail.sessions.owning.locks import SessionLock
from handrail.sessions.session import Session
from handrail.store.base import Batch, EventRow, SessionRow, Store
from handrail.store.sqlite import SqliteStore
from handrail.testing import simulated as sim
from handrail.testing.simulated import SimulatedCLI

PATIENCE = 30.0
STORY = " ".join(f"word{number}" for number in range(30))
"""Long enough to be told in parts, however busy the machine is."""


def places_in(directory: Path) -> Places:
    return Places(*(str(directory / name) for name in ("config", "state", "cache", "run")))


class Counter:
    """Counts as the hub's metrics do."""

    def __init__(self) -> None:
        self.viewers = self.sent = self.dropped = 0

    def viewer_came(self) -> None:
        self.viewers += 1

    def viewer_left(self) -> None:
        self.viewers -= 1

    def messages_sent(self, number: int = 1) -> None:
        self.sent += number

    def deltas_dropped(self, number: int = 1) -> None:
        self.dropped += number


class Served:
    """A live stream that is really served."""

    def __init__(self, manager: Manager, directory: Path) -> None:
        self.manager = manager
        self.store: Store = manager.store
        self.meter = Counter()
        self.live = Live(manager, metrics=self.meter)
        self.directory = directory
        self.url = ""

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Self]:
        listener = socket.create_server(("127.0.0.1", 0))
        listener.setblocking(False)
        self.url = f"ws://127.0.0.1:{listener.getsockname()[1]}/api/live"
        app = Starlette(routes=[WebSocketRoute("/api/live", self._endpoint)])
        async with HubServer(app, [listener]), self.live:
            yield self

    async def _endpoint(self, socket: WebSocket) -> None:
        token = socket.headers.get("x-token", "t1")
        await self.live.serve(socket, Caller(name="alice", role="owner", surface="api", token_id=token))

    async def start(self, *steps: sim.Step, **options: Any) -> Session:
        """A session with a simulated CLI that does this."""
        cli = SimulatedCLI(steps, directory=self.directory)
        return await self.manager.start(
            Options(cli_path=str(cli.path), cwd=str(self.directory), include_partial_messages=True, **options)
        )


@asynccontextmanager
async def served_live(directory: Path) -> AsyncIterator[Served]:
    os.makedirs(directory, exist_ok=True)
    async with Manager.local(places_in(directory)) as manager, Served(manager, directory).running() as served:
        yield served


class Client:
    """A client as it should be: it takes in what it is told, acknowledges it, and comes back with what it has."""

    def __init__(self, socket: ClientConnection, *, acks: bool = True) -> None:
        self.socket = socket
        self.acks = acks
        self.messages: list[dict[str, Any]] = []
        self.events: dict[str, list[dict[str, Any]]] = {}
        self.views: dict[str, View] = {}
        self.home = HomeList()
        self.closed: int | None = None
        self._news = asyncio.Event()
        self._reading = asyncio.get_running_loop().create_task(self._read())

    @classmethod
    @asynccontextmanager
    async def connected(cls, url: str, *, acks: bool = True, **headers: str) -> AsyncIterator[Self]:
        async with connect(url, additional_headers=headers, max_size=None) as socket:
            client = cls(socket, acks=acks)
            try:
                await client.until(lambda: bool(client.messages))
                yield client
            finally:
                client._reading.cancel()
                await asyncio.wait([client._reading])

    async def say(self, type: str, **fields: Any) -> None:
        await self.socket.send(json.dumps({"type": type, **fields}))

    async def follow(self, session: Session | str, after: int | None = None, form: str = "events", **more: Any) -> None:
        name = session if isinstance(session, str) else session.id
        await self.say("follow", session=name, **({} if after is None else {"after": after}), **{"as": form}, **more)

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait until what was told fulfils a condition."""
        async with asyncio.timeout(PATIENCE):
            while not condition():
                self._news.clear()
                await self._news.wait()

    async def until_closed(self) -> int:
        await self.until(lambda: self.closed is not None)
        assert self.closed is not None
        return self.closed

    def of(self, type: str) -> list[dict[str, Any]]:
        return [message for message in self.messages if message["type"] == type]

    def seqs(self, session: Session | str) -> list[int]:
        name = session if isinstance(session, str) else session.id
        return [event["seq"] for event in self.events.get(name, ())]

    async def _read(self) -> None:
        try:
            async for text in self.socket:
                await self._take(json.loads(text))
                self._news.set()
        except ConnectionClosed:
            pass
        finally:
            self.closed = self.socket.close_code
            self._news.set()

    async def _take(self, message: dict[str, Any]) -> None:
        self.messages.append(message)
        seq = None
        match message["type"]:
            case "event":
                self.events.setdefault(message["session"], []).append(message["event"])
                seq = message["event"]["seq"]
            case "view":
                self.views.setdefault(message["session"], View()).take(message)
                seq = message["seq"]
            case "home":
                self.home.take(message)
        if seq is not None and self.acks:
            await self.say("ack", session=message["session"], seq=seq)


class View:
    """Rows and state, as a page keeps them."""

    def __init__(self) -> None:
        self.rows: dict[str, dict[str, Any]] = {}
        self.state: dict[str, Any] = {}
        self.seq = -1
        self.total = 0
        self.before: str | None = None

    def take(self, message: dict[str, Any]) -> None:
        assert message["reset"] or message["seq"] >= self.seq, "it went backwards"
        if message["reset"]:
            self.rows, self.before = {}, message["before"]
        self.rows |= {row["key"]: row for row in message["rows"]}
        self.state |= message["state"]
        self.seq, self.total = message["seq"], message["total"]

    @property
    def types(self) -> list[str]:
        return [row["type"] for row in sorted(self.rows.values(), key=lambda row: row["seq"])]


class HomeList:
    """Sessions and asks, as a page keeps them."""

    def __init__(self) -> None:
        self.sessions: dict[str, dict[str, Any]] = {}
        self.asks: dict[tuple[str, str], dict[str, Any]] = {}
        self.closed: list[dict[str, Any]] = []
        self.counts: dict[str, int] = {}
        self.messages = 0

    def take(self, message: dict[str, Any]) -> None:
        self.messages += 1
        if message["reset"]:
            self.sessions, self.asks = {}, {}
        self.sessions |= {session["id"]: session for session in message["sessions"]}
        self.asks |= {(card["session"], card["ask_id"]): card for card in message["asks"]}
        for name in message["removed_sessions"]:
            self.sessions.pop(name, None)
        for closed in message["closed_asks"]:
            self.asks.pop((closed["session"], closed["ask"]), None)
            self.closed.append(closed)
        self.counts = message["counts"]


# ---------------------------------------------------------------- journals that a test writes itself


class Writer:
    """Writes the journal of a session that has no CLI, behind the manager's back, as another process would.

    It holds the session's lock for as long as it lives: an owner without it would be taken for dead.
    """

    def __init__(self, store: Store, session_id: str, lock: SessionLock) -> None:
        self.session_id = session_id
        self._store = store
        self._lock = lock
        self.seq = 0

    @classmethod
    async def begun(cls, store: Store, session_id: str = "a" * 32) -> Self:
        now = time.time()
        await store.create_session(SessionRow(id=session_id, cwd="/", created_at=now, updated_at=now, title="written"))
        locks = os.path.join(os.path.dirname(cast("SqliteStore", store).path), "locks")
        return cls(store, session_id, await SessionLock.take(locks, [session_id]))

    def __del__(self) -> None:
        self._lock.release()

    async def write(self, events: Iterable[Event]) -> None:
        rows = []
        for event in events:
            self.seq += 1
            body = encode_event(replace(event, seq=self.seq, at=float(self.seq)))
            rows.append(EventRow(seq=self.seq, at=float(self.seq), type="", body=body))
        lease = await self._store.acquire(self.session_id, '{"pid": 1}', now=time.time())
        await self._store.append(lease, Batch(events=rows))
        await self._store.release(lease)

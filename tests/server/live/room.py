"""A session without processes or sockets: a journal in memory, and viewers whose network the test holds in its hand."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Callable
from typing import Any, cast

from msgspec.structs import replace

from handrail.errors import SessionNotFound, StoreLocked
from handrail.events.model import Delta, Event
from handrail.server.calls import Caller
from handrail.server.live import channel, home, view, viewer
from handrail.server.live.channels import Channels
from handrail.server.live.credit import Credit
from handrail.server.live.timelines import Timelines
from handrail.server.live.view import Finisher
from handrail.server.live.viewer import Viewer
from handrail.server.showing import Showing
from handrail.sessions.feed import Feed, Item
from handrail.sessions.journal import Journal
from handrail.sessions.manager import Manager
from handrail.store.base import Batch, EventRow, Lease, SessionRow, Store

from .support import Counter, View

__all__ = ["MemoryStore", "Person", "Room", "make_small", "settled"]

ID = "s1"


def make_small(patch: Any) -> None:
    """So little memory that everything is forgotten all the time, and no waiting."""
    for module, name, value in (
        (channel, "RING_EVENTS", 4),
        (channel, "PAGE", 3),
        (channel, "TICK", 0.0),
        (channel, "TICK_PER_VIEWER", 0.0),
        (channel, "FIRST_PAUSE", 0.0),
        (channel, "LONGEST_PAUSE", 0.0),
        (view, "TAIL", 4),
        (view, "MOST_CHANGED", 5),
        (viewer, "RETRY", 0.0),
        (home, "TICK", 0.0),
    ):
        patch.setattr(module, name, value)


async def settled() -> None:
    """Let everything that can run do so."""
    for _ in range(40):
        await asyncio.sleep(0)


class MemoryStore:
    """What a journal and its readers need of a store."""

    def __init__(self) -> None:
        self.events: list[EventRow] = []
        self.row: SessionRow | None = SessionRow(id=ID, cwd="/", created_at=0.0, updated_at=0.0, title="a session")
        self.broken = False
        self._watchers: list[Callable[[str, int], None]] = []

    async def append(self, lease: Lease, batch: Batch) -> None:
        await asyncio.sleep(0)
        self.events += batch.events
        self._told()

    async def read(self, session_id: str, *, after: int = 0, limit: int = 1000) -> list[EventRow]:
        await asyncio.sleep(0)
        self._check()
        return self.events[after : after + limit]

    async def get_session(self, session_id: str) -> SessionRow | None:
        await asyncio.sleep(0)
        self._check()
        return self.row

    def watch(self, watcher: Callable[[str, int], None], *, session_id: str | None = None) -> Callable[[], None]:
        self._watchers.append(watcher)
        return lambda: self._watchers.remove(watcher)

    def change(self, **columns: Any) -> None:
        assert self.row is not None
        self.row = replace(self.row, **columns)
        self._told()

    def delete(self) -> None:
        self.row = None
        self.events.clear()
        self._told()

    def _told(self) -> None:
        if self.row is not None:
            self.row = replace(self.row, last_seq=len(self.events))
        for watcher in tuple(self._watchers):
            watcher(ID, len(self.events))

    def _check(self) -> None:
        if self.broken:
            raise StoreLocked("not now")


class _Handle:
    def __init__(self, room: Room) -> None:
        self.id = ID
        self._room = room

    async def row(self) -> SessionRow:
        row = await self._room.store.get_session(ID)
        if row is None:
            raise SessionNotFound("there is no such session")
        return row

    async def is_live(self) -> bool:
        await asyncio.sleep(0)
        return True

    async def subscribe(self, after: int = 0) -> AsyncGenerator[Item, None]:
        async for item in self._room.feed.read(after):
            yield item


class Room:
    """A session that is written by the test, and everybody who follows it."""

    def __init__(self) -> None:
        self.store = MemoryStore()
        store = cast("Store", self.store)
        self.feed = Feed(ID, store)
        lease = Lease(session_id=ID, owner="me", fence=1, last_seq=0)
        self.journal = Journal(store, lease, self.feed)
        self.meter = Counter()
        self.timelines = Timelines(store)
        self.finisher = Finisher(store, Showing())
        self.manager = cast("Manager", self)
        self.channels = Channels(self.manager, self.timelines, self.finisher, linger=0.0)
        self.people: list[Person] = []

    def session(self, session_id: str) -> _Handle:
        if session_id != ID:
            raise SessionNotFound("there is no such session")
        return _Handle(self)

    def add(self, *items: Event | Delta) -> None:
        self.journal.add(items)

    async def come(self, form: str, after: int | None, *, deltas: bool = True, known: Person | None = None) -> Person:
        """Somebody connects and follows, with what they knew before."""
        person = Person(self, form, known)
        self.people.append(person)
        request = {"type": "follow", "session": ID, "as": form, "deltas": deltas}
        person.socket.say(request if after is None else request | {"after": after})
        await settled()
        return person

    async def close(self) -> None:
        for person in self.people:
            await person.leave()
        await self.channels.close()


class PipeSocket:
    """The server's end of a socket. What is sent waits until the other side reads it."""

    def __init__(self) -> None:
        self.sent: list[dict[str, Any]] = []
        self.code: int | None = None
        self._inbox: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._room = asyncio.Semaphore(2)

    def say(self, message: Any) -> None:
        self._inbox.put_nowait({"type": "websocket.receive", "text": json.dumps(message)})

    def drop(self) -> None:
        self._inbox.put_nowait({"type": "websocket.disconnect", "code": 1006})

    def take(self) -> dict[str, Any] | None:
        if not self.sent:
            return None
        self._room.release()
        return self.sent.pop(0)

    async def accept(self) -> None:
        pass

    async def receive(self) -> dict[str, Any]:
        return await self._inbox.get()

    async def send(self, message: dict[str, Any]) -> None:
        await self._room.acquire()
        self.sent.append(json.loads(message["text"]))

    async def close(self, code: int, reason: str) -> None:
        self.code = code


class Person:
    """A client that reads when it is told to, and checks each message against those before it."""

    def __init__(self, room: Room, form: str, known: Person | None) -> None:
        self.form = form
        self.events: list[dict[str, Any]] = list(known.events) if known is not None else []
        self.view = known.view if known is not None else View()
        self.acked = 0
        self.problems = 0
        self.gone = False
        self.blocks: dict[str, str] = {}
        self.socket = PipeSocket()
        self._room = room
        caller = Caller(name="alice", role="viewer", surface="web")
        self.viewer = Viewer(
            cast("Any", self.socket),
            caller,
            room.channels,
            home=cast("Any", None),
            meter=room.meter,
            credit=Credit(bytes=4_000, messages=6),
        )
        self._serving = asyncio.get_running_loop().create_task(self.viewer.run())

    @property
    def seq(self) -> int:
        return self.view.seq if self.form == "view" else len(self.events)

    async def read(self, count: int) -> int:
        """Take up to so many messages; how many there were."""
        for number in range(count):
            await settled()
            message = self.socket.take()
            if message is None:
                return number
            self._see(message)
        return count

    def acknowledge(self) -> None:
        if self.seq > self.acked:
            self.acked = self.seq
            self.socket.say({"type": "ack", "session": ID, "seq": self.seq})

    async def catch_up(self) -> None:
        """Read and acknowledge until nothing more comes."""
        self.acknowledge()
        while await self.read(20):
            self.acknowledge()

    async def leave(self) -> None:
        self.socket.drop()
        self.socket._room.release()
        await asyncio.wait([self._serving])
        self._serving.result()

    def _see(self, message: dict[str, Any]) -> None:
        match message["type"]:
            case "event":
                assert message["event"]["seq"] == len(self.events) + 1, "a gap, or twice the same"
                self.events.append(message["event"])
            case "view":
                self.view.take(message)
            case "delta":
                self._place(message["delta"])
            case "caught_up":
                assert message["seq"] == len(self.events)
            case "problem":
                self.problems += 1
            case "gone":
                self.gone = True

    def _place(self, delta: dict[str, Any]) -> None:
        assert delta["after"] == self.seq, "it does not follow what was read last"
        so_far = self.blocks.get(delta["block"], "")
        assert delta["offset"] <= len(so_far), "something is missing before it"
        self.blocks[delta["block"]] = so_far[: delta["offset"]] + delta["text"]

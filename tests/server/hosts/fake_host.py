"""A host that does what a test says: it has a real journal of its own, and speaks the protocol of hosts by hand."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar
from uuid import uuid4

import msgspec
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from handrail.events.codec import encode_event
from handrail.events.model import AskOpened, Completed, Delta, Event, Started, Text
from handrail.link import wire
from handrail.store.base import AskRow, Batch, CopyHead, EventRow, Lease, SessionRow
from handrail.store.sqlite import SqliteStore

from ..support import PATIENCE, ServedHub

T = TypeVar("T")

ME = "the host's own process"


async def enrolled(served: ServedHub, name: str = "build-box") -> dict[str, Any]:
    """Let a host in; what it is told."""
    async with served.client() as owner:
        code = (await owner.post("/api/hosts/enrolments", json={"name": name})).json()["code"]
    async with served.client(None, authorization=f"Bearer {code}") as machine:
        answer = await machine.post("/api/hosts/enrol", json={"code": code, "name": name})
    assert answer.status_code == 201, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def until(look: Callable[[], Any]) -> Any:
    """What `look` gives, as soon as that is something; it may be asynchronous."""
    async with asyncio.timeout(PATIENCE):
        while True:
            found = look()
            if asyncio.iscoroutine(found):
                found = await found
            if found:
                return found
            await asyncio.sleep(0.01)


class FakeHost:
    """A machine with sessions that nothing runs: a test writes their journals."""

    def __init__(self, served: ServedHub, told: dict[str, Any], store: SqliteStore) -> None:
        self.served = served
        self.id: str = told["host_id"]
        self.name: str = told["name"]
        self.key: str = told["key"]
        self.store = store
        self.boot = uuid4().hex
        self.facts = wire.HostFacts(
            handrail="1.0", labels=("linux",), roots=("/srv",), clock=time.time(), starts_once=True
        )
        self._leases: dict[str, Lease] = {}

    @asynccontextmanager
    async def connected(self, **hello: Any) -> AsyncIterator[Link]:
        """A link that is welcome."""
        async with self.dialled() as link:
            await link.say(self.hello(**hello))
            await link.hear(wire.Welcome)
            yield link

    @asynccontextmanager
    async def dialled(self, key: str | None = None) -> AsyncIterator[Link]:
        """A socket with the host's key, or another one."""
        url = self.served.url.replace("http", "ws", 1) + wire.LINK_PATH
        headers = {"authorization": f"Bearer {self.key if key is None else key}"}
        dial = connect(url, additional_headers=headers, max_size=None, compression=None, proxy=None)
        async with dial as socket, Link(socket, self) as link:
            yield link

    def hello(self, **changes: Any) -> wire.Hello:
        values: dict[str, Any] = {
            "version": wire.VERSION,
            "name": self.name,
            "boot": self.boot,
            "facts": self.facts,
        }
        return wire.Hello(**(values | changes))

    # ------------------------------------------------------------ its sessions

    async def session(self, title: str = "a session", *, live: bool = True) -> str:
        """A session of this host."""
        now = time.time()
        row = SessionRow(id=uuid4().hex, cwd="/srv/shop", created_at=now, updated_at=now, title=title, status="idle")
        await self.store.create_session(row)
        if live:
            await self.take(row.id)
        return row.id

    async def take(self, session_id: str) -> None:
        """A process of the host takes the session."""
        self._leases[session_id] = await self.store.acquire(session_id, ME, now=time.time())

    async def give_up(self, session_id: str) -> None:
        await self.store.release(self._leases.pop(session_id))

    async def write(self, session_id: str, *events: Event, asks: Sequence[AskRow] = (), **columns: Any) -> None:
        """Add to the journal."""
        row = await self.store.get_session(session_id)
        assert row is not None
        rows = []
        for number, event in enumerate(events, row.last_seq + 1):
            numbered = msgspec.structs.replace(event, seq=number, at=event.at or time.time())
            rows.append(
                EventRow(
                    seq=number,
                    at=numbered.at,
                    type=str(event.__struct_config__.tag),
                    body=encode_event(numbered),
                    run=event.run,
                    text=getattr(event, "text", ""),
                )
            )
        columns.setdefault("updated_at", time.time())
        await self.store.append(self._leases[session_id], Batch(events=rows, asks=asks, session=columns))

    async def says(self, session_id: str, *texts: str) -> None:
        """A run in which Claude says this."""
        said = [Text(text=text, block=uuid4().hex, run=1) for text in texts]
        await self.write(session_id, Started(run=1), *said, Completed(ok=True, run=1))

    async def asks(self, session_id: str) -> AskRow:
        """Claude asks something."""
        name = f"ask-{uuid4().hex[:8]}"
        body = {"id": name, "kind": "permission", "tool_name": "Bash", "input": {"command": "ls"}, "digest": "d1"}
        row = AskRow(
            session_id=session_id,
            id=name,
            kind="permission",
            digest="d1",
            title="ls",
            body=msgspec.json.encode(body),
            opened_at=time.time(),
        )
        event = AskOpened(ask_id=name, kind="permission", digest="d1", title="ls", ask=body)
        await self.write(session_id, event, asks=[row], status="needs_you")
        return row


class Link:
    """One connection of the host. What comes is kept until the test takes it."""

    def __init__(self, socket: ClientConnection, host: FakeHost) -> None:
        self.socket = socket
        self.host = host
        self.heard: list[Any] = []
        self._numbers: dict[str, int] = {}
        self._something = asyncio.Event()
        self._reading: asyncio.Task[None] | None = None
        self._answering: dict[str, Callable[[wire.Command], Any]] = {}

    async def __aenter__(self) -> Link:
        self._reading = asyncio.get_running_loop().create_task(self._read())
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._reading is not None
        self._reading.cancel()
        await asyncio.gather(self._reading, return_exceptions=True)

    async def say(self, *messages: wire.FromHost) -> None:
        await self.socket.send(wire.pack(messages))

    async def hear(self, kind: type[T], fits: Callable[[T], bool] = lambda message: True) -> T:
        """The first message of this kind that fits and was not taken yet."""
        async with asyncio.timeout(PATIENCE):
            while True:
                for place, message in enumerate(self.heard):
                    if isinstance(message, kind) and fits(message):
                        del self.heard[place]
                        return message
                if self._reading is not None and self._reading.done():
                    raise AssertionError(f"closed with {self.socket.close_code} {self.socket.close_reason}")
                self._something.clear()
                await self._something.wait()

    async def closed(self) -> int | None:
        """The code with which the hub closes it."""
        async with asyncio.timeout(PATIENCE):
            await self.socket.wait_closed()
        return self.socket.close_code

    def answer(self, method: str, do: Callable[[wire.Command], Any]) -> None:
        """Do this for each such command: it gives the result, or raises."""
        self._answering[method] = do

    async def reply(self, command: wire.Command, result: Any = None, **more: Any) -> None:
        await self.say(wire.Reply(id=command.id, result=msgspec.json.encode(result), **more))

    async def _read(self) -> None:
        try:
            async for parcel in self.socket:
                assert isinstance(parcel, bytes)
                for message in wire.decode_from_hub(parcel):
                    await self._take(message)
        except ConnectionClosed:
            pass
        finally:
            self._something.set()

    async def _take(self, message: wire.FromHub) -> None:
        if isinstance(message, wire.Command) and message.method in self._answering:
            result = self._answering[message.method](message)
            if asyncio.iscoroutine(result):
                result = await result
            await self.reply(message, result)
        self.heard.append(message)
        self._something.set()

    # ------------------------------------------------------------ copying

    async def offer(self, *, done: bool = True) -> dict[str, CopyHead]:
        """Say where the host's journals stand; where the copies do."""
        heads = await self.host.store.heads()
        await self.say(wire.Offer(heads=heads, done=done))
        if not heads:
            return {}
        have = await self.hear(wire.Have)
        return {head.session_id: head for head in have.heads}

    async def copy(self, session_id: str, have: CopyHead | None = None, *, limit: int = 256 * 1024) -> wire.Ack:
        """Send all that the copy lacks, and wait until it is stored."""
        after, revision = (have.last_seq, have.revision) if have is not None else (0, 0)
        while True:
            page = await self.host.store.copy_page(session_id, after=after, revision=revision, limit_bytes=limit)
            assert page is not None
            number = await self.send_page(page)
            if not page.more:
                return await self.acknowledged(session_id, number)
            after, revision = (page.events[-1].seq if page.events else after), page.revision

    async def acknowledged(self, session_id: str, number: int) -> wire.Ack:
        return await self.hear(wire.Ack, lambda ack: (ack.session, ack.number) == (session_id, number))

    async def send_page(self, page: Any, number: int | None = None) -> int:
        session_id = page.session.id
        number = self._numbers.get(session_id, 0) + 1 if number is None else number
        self._numbers[session_id] = number
        await self.say(wire.Page(number=number, page=page))
        return number

    async def deltas(self, session_id: str, *deltas: Delta) -> None:
        await self.say(wire.Deltas(session=session_id, items=[encode_event(delta) for delta in deltas]))


@asynccontextmanager
async def fake_host(served: ServedHub, directory: Path, name: str = "build-box") -> AsyncIterator[FakeHost]:
    """A host that was let in, with a journal of its own."""
    store = SqliteStore(str(directory / f"{name}.db"))
    await store.open()
    try:
        yield FakeHost(served, await enrolled(served, name), store)
    finally:
        await store.close()

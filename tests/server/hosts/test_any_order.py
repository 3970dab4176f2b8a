"""Whatever happens on the way, the copy becomes what the host has, and a reader sees each event once, in order."""

from __future__ import annotations

import asyncio
import tempfile
import time
from contextlib import aclosing
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from handrail.errors import StoreLocked
from handrail.events.codec import encode_event
from handrail.events.model import Delta, Event, Text
from handrail.link import wire
from handrail.places import Places
from handrail.server.auth.audit import Audit
from handrail.server.hosts import Hosts
from handrail.server.hosts.arrivals import Arrivals
from handrail.server.hosts.copies import Copies
from handrail.server.hosts.offers import Offers
from handrail.sessions.manager import Manager
from handrail.store.base import Batch, CopyPage, EventRow, HostRow, SessionRow
from handrail.store.sqlite import SqliteStore

pytestmark = pytest.mark.slow

PATIENCE = 30.0
HOST = "h1"


class Meter:
    def copied(self, host: str, events: int, lag: float | None) -> None: ...

    def copy_refused(self, host: str) -> None: ...


class Both:
    """A host's journal and a hub's copy of it, with the pages between them in the test's hand."""

    id = HOST
    name = "box"
    skew = 0.0

    def __init__(self, source: SqliteStore, manager: Manager) -> None:
        self.source = source
        self.manager = manager
        self.session = uuid4().hex
        self.watched = {self.session}
        self.told: list[Any] = []
        self.failing = 0
        self._number = 0
        self._after = self._revision = 0
        self.copies = self._link()
        self._take_copy = manager.store.take_copy
        manager.store.take_copy = self._sometimes  # type: ignore[method-assign]

    async def begin(self) -> None:
        await self.manager.store.add_host(HostRow(id=HOST, name="box", key_hash="k", enrolled_at=0.0))
        now = time.time()
        await self.source.create_session(SessionRow(id=self.session, cwd="/", created_at=now, updated_at=now))
        self.lease = await self.source.acquire(self.session, "me", now=now)
        await self.connect()
        await self.page()
        await self.settled()

    async def _sometimes(self, host: str, page: CopyPage) -> int:
        if self.failing:
            self.failing -= 1
            raise StoreLocked("not now")
        return await self._take_copy(host, page)

    def _link(self) -> Copies:
        return Copies(
            self,
            self.manager,
            send=self.told.append,
            on_readers=lambda session_id, readers: None,
            on_loss=self._lost,
            arrivals=Arrivals(),
            meter=Meter(),
        )

    async def _lost(self, session_id: str, words: str) -> None:
        raise AssertionError(f"nothing was lost: {words}")

    # ------------------------------------------------------------ what can happen

    async def write(self) -> None:
        row = await self.source.get_session(self.session)
        assert row is not None
        event = Text(text=f"event {row.last_seq + 1}", block="b", seq=row.last_seq + 1, at=time.time())
        stored = EventRow(seq=event.seq, at=event.at, type="text", body=encode_event(event))
        await self.source.append(self.lease, Batch(events=[stored], session={"updated_at": time.time()}))

    async def page(self) -> None:
        """Send the next page, a small one."""
        page = await self.source.copy_page(self.session, after=self._after, revision=self._revision, limit_bytes=300)
        assert page is not None
        self._number += 1
        self.copies.page(wire.Page(number=self._number, page=page))
        self._after = page.events[-1].seq if page.events else self._after
        self._revision = page.revision

    async def again(self) -> None:
        """Send something that was sent before."""
        self._after, self._revision = max(0, self._after - 2), 0

    async def delta(self) -> None:
        delta = Delta(block="b", kind="text", offset=0, text="…", after=self._after)
        self.copies.deltas(wire.Deltas(session=self.session, items=[encode_event(delta)]))

    async def fail(self) -> None:
        self.failing += 1

    async def heed(self) -> None:
        """Do as the hub says: begin again behind what it has."""
        refused = [message for message in self.told if isinstance(message, wire.CopyRefused)]
        if refused:
            self.told.clear()
            self._number, self._after, self._revision = 0, refused[-1].last_seq, 0

    async def connect(self) -> None:
        """The link is cut, and made again."""
        await self.copies.close()
        self.told.clear()
        self.copies = self._link()
        await Offers(self.copies, is_removed=lambda host: False).take(
            wire.Offer(heads=await self.source.heads(), done=True)
        )
        (have,) = (message for message in self.told if isinstance(message, wire.Have))
        self._number, self._after, self._revision = 0, have.heads[0].last_seq, have.heads[0].revision

    async def settled(self) -> None:
        """Until nothing is under way any more."""
        async with asyncio.timeout(PATIENCE):
            while self.copies.queued:
                await asyncio.sleep(0.001)


async def play(steps: list[str], directory: Path) -> None:
    source = SqliteStore(str(directory / "host.db"))
    await source.open()
    places = Places(*(str(directory / name) for name in ("config", "state", "cache", "run")))
    async with Manager.local(places) as manager:
        manager.with_abroad(Hosts(manager, url=lambda: "", audit=Audit(manager.store), meter=Meter()))
        both = Both(source, manager)
        await both.begin()
        seen: list[int] = []
        reading = asyncio.ensure_future(_read(manager, both.session, seen))
        for step in steps:
            await getattr(both, step)()
        await _finish(both)
        wanted = [row.seq for row in await source.read(both.session)]
        async with asyncio.timeout(PATIENCE):
            while len(seen) < len(wanted):
                await asyncio.sleep(0.001)
        copied = await manager.store.read(both.session)
        assert [row.body for row in copied] == [row.body for row in await source.read(both.session)]
        assert seen == wanted
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)
        await both.copies.close()
    await source.close()


async def _finish(both: Both) -> None:
    """What an honest host does in the end: connects, and sends all that lacks."""
    await both.write()
    await both.settled()
    both.failing = 0
    await both.connect()
    row = await both.source.get_session(both.session)
    assert row is not None
    async with asyncio.timeout(PATIENCE):
        while True:
            copy = await both.manager.store.get_session(both.session)
            if copy is not None and copy.last_seq == row.last_seq:
                return
            await both.page()
            await both.settled()
            await both.heed()


async def _read(manager: Manager, session_id: str, seen: list[int]) -> None:
    async with aclosing(manager.session(session_id).subscribe()) as items:
        async for item in items:
            seen += [item.seq] if isinstance(item, Event) else []


STEPS = ["write", "write", "page", "page", "page", "again", "delta", "fail", "heed", "connect", "settled"]


@given(st.lists(st.sampled_from(STEPS), max_size=40))
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
def test_the_copy_becomes_what_the_host_has(steps: list[str]) -> None:
    with tempfile.TemporaryDirectory() as directory:
        asyncio.run(play(steps, Path(directory)))

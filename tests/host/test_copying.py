"""Whatever happens to the connection, the copy becomes what the journal is: nothing lost, nothing doubled."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from handrail.host import copying
from handrail.host.copying import Copier
from handrail.host.outbox import Outbox
from handrail.link import wire
from handrail.places import Places
from handrail.sessions.manager import Manager
from handrail.store.base import AskRow, Batch, EventRow, Lease, MessageRow, SessionFilter, SessionRow, Store
from handrail.store.sqlite import SqliteStore

from .fake_hub import Sink

PATIENCE = 20.0
SESSIONS = ("a" * 32, "b" * 32, "c" * 32)


class Source:
    """A host's store, and a way to write to it."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.leases: dict[str, Lease] = {}
        self.seqs: dict[str, int] = {}

    async def append(self, session: str, number: int, size: int = 40) -> None:
        if session not in self.leases:
            row = SessionRow(id=session, cwd="/x", created_at=1.0, updated_at=1.0, title="new")
            await self.store.create_session(row)
            self.leases[session] = await self.store.acquire(session, "me", now=1.0)
        first = self.seqs.get(session, 0) + 1
        self.seqs[session] = first + number - 1
        events = [EventRow(seq=seq, at=1.0, type="t", body=_body(seq, size)) for seq in range(first, first + number)]
        ask = AskRow(
            session_id=session, id=f"ask{first}", kind="tool", digest="d", title="?", body=b"{}", opened_at=1.0
        )
        message = MessageRow(uuid=f"m{first}", content=b'"hi"', at=1.0)
        await self.store.append(self.leases[session], Batch(events=events, asks=[ask], messages=[message]))

    async def rename(self, session: str, title: str) -> None:
        if session in self.leases:
            await self.store.change_session(session, title=title)

    async def delete(self, session: str) -> None:
        if session in self.leases:
            await self.store.release(self.leases.pop(session))
            await self.store.delete_session(session)
            self.seqs.pop(session)


def _body(seq: int, size: int) -> bytes:
    return b'{"seq": %d, "x": "%s"}' % (seq, b"x" * size)


class MemoryLink:
    """A connection without a socket: it can be slow to acknowledge, deliver twice, and be cut anywhere."""

    def __init__(self, manager: Manager, sink: Sink, *, window: int) -> None:
        self.sink = sink
        self.outbox = Outbox()
        self.copier = Copier(manager, self.outbox, window=window, sleep=self._sleep)
        self.hold_acks = False
        self.hold_have = False
        self.repeat = False
        self.deaf = False
        self._held: list[wire.FromHub] = []
        self._tasks = [
            asyncio.ensure_future(self.outbox.run(self._deliver)),
            asyncio.ensure_future(self.copier.run()),
        ]
        sink.numbers.clear()
        sink.refusing.clear()

    async def _sleep(self, seconds: float) -> None:
        await asyncio.sleep(0.001)

    async def _deliver(self, parcel: bytes) -> None:
        if self.deaf:
            return
        for message in wire.decode_from_host(parcel):
            if self.repeat and isinstance(message, wire.Page):
                await self.sink.store.take_copy(self.sink.host, message.page)  # once more than it is counted
            for answer in await self.sink.take(message):
                if self.hold_have if isinstance(answer, wire.Have) else self.hold_acks:
                    self._held.append(answer)
                else:
                    self.answer(answer)

    def release(self) -> None:
        self.hold_acks = self.hold_have = False
        held, self._held = self._held, []
        for answer in held:
            self.answer(answer)

    def answer(self, answer: wire.FromHub) -> None:
        (answer,) = wire.decode_from_hub(wire.pack([answer]))
        match answer:
            case wire.Have():
                self.copier.have(answer.heads)
            case wire.Ack():
                self.copier.acknowledged(answer)
            case wire.CopyRefused():
                self.copier.refused(answer)

    async def cut(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def check(self) -> None:
        for task in self._tasks:
            if task.done() and not task.cancelled():
                task.result()


@asynccontextmanager
async def two_stores() -> AsyncIterator[tuple[Manager, Source, Sink]]:
    with TemporaryDirectory() as name:
        directory = Path(name)
        ours, theirs = SqliteStore(str(directory / "host.db")), SqliteStore(str(directory / "hub.db"))
        await ours.open()
        await theirs.open()
        try:
            yield Manager(ours, Places(name, name, name, name)), Source(ours), Sink(theirs)
        finally:
            await ours.close()
            await theirs.close()


async def same(source: Store, copy: Store, link: MemoryLink | None = None) -> None:
    """Wait until the copies are what the sessions are."""
    async with asyncio.timeout(PATIENCE):
        while await contents(source) != await contents(copy):
            if link is not None:
                link.check()
            await asyncio.sleep(0.002)


async def contents(store: Store) -> dict[str, Any]:
    rows = await store.list_sessions(SessionFilter(archived=None), limit=1_000)
    return {
        row.id: (
            row.title,
            row.last_seq,
            [(event.seq, event.type, event.body) for event in await store.read(row.id, limit=100_000)],
            await store.asks(row.id),
            await store.messages(row.id),
        )
        for row in rows
    }


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("append"), st.sampled_from(SESSIONS), st.integers(1, 30)),
        st.tuples(st.just("rename"), st.sampled_from(SESSIONS), st.integers(0, 9)),
        st.tuples(st.sampled_from(["cut", "hold", "release", "repeat", "deafen"]), st.just(""), st.just(0)),
        st.tuples(st.just("refuse"), st.sampled_from(SESSIONS), st.just(0)),
        st.tuples(st.just("settle"), st.just(""), st.integers(0, 4)),
    ),
    max_size=14,
)


async def played(steps: list[tuple[str, str, int]], window: int) -> None:
    async with two_stores() as (manager, source, sink):
        link = MemoryLink(manager, sink, window=window)
        for what, session, number in steps:
            match what:
                case "append":
                    await source.append(session, number)
                case "rename":
                    await source.rename(session, f"title {number}")
                case "cut":
                    await link.cut()
                    link = MemoryLink(manager, sink, window=window)
                case "hold":
                    link.hold_acks = True
                case "release":
                    link.release()
                case "repeat":
                    link.repeat = True
                case "deafen":
                    link.deaf = True
                case "refuse":
                    sink.refuse_next.add(session)
                case "settle":
                    for _ in range(number):
                        await asyncio.sleep(0.001)
        if link.deaf:
            await link.cut()
            link = MemoryLink(manager, sink, window=window)
        link.release()
        await same(source.store, sink.store, link)
        await link.cut()


@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(steps=STEPS, window=st.sampled_from([1, 600, 100_000]))
def test_the_copy_becomes_the_journal_whatever_happens(steps: list[tuple[str, str, int]], window: int) -> None:
    asyncio.run(played(steps, window))


@pytest.mark.slow
@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(steps=STEPS, window=st.sampled_from([1, 600, 100_000]))
def test_the_copy_becomes_the_journal_whatever_happens_at_length(steps: list[Any], window: int) -> None:
    asyncio.run(played(steps, window))


@pytest.mark.slow
async def test_a_session_whose_pages_are_not_acknowledged_stalls_no_other() -> None:
    async with two_stores() as (manager, source, sink):
        link = MemoryLink(manager, sink, window=500)
        slow, quick = SESSIONS[0], SESSIONS[1]
        original = link.answer

        def only_quick(answer: wire.FromHub) -> None:
            if not (isinstance(answer, wire.Ack) and answer.session == slow):
                original(answer)

        link.answer = only_quick  # type: ignore[method-assign]
        for _ in range(6):
            await source.append(slow, 60, size=400)
            await source.append(quick, 60, size=400)
        async with asyncio.timeout(PATIENCE):
            while (await contents(sink.store)).get(quick) != (await contents(source.store))[quick]:
                await asyncio.sleep(0.002)
        copied = (await contents(sink.store))[slow][1]
        assert 0 < copied < 360  # the first page went, and nothing behind it
        link.answer = original  # type: ignore[method-assign]
        link.answer(wire.Ack(session=slow, number=link.sink.numbers[slow], last_seq=copied))
        await same(source.store, sink.store, link)
        await link.cut()


async def test_what_is_too_long_for_the_link_stalls_no_other_and_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copying, "LONGEST_PAGE", 20_000)
    async with two_stores() as (manager, source, sink):
        link = MemoryLink(manager, sink, window=100_000)
        long, other = SESSIONS[0], SESSIONS[1]
        await source.append(long, 1)
        await same(source.store, sink.store, link)
        assert not link.copier.trouble
        await source.append(long, 1, size=50_000)
        await until(lambda: long[:8] in link.copier.trouble)
        await source.append(long, 1)
        await source.append(other, 3)
        await until(lambda: sink.numbers.get(other, 0) > 0)
        assert not await link.copier.is_complete()
        assert max(len(event.body) for message in sink.seen for event in _events_of(message)) < 20_000
        await source.delete(long)
        await until(lambda: any(isinstance(message, wire.Gone) for message in sink.seen))
        assert not link.copier.trouble
        await link.cut()


def _events_of(message: wire.FromHost) -> Sequence[EventRow]:
    return message.page.events if isinstance(message, wire.Page) else ()


@pytest.mark.slow
async def test_what_is_written_before_the_hub_says_what_it_has_is_sent_afterwards() -> None:
    async with two_stores() as (manager, source, sink):
        link = MemoryLink(manager, sink, window=100_000)
        await source.append(SESSIONS[0], 3)
        await same(source.store, sink.store, link)
        await link.cut()
        link = MemoryLink(manager, sink, window=100_000)
        link.hold_have = True
        sink.seen.clear()
        await until(lambda: any(isinstance(message, wire.Offer) and message.done for message in sink.seen))
        await source.append(SESSIONS[0], 2)
        await source.append(SESSIONS[1], 2)
        await until(lambda: any(isinstance(message, wire.Page) for message in sink.seen))
        pages = [message.page for message in sink.seen if isinstance(message, wire.Page)]
        assert {page.session.id for page in pages} == {SESSIONS[1]}  # of which the hub cannot have anything
        link.release()
        await same(source.store, sink.store, link)
        await link.cut()


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not condition():
            await asyncio.sleep(0.002)


@pytest.mark.slow
async def test_a_session_that_is_deleted_is_said_to_be_gone() -> None:
    async with two_stores() as (manager, source, sink):
        link = MemoryLink(manager, sink, window=100_000)
        await source.append(SESSIONS[0], 3)
        await same(source.store, sink.store, link)
        await source.delete(SESSIONS[0])
        await until(lambda: any(isinstance(message, wire.Gone) for message in sink.seen))
        await link.cut()


@pytest.mark.slow
async def test_what_is_copied_is_not_sent_again_on_the_next_connection() -> None:
    async with two_stores() as (manager, source, sink):
        link = MemoryLink(manager, sink, window=100_000)
        await source.append(SESSIONS[0], 50)
        await same(source.store, sink.store, link)
        await link.cut()
        sink.seen.clear()
        link = MemoryLink(manager, sink, window=100_000)
        await source.append(SESSIONS[0], 1)
        await same(source.store, sink.store, link)
        pages = [message.page for message in sink.seen if isinstance(message, wire.Page)]
        assert [event.seq for page in pages for event in page.events] == [51]
        await link.cut()

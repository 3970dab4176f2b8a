"""Readers of a session: each sees every stored event once, in order, however late, slow or often it comes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from handrail.errors import Fenced, StoreError, StoreFull, StoreLocked
from handrail.events.model import Completed, Delta, Event, Text
from handrail.sessions import feed as feed_module
from handrail.sessions import journal as journal_module
from handrail.sessions.feed import Feed, Item
from handrail.sessions.journal import Journal

from .fake_store import FakeStore, a_lease, as_store, settled

REMEMBERED = 6
PAGE = 3


@pytest.fixture(autouse=True)
def small_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    _make_small(monkeypatch)


def _make_small(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(feed_module, "REMEMBERED_ITEMS", REMEMBERED)
    patch.setattr(feed_module, "PAGE", PAGE)
    patch.setattr(journal_module, "FIRST_PAUSE", 0.0)
    patch.setattr(journal_module, "LONGEST_PAUSE", 0.0)


class Reader:
    """Reads when it is told to, and checks each item against those before it."""

    def __init__(self, feed: Feed, store: FakeStore, after: int = 0, *, deltas: bool = True) -> None:
        self.cursor = after
        self.blocks: dict[str, str] = {}
        self.ended = False
        self._store = store
        self.deltas = deltas
        self._items: AsyncGenerator[Item, None] = feed.read(after, deltas=deltas)
        self._next: asyncio.Future[Item] | None = None

    async def read(self, count: int = 1) -> None:
        """Take up to so many items, as far as there are any."""
        for _ in range(count):
            if self._next is None:
                self._next = asyncio.ensure_future(anext(self._items))
            await settled()
            if not self._next.done():
                return
            done, self._next = self._next, None
            try:
                self._see(done.result())
            except StopAsyncIteration:
                self.ended = True
                return

    async def leave(self) -> None:
        if self._next is not None:
            self._next.cancel()
            await asyncio.wait([self._next])
        await self._items.aclose()

    def _see(self, item: Item) -> None:
        if isinstance(item, Delta):
            assert self.deltas
            self._place(item)
            return
        assert item.seq == self.cursor + 1, f"{item.seq} came behind {self.cursor}"
        assert item.seq <= len(self._store.events), "it is not stored"
        self.cursor = item.seq
        if isinstance(item, Text):
            shown = self.blocks.pop(item.block, "")
            assert item.text.startswith(shown), "what was shown of it is not what it became"
        if isinstance(item, Completed):
            self.blocks.clear()

    def _place(self, delta: Delta) -> None:
        assert delta.after == self.cursor, "it does not follow what was read last"
        so_far = self.blocks.get(delta.block, "") if delta.offset else ""
        assert delta.offset == len(so_far), "something is missing before it"
        self.blocks[delta.block] = so_far + delta.text


# ---------------------------------------------------------------- single cases


class Room:
    def __init__(self, *, at_once: bool = True) -> None:
        self.store = FakeStore(at_once=at_once)
        self.feed = Feed("s1", as_store(self.store))
        self.journal = Journal(as_store(self.store), a_lease(), self.feed)

    async def say(self, count: int = 1) -> None:
        for _ in range(count):
            self.journal.add([Text(block="", text="words")])
            await self.journal.stored()


async def test_a_reader_that_leaves_and_comes_back_misses_nothing() -> None:
    room = Room()
    await room.say(5)
    first = Reader(room.feed, room.store)
    await first.read(3)
    await first.leave()
    await room.say(20)
    again = Reader(room.feed, room.store, first.cursor)
    await again.read(100)
    assert again.cursor == 25
    await again.leave()


async def test_a_reader_that_lags_behind_what_is_remembered_reads_it_from_the_store() -> None:
    room = Room()
    reader = Reader(room.feed, room.store)
    await room.say()
    await reader.read()
    await room.say(REMEMBERED * 5)
    await reader.read(100)
    assert reader.cursor == REMEMBERED * 5 + 1
    await reader.leave()


async def test_who_keeps_up_does_not_trouble_the_store() -> None:
    room = Room()
    reader = Reader(room.feed, room.store)
    await room.say()
    await reader.read(5)
    reads = room.store.reads
    for _ in range(20):
        await room.say()
        await reader.read()
    assert reader.cursor == 21
    assert room.store.reads == reads
    await reader.leave()


async def test_who_joins_gets_the_block_that_is_being_written_as_far_as_it_is() -> None:
    room = Room()
    await room.say()
    for offset, text in ((0, "Hello, "), (7, "wor")):
        room.journal.add([Delta(block="b1", kind="text", offset=offset, text=text)])
    reader = Reader(room.feed, room.store)
    await reader.read(5)
    assert reader.blocks == {"b1": "Hello, wor"}
    room.journal.add([Delta(block="b1", kind="text", offset=10, text="ld")])
    await reader.read(5)
    room.journal.add([Text(block="b1", text="Hello, world")])
    await reader.read(5)
    assert (reader.cursor, reader.blocks) == (2, {})
    late = Reader(room.feed, room.store)
    await late.read(5)
    assert late.blocks == {}
    for each in (reader, late):
        await each.leave()


async def test_what_is_stored_and_not_told_yet_stays_behind_the_deltas_before_it() -> None:
    room = Room(at_once=False)
    room.journal.add([Text(block="", text="first")])
    await settled()
    room.journal.add([Delta(block="b1", kind="text", offset=0, text="He")])
    room.journal.add([Text(block="b1", text="Hello")])
    room.store.take()
    await settled()
    room.store.commit()
    reader = Reader(room.feed, room.store)
    await reader.read(5)
    assert reader.cursor == 1
    room.store.tell()
    await reader.read(1)
    assert (reader.cursor, reader.blocks) == (1, {"b1": "He"})
    await reader.read(5)
    assert (reader.cursor, reader.blocks) == (2, {})
    await reader.leave()


async def test_without_following_it_ends_at_the_last_event() -> None:
    room = Room()
    await room.say(10)
    room.journal.add([Delta(block="b", kind="text", offset=0, text="x")])
    seen = [item async for item in room.feed.read(4, follow=False)]
    assert [item.seq for item in seen if isinstance(item, Event)] == [5, 6, 7, 8, 9, 10]
    assert len(seen) == 6


async def test_readers_end_when_the_feed_does_and_not_before_they_have_read_all() -> None:
    room = Room()
    reader, lagging = Reader(room.feed, room.store), Reader(room.feed, room.store)
    await room.say()
    for each in (reader, lagging):
        await each.read()
    await room.say(3)
    await reader.read(5)
    assert not reader.ended
    room.feed.close()
    for each in (reader, lagging):
        await each.read(10)
        assert (each.cursor, each.ended) == (4, True)


async def test_a_feed_at_rest_forgets_and_its_readers_stay() -> None:
    room = Room()
    reader = Reader(room.feed, room.store)
    await room.say(4)
    await reader.read(2)
    room.feed.rest()
    await reader.read(10)
    assert (reader.cursor, reader.ended) == (4, False)
    room.journal = Journal(as_store(room.store), a_lease(4), room.feed)  # it is resumed
    await room.say(3)
    await reader.read(10)
    assert reader.cursor == 7
    await reader.leave()


async def test_a_reader_behind_ends_when_the_session_is_deleted() -> None:
    room = Room()
    reader = Reader(room.feed, room.store)
    await room.say()
    await reader.read()
    await room.say(REMEMBERED * 2)
    room.store.events.clear()
    room.feed.rest()
    room.feed.close()
    await reader.read(5)
    assert reader.ended


async def test_memory_is_bounded_in_items_and_in_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feed_module, "REMEMBERED_BYTES", 10_000)
    room = Room()
    reader = Reader(room.feed, room.store)
    await reader.read()
    for _ in range(50):
        room.journal.add([Text(block="", text="x" * 4_000), Delta(block="", kind="text", offset=0, text="y")])
        await room.journal.stored()
        items, size = room.feed.remembered
        assert items <= REMEMBERED
        assert size <= 10_000
    room.journal.add([Text(block="", text="x" * 20_000)])
    await room.journal.stored()
    assert room.feed.remembered == (0, 0), "one that is too large by itself is in the store only"
    await reader.read(100)
    assert reader.cursor == 51
    await reader.leave()


# ---------------------------------------------------------------- any order of things


class JournalAndReaders(RuleBasedStateMachine):
    """A session writes, the store does what it likes, readers come and go."""

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.patch = pytest.MonkeyPatch()
        _make_small(self.patch)
        self.readers: list[Reader] = []
        self.waiting: list[tuple[int, asyncio.Task[None]]] = []
        self.failures: list[StoreError] = []
        self.published: list[int] = []
        self.block = 0
        self.written = ""
        self.kept = 0

    def do(self, work: Any) -> None:
        self.runner.run(work)

    @initialize()
    def begin(self) -> None:
        async def work() -> None:
            self.store = FakeStore()
            self.feed = Feed("s1", as_store(self.store), on_event=lambda _, event: self.published.append(event.seq))
            self.journal = Journal(as_store(self.store), a_lease(), self.feed, on_failure=self.failures.append)

        self.do(work())

    # ---- the session

    @rule(count=st.integers(1, 4))
    def add(self, count: int) -> None:
        async def work() -> None:
            self.journal.add([Text(block="", text="words") for _ in range(count)])
            await settled()

        self.do(work())

    @rule(text=st.text("ab", min_size=1, max_size=3))
    def stream(self, text: str) -> None:
        async def work() -> None:
            self.journal.add([Delta(block=f"b{self.block}", kind="text", offset=len(self.written), text=text)])
            self.written += text
            await settled()

        self.do(work())

    @precondition(lambda self: self.written)
    @rule(cut_off=st.booleans())
    def end_block(self, cut_off: bool) -> None:
        async def work() -> None:
            whole = Text(block=f"b{self.block}", text=self.written)
            self.journal.add([Completed(ok=False)] if cut_off else [whole])
            self.block, self.written = self.block + 1, ""
            await settled()

        self.do(work())

    @rule()
    def keep(self) -> None:
        async def work() -> None:
            self.journal.keep("in", b"line %d" % self.kept)
            self.kept += 1

        self.do(work())

    @rule()
    def wait_until_stored(self) -> None:
        async def work() -> None:
            self.waiting.append((self.journal.seq, asyncio.create_task(self._stored(self.journal.seq))))
            await settled()

        self.do(work())

    async def _stored(self, seq: int) -> None:
        await self.journal.stored()
        assert len(self.store.events) >= seq, "it said that this was stored"

    # ---- the store

    @precondition(lambda self: self.store.is_waiting)
    @rule()
    def commit(self) -> None:
        self.store.commit()

    @precondition(lambda self: self.store.is_committed)
    @rule()
    def tell(self) -> None:
        async def work() -> None:
            self.store.tell()
            await settled()

        self.do(work())

    @precondition(lambda self: self.store.is_waiting)
    @rule(error=st.sampled_from([StoreFull, StoreLocked]))
    def refuse(self, error: type[StoreError]) -> None:
        async def work() -> None:
            self.store.refuse(error("not now"))
            await settled()

        self.do(work())

    # ---- readers

    @precondition(lambda self: len(self.readers) < 4)
    @rule(share=st.floats(0, 1), deltas=st.booleans())
    def join(self, share: float, deltas: bool) -> None:
        after = int(share * self.feed.seq)
        self.readers.append(Reader(self.feed, self.store, after, deltas=deltas))

    @precondition(lambda self: self.readers)
    @rule(which=st.integers(0, 3), count=st.integers(1, 8))
    def read(self, which: int, count: int) -> None:
        self.do(self.readers[which % len(self.readers)].read(count))

    @precondition(lambda self: self.readers)
    @rule(which=st.integers(0, 3))
    def leave(self, which: int) -> None:
        self.do(self.readers.pop(which % len(self.readers)).leave())

    # ---- the end

    def teardown(self) -> None:
        try:
            if hasattr(self, "store"):
                self.do(self._see_it_through())
        finally:
            self.runner.close()
            self.patch.undo()

    async def _see_it_through(self) -> None:
        await self.store.recover()
        await self.journal.close()
        await asyncio.gather(*(task for _, task in self.waiting))
        assert not self.failures
        assert self.journal.held == 0
        everything = list(range(1, self.journal.seq + 1))
        assert [row.seq for row in self.store.events] == self.published == everything
        kept = [frame.line for batch in self.store.batches for frame in batch.frames]
        assert kept == [b"line %d" % number for number in range(self.kept)]
        for reader in self.readers:
            await reader.read(500)
            assert reader.cursor == self.journal.seq, "it never saw the end"
            if reader.deltas:
                assert "".join(reader.blocks.values()) == self.written
            await reader.leave()


JournalAndReaders.TestCase.settings = settings(max_examples=25, stateful_step_count=30)
TestJournalAndReaders = JournalAndReaders.TestCase


async def test_a_fence_shows_readers_nothing_that_is_not_stored() -> None:
    room = Room(at_once=False)
    reader = Reader(room.feed, room.store)
    room.journal.add([Text(block="", text="stored")])
    await settled()
    room.store.take()
    await reader.read(2)
    room.journal.add([Text(block="", text="fenced off"), Delta(block="b", kind="text", offset=0, text="x")])
    await settled()
    room.store.refuse(Fenced("another process owns it"))
    room.journal.add([Text(block="", text="too late"), Delta(block="b", kind="text", offset=1, text="x")])
    await reader.read(10)
    assert (reader.cursor, reader.blocks) == (1, {})
    await reader.leave()

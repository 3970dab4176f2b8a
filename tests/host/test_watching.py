"""The deltas of a watched session: joined while they wait, never behind the event that says it all."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, cast

from hypothesis import given, settings
from hypothesis import strategies as st

from handrail.events.codec import decode_item
from handrail.events.model import Action, Completed, Delta, Event, Text
from handrail.host.outbox import Outbox
from handrail.host.watching import DeltaFollower
from handrail.sessions.feed import Item
from handrail.sessions.manager import Manager

from .support import eventually


class Written:
    """A session of which a test says what happens, and how far it was sent."""

    session_id = "a" * 32

    def __init__(self) -> None:
        self.cursor = 0
        self.last_seq = 0
        self.items: asyncio.Queue[Item] = asyncio.Queue()
        self._moved = asyncio.Event()

    def session(self, session_id: str) -> Written:
        return self

    async def row(self) -> Written:
        return self

    async def subscribe(self, after: int) -> AsyncGenerator[Item, None]:
        while True:
            yield await self.items.get()
            self.items.task_done()

    async def reached(self, seq: int) -> None:
        while self.cursor < seq:
            self._moved.clear()
            await self._moved.wait()

    def write(self, *items: Item) -> None:
        for item in items:
            self.items.put_nowait(item)

    def sent_up_to(self, seq: int) -> None:
        self.cursor = seq
        self._moved.set()


class Box(Outbox):
    """Gives turns while it is open, and keeps what is put in."""

    def __init__(self) -> None:
        super().__init__()
        self.open = asyncio.Event()
        self.open.set()
        self.deltas: list[Delta] = []

    @asynccontextmanager
    async def turn(self, size: int) -> AsyncGenerator[None, None]:
        await self.open.wait()
        yield

    def put_delta(self, session_id: str, delta: bytes) -> None:
        item = decode_item(delta)
        assert isinstance(item, Delta)
        self.deltas.append(item)

    @property
    def said(self) -> list[tuple[str, str, int]]:
        return [(delta.block, delta.text, delta.after) for delta in self.deltas]


@asynccontextmanager
async def followed() -> AsyncIterator[tuple[Written, Box]]:
    written, box = Written(), Box()
    follower = DeltaFollower(cast("Manager", cast("Any", written)), written, box)
    running = asyncio.ensure_future(follower.run())
    try:
        yield written, box
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


def piece(block: str, offset: int, text: str) -> Delta:
    return Delta(block=block, kind="text", offset=offset, text=text)


def text(block: str, seq: int) -> Text:
    return Text(seq=seq, block=block, text="")


async def test_pieces_of_a_block_are_joined_while_they_wait() -> None:
    async with followed() as (written, box):
        box.open.clear()
        written.write(piece("x", 0, "He"), piece("y", 0, "A"), piece("x", 2, "llo"))
        await written.items.join()
        box.open.set()
        await eventually(lambda: box.deltas)
        assert box.said == [("x", "Hello", 0), ("y", "A", 0)]


async def test_what_an_event_says_is_not_said_again_and_the_rest_comes_behind_it() -> None:
    async with followed() as (written, box):
        box.open.clear()
        written.write(piece("x", 0, "over"), piece("y", 0, "still"), text("x", 1), piece("y", 5, " going"))
        await written.items.join()
        box.open.set()
        written.sent_up_to(1)
        await eventually(lambda: box.deltas)
        assert box.said == [("y", "still going", 1)]


async def test_a_delta_waits_for_the_event_before_it() -> None:
    async with followed() as (written, box):
        written.write(text("x", 1), piece("y", 0, "behind it"))
        await written.items.join()
        assert not box.deltas
        written.sent_up_to(1)
        await eventually(lambda: box.deltas)
        assert box.said == [("y", "behind it", 1)]


async def test_an_event_that_was_sent_before_it_was_seen_overtakes_no_delta() -> None:
    async with followed() as (written, box):
        written.sent_up_to(1)
        written.write(piece("x", 0, "late"), piece("y", 0, "open"))
        await written.items.join()
        assert not box.deltas
        written.write(text("x", 1))
        await eventually(lambda: box.deltas)
        assert box.said == [("y", "open", 1)]


ITEMS = st.lists(
    st.one_of(
        st.tuples(st.just("write"), st.sampled_from("xyz")),
        st.tuples(st.just("end"), st.sampled_from("xyz")),
        st.tuples(st.sampled_from(["other", "complete", "send", "open", "shut"]), st.just("")),
    ),
    max_size=30,
)


@settings(max_examples=40, deadline=None)
@given(ITEMS)
def test_whatever_happens_each_block_is_said_in_order_and_in_its_place(steps: list[tuple[str, str]]) -> None:
    asyncio.run(_play(steps))


async def _play(steps: list[tuple[str, str]]) -> None:
    lengths: dict[str, int] = {}
    ended_at: dict[str, int] = {}
    number, seq = 0, 0
    names: dict[str, str] = {}
    async with followed() as (written, box):
        for what, name in steps:
            if what == "write":
                block = names.setdefault(name, f"{name}{(number := number + 1)}")
                written.write(piece(block, lengths.get(block, 0), "ab"))
                lengths[block] = lengths.get(block, 0) + 2
            elif what in ("end", "other", "complete"):
                seq += 1
                ends = [name] if what == "end" else list(names) if what == "complete" else []
                ended_at |= {names[each]: seq for each in ends if each in names}
                written.write(_event(what, names.get(name, "none"), seq))
                for each in ends:
                    names.pop(each, None)
            elif what == "send":
                await written.items.join()
                written.sent_up_to(seq)
            else:
                (box.open.set if what == "open" else box.open.clear)()
            await asyncio.sleep(0)
        await written.items.join()
        box.open.set()
        written.sent_up_to(seq)
        await eventually(lambda: _is_said(box, names, lengths))
    said: dict[str, int] = {}
    for delta in box.deltas:
        assert delta.offset == said.get(delta.block, 0), "pieces follow on each other"
        assert delta.after < ended_at.get(delta.block, seq + 1), "nothing is said behind the event that says it all"
        said[delta.block] = delta.offset + len(delta.text)


def _event(what: str, block: str, seq: int) -> Event:
    if what == "end":
        return text(block, seq)
    if what == "complete":
        return Completed(seq=seq, ok=True)
    return Action(seq=seq, id=str(seq), kind="note", title="", phase="completed")


def _is_said(box: Box, open_blocks: dict[str, str], lengths: dict[str, int]) -> bool:
    """Whether everything that is still being written was said."""
    said = {delta.block: delta.offset + len(delta.text) for delta in box.deltas}
    return all(said.get(block, 0) == lengths[block] for block in open_blocks.values())

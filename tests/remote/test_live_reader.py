"""Whatever becomes of the socket: every event once, in order, and no text twice."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.errors import SessionNotFound
from handrail.events import Delta, Titled
from handrail.events.codec import encode_event
from handrail.remote.live_reader import LiveReader


def drained(reader: LiveReader, *, ended: bool = False) -> list[Any]:
    """All that waits to be read."""

    async def read() -> list[Any]:
        if not ended:
            reader.end()
        items = []
        while (item := await reader.next(lambda: None)) is not None:
            items.append(item)
        return items

    return asyncio.run(read())


def event(seq: int) -> bytes:
    return encode_event(Titled(seq=seq, title=f"title {seq}"))


@given(st.lists(st.integers(1, 12), max_size=60), st.integers(0, 5))
def test_events_come_once_and_in_order_whatever_the_hub_sends_again(sent: list[int], after: int) -> None:
    """As a hub does it: asked to go on behind the cursor, it sends everything from there on."""
    reader = LiveReader("s", after, deltas=True)
    for seq in sent:
        if not reader.take_event(event(seq)):
            missing = range(reader.cursor + 1, seq + 1)
            assert all(reader.take_event(event(number)) for number in missing)
    seen = [item.seq for item in drained(reader)]
    assert seen == list(range(after + 1, max([after, *sent]) + 1))


@pytest.mark.slow
@given(st.text(min_size=1, max_size=30), st.lists(st.tuples(st.integers(0, 30), st.booleans()), max_size=12))
def test_text_that_is_being_written_is_passed_on_once(text: str, cuts: list[tuple[int, bool]]) -> None:
    reader = LiveReader("s", 0, deltas=True)
    told = 0
    for upto, is_cut in [*cuts, (len(text), False)]:
        upto = min(max(upto, told), len(text))
        if is_cut:
            reader.follows_anew()
            told = 0
            upto = max(upto, 1)
            reader.take_delta(Delta(block="b", kind="text", offset=0, text=text[:upto], after=0))
        elif upto > told:
            reader.take_delta(Delta(block="b", kind="text", offset=told, text=text[told:upto], after=0))
        told = upto
    written = ""
    for delta in drained(reader):
        assert delta.offset == len(written)
        written += delta.text
    assert written == text[: len(written)]


async def test_what_ended_it_is_raised_behind_what_came() -> None:
    reader = LiveReader("s", 0, deltas=False)
    reader.take_event(event(1))
    reader.end(SessionNotFound("there is no session s"))
    assert (await reader.next(lambda: None)).seq == 1  # type: ignore[union-attr]
    with pytest.raises(SessionNotFound):
        await reader.next(lambda: None)


async def test_a_paused_reader_goes_on_once_it_has_read_everything() -> None:
    reader = LiveReader("s", 0, deltas=False)
    reader.take_event(event(1))
    reader.paused = True
    asked: list[int] = []

    def go_on() -> None:
        asked.append(reader.cursor)
        reader.follows_anew()
        reader.take_event(event(2))

    assert [(await reader.next(go_on)).seq for _ in range(2)] == [1, 2]  # type: ignore[union-attr]
    assert asked == [1]

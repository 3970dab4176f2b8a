"""The journal of a live session: durable before visible, whatever the store does."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

from handrail.errors import Fenced, StoreError, StoreFull, StoreLocked
from handrail.events.codec import decode_event
from handrail.events.model import Action, Completed, Delta, Event, Started, Text
from handrail.sessions import journal as journal_module
from handrail.sessions.feed import Feed
from handrail.sessions.journal import Journal
from handrail.store.base import MessageRow

from .fake_store import FakeStore, a_lease, as_store, settled


@pytest.fixture(autouse=True)
def impatience(monkeypatch: pytest.MonkeyPatch) -> None:
    """It tries again at once: the test decides when the store has recovered."""
    monkeypatch.setattr(journal_module, "FIRST_PAUSE", 0.0)
    monkeypatch.setattr(journal_module, "LONGEST_PAUSE", 0.0)


@pytest.fixture
def store() -> FakeStore:
    return FakeStore()


class Desk:
    """A journal, what its readers were shown, and how it failed."""

    def __init__(self, store: FakeStore, last_seq: int = 0, **settings: Any) -> None:
        self.shown: list[Event] = []
        self.failures: list[StoreError] = []
        self.feed = Feed("s1", as_store(store), on_event=lambda session_id, event: self.shown.append(event))
        self.journal = Journal(
            as_store(store), a_lease(last_seq), self.feed, on_failure=self.failures.append, **settings
        )

    @property
    def numbers(self) -> list[int]:
        return [event.seq for event in self.shown]


@pytest.fixture
async def desk(store: FakeStore) -> Desk:
    return Desk(store)


def said(text: str = "words") -> Text:
    return Text(block="b", text=text)


def stored_events(store: FakeStore) -> list[Event]:
    return [decode_event(row.body) for row in store.events]


# ---------------------------------------------------------------- durable before visible


async def test_an_event_is_shown_only_when_it_is_stored(store: FakeStore, desk: Desk) -> None:
    desk.journal.add([said()])
    await settled()
    assert desk.shown == []
    store.commit()
    await settled()
    assert desk.shown == [], "it is stored, but nobody knows that yet"
    store.tell()
    await settled()
    assert desk.numbers == [1]


async def test_what_comes_while_the_store_is_busy_is_one_batch(store: FakeStore, desk: Desk) -> None:
    for _ in range(5):
        desk.journal.add([said()])
        await settled()
    store.take()
    await settled()
    assert desk.numbers == [1]
    store.take()
    await settled()
    assert desk.numbers == [1, 2, 3, 4, 5]
    assert [len(batch.events) for batch in store.batches] == [1, 4]


async def test_everything_of_one_call_is_stored_together(store: FakeStore, desk: Desk) -> None:
    message = MessageRow(uuid="m1", content=b'"hi"', at=1.0)
    desk.journal.keep("in", b"a line")
    desk.journal.add([said(), said()], messages=[message], session={"status": "running"}, durable=True)
    await settled()
    store.take()
    await settled()
    (batch,) = store.batches
    assert [row.seq for row in batch.events] == [1, 2]
    assert list(batch.messages) == [message]
    assert [frame.line for frame in batch.frames] == [b"a line"]
    assert batch.session["status"] == "running"
    assert batch.durable


async def test_a_line_of_the_wire_waits_for_company_and_for_the_end_at_the_latest(store: FakeStore) -> None:
    store.at_once = True
    desk = Desk(store)
    desk.journal.keep("out", b"a line")
    await desk.journal.stored()
    assert store.batches == []
    await desk.journal.close()
    assert [frame.line for batch in store.batches for frame in batch.frames] == [b"a line"]


async def test_numbers_go_on_where_the_last_owner_ended(store: FakeStore) -> None:
    store.at_once = True
    first = Desk(store)
    first.journal.add([said(), said()])
    await first.journal.close()
    second = Desk(store, last_seq=2)
    second.journal.add([said()])
    await second.journal.stored()
    assert second.numbers == [3]


async def test_stored_returns_when_the_store_has_it_and_not_before(store: FakeStore, desk: Desk) -> None:
    desk.journal.add([said()])
    first = asyncio.create_task(desk.journal.stored())
    await settled()
    desk.journal.add([said()])
    second = asyncio.create_task(desk.journal.stored())
    await settled()
    assert not first.done()
    store.take()
    await settled()
    assert first.done()
    assert not second.done()
    store.take()
    await settled()
    assert second.done()
    await desk.journal.stored()  # nothing is left to wait for


async def test_whoever_stops_waiting_disturbs_nobody(store: FakeStore, desk: Desk) -> None:
    desk.journal.add([said()])
    leaving, staying = (asyncio.create_task(desk.journal.stored()) for _ in range(2))
    await settled()
    leaving.cancel()
    await settled()
    store.take()
    await asyncio.wait_for(staying, 5)
    assert leaving.cancelled()


# ---------------------------------------------------------------- deltas


async def test_a_delta_follows_the_event_before_it_and_needs_no_store(store: FakeStore, desk: Desk) -> None:
    delta = Delta(block="b", kind="text", offset=0, text="wor")
    desk.journal.add([delta])
    assert store.attempts == 0
    desk.journal.add([said()])
    late = Delta(block="c", kind="text", offset=0, text="x")
    desk.journal.add([late])
    assert (delta.after, late.after) == (0, 1)
    reading = desk.feed.read()
    assert await anext(reading) == delta
    waits = asyncio.ensure_future(anext(reading))
    await settled()
    assert not waits.done(), "the event before it is not stored yet"
    store.take()
    assert (await waits).seq == 1
    assert await anext(reading) == late
    await reading.aclose()


# ---------------------------------------------------------------- a store that fails for a while


@pytest.mark.parametrize("error", [StoreFull("the disk is full"), StoreLocked("locked"), StoreError("?")])
async def test_nothing_is_lost_while_the_store_fails(
    store: FakeStore, desk: Desk, error: StoreError, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "handrail.journal")
    desk.journal.add([said("first")])
    await settled()
    for number in range(3):
        store.refuse(error)
        desk.journal.add([said(f"meanwhile {number}")])
        await settled()
        assert desk.journal.trouble is error
    assert desk.shown == []
    assert desk.failures == []
    await store.recover()
    await desk.journal.stored()
    assert desk.journal.trouble is None
    texts = [event.text for event in stored_events(store) if isinstance(event, Text)]
    assert texts == ["first", "meanwhile 0", "meanwhile 1", "meanwhile 2"]
    assert desk.numbers == [event.seq for event in stored_events(store)] == [1, 2, 3, 4, 5]
    assert [record.message for record in caplog.records] == [
        f"the journal of s1 cannot be written now: {error}",
        "the journal of s1 is being written again",
    ]


async def test_the_journal_says_afterwards_that_it_could_not_be_written(store: FakeStore) -> None:
    now = [1000.0]
    desk = Desk(store, clock=lambda: now[0])
    desk.journal.add([Started(run=1)])
    await settled()
    store.refuse(StoreFull("the disk is full: free some space"))
    await settled()
    now[0] += 42
    await store.recover()
    warning = stored_events(store)[-1]
    assert isinstance(warning, Action)
    assert (warning.kind, warning.phase, warning.run) == ("warning", "completed", 1)
    assert warning.title == "the journal could not be written for 42 s: the disk is full: free some space"
    assert warning == desk.shown[-1]


async def test_the_warning_lies_outside_a_run_that_is_over(store: FakeStore, desk: Desk) -> None:
    desk.journal.add([Started(run=1), Completed(run=1, ok=True)])
    await settled()
    store.refuse(StoreFull("full"))
    await settled()
    await store.recover()
    warning = stored_events(store)[-1]
    assert isinstance(warning, Action)
    assert warning.run is None


async def test_what_can_be_held_is_limited_and_then_the_session_has_to_stop(
    store: FakeStore, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal_module, "HOLDS_AT_MOST", 10_000)
    waiting = asyncio.create_task(_add_and_wait(desk.journal, said("x" * 6_000)))
    await settled()
    store.refuse(StoreFull("full"))
    desk.journal.keep("in", b"y" * 2_000)
    await settled()
    assert desk.failures == []
    store.refuse(StoreFull("full"))
    desk.journal.add(Delta(block="b", kind="text", offset=n, text="z") for n in range(20))
    await settled()
    assert [str(error) for error in desk.failures] == ["full"]
    with pytest.raises(StoreFull):
        await waiting
    with pytest.raises(StoreFull):
        await desk.journal.close()


async def test_a_fault_of_the_store_itself_ends_it_with_a_clear_error(
    store: FakeStore, desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    desk.journal.add([said()])
    await settled()
    store.refuse(ZeroDivisionError("oh"))
    await settled()
    (failure,) = desk.failures
    assert str(failure) == "the store failed: ZeroDivisionError: oh"
    with pytest.raises(StoreError, match="ZeroDivisionError"):
        await desk.journal.stored()


# ---------------------------------------------------------------- another owner


async def test_a_fence_ends_everything_once(store: FakeStore, desk: Desk) -> None:
    waiting = [asyncio.create_task(_add_and_wait(desk.journal, said())) for _ in range(3)]
    await settled()
    store.refuse(Fenced("another process owns it"))
    outcomes = await asyncio.gather(*waiting, return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [Fenced] * 3
    for number in range(10):
        desk.journal.add([said(f"too late {number}")])
        desk.journal.keep("in", b"too late")
    await settled()
    for ended in (desk.journal.stored, desk.journal.close):
        with pytest.raises(Fenced):
            await ended()
    assert len(desk.failures) == 1
    assert store.attempts == 1
    assert desk.shown == []


async def test_what_is_added_after_the_end_is_not_kept(store: FakeStore, desk: Desk) -> None:
    desk.journal.add([said()])
    await settled()
    store.refuse(Fenced("another process owns it"))
    await settled()
    for _ in range(100):
        desk.journal.add([said("x" * 1_000), Delta(block="b", kind="text", offset=0, text="y")])
    assert desk.journal.held == 0


async def _add_and_wait(journal: Journal, event: Event) -> None:
    journal.add([event])
    await journal.stored()


# ---------------------------------------------------------------- the end


async def test_closing_waits_until_everything_is_stored(store: FakeStore, desk: Desk) -> None:
    desk.journal.add([said()])
    closing = asyncio.create_task(desk.journal.close())
    await settled()
    desk.journal.add([said()])
    store.take()
    await settled()
    assert not closing.done()
    store.take()
    await asyncio.wait_for(closing, 5)
    assert desk.numbers == [1, 2]


async def test_closing_gives_a_failing_store_up_and_leaves_nobody_waiting(
    store: FakeStore, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal_module, "CLOSING_PATIENCE", 0.02)
    waiting = asyncio.create_task(_add_and_wait(desk.journal, said()))
    await settled()
    store.refuse(StoreFull("the disk is full"))
    await settled()
    with pytest.raises(StoreFull, match="the disk is full"):
        await desk.journal.close()
    with pytest.raises(StoreFull):
        await asyncio.wait_for(waiting, 5)
    assert store.events == []


async def test_closing_a_journal_without_anything_in_it(store: FakeStore, desk: Desk) -> None:
    await desk.journal.close()
    assert store.attempts == 0


# ---------------------------------------------------------------- what it knows of runs


async def test_runs_and_costs_are_stored_with_their_events(store: FakeStore) -> None:
    store.at_once = True
    desk = Desk(store, runs=2, cost_usd=1.0)
    desk.journal.add([Started(run=3)])
    await desk.journal.stored()
    desk.journal.add([Completed(run=3, ok=True, cost_usd=0.5)])
    await desk.journal.stored()
    begun, ended = (run for batch in store.batches for run in batch.runs)
    assert (begun.number, begun.started_seq, begun.completed_seq) == (3, 1, None)
    assert (ended.number, ended.started_seq, ended.completed_seq, ended.ok) == (3, 1, 2, True)
    assert store.batches[-1].session["cost_usd"] == 1.5
    assert (desk.journal.runs, desk.journal.cost_usd) == (3, 1.5)

"""Checks of the journal: append with fence, and read after."""

from __future__ import annotations

import asyncio
import json

from handrail.errors import Fenced, StoreError
from handrail.store.base import Batch, MessageRow, RunRow, StartRow, Store
from handrail.testing._store_checks.support import (
    NOW,
    Check,
    Handles,
    ask,
    batch_of,
    event,
    expect,
    expect_error,
    frame,
    new_session,
    outcome,
)

__all__ = ["CHECKS"]


async def numbers(store: Store, session_id: str = "s1") -> list[int]:
    return [row.seq for row in await store.read(session_id, limit=10_000)]


async def what_is_appended_is_read_by_every_handle(handles: Handles) -> None:
    store, other = await handles.open(), await handles.open()
    lease = await new_session(store)
    rows = [
        event(1, type="text", run=3, body=b'{"type":"text","text":"\xc3\xa4"}', text="words"),
        event(2, body=b"{}", at=NOW + 0.25),
    ]
    await store.append(lease, Batch(events=rows))
    for handle in (store, other):
        found = await handle.read("s1")
        facts = [(row.seq, row.at, row.type, row.run, row.body) for row in found]
        expect(facts, [(row.seq, row.at, row.type, row.run, row.body) for row in rows], "the events read")
        stored = await handle.get_session("s1")
        expect(stored and stored.last_seq, 2, "the session's last number")


async def reading_after_a_number_gives_what_is_behind_it(handles: Handles) -> None:
    store = await handles.open()
    lease = await new_session(store)
    await store.append(lease, batch_of(1, 25))
    expect([row.seq for row in await store.read("s1", after=20)], [21, 22, 23, 24, 25], "events after 20")
    expect([row.seq for row in await store.read("s1", after=10, limit=3)], [11, 12, 13], "three events after 10")
    expect(await store.read("s1", after=25), [], "events after the last")
    expect(await store.read("nobody"), [], "events of a session that is not there")


async def reading_before_a_number_gives_the_last_ones_of_what_is_below_it(handles: Handles) -> None:
    store = await handles.open()
    lease = await new_session(store)
    await store.append(lease, batch_of(1, 25))
    for arguments, wanted in (
        ({"before": 4}, [1, 2, 3]),
        ({"before": 21, "limit": 3}, [18, 19, 20]),
        ({"before": 100, "limit": 2}, [24, 25]),
        ({"before": 21, "after": 18, "limit": 10}, [19, 20]),
        ({"before": 1}, []),
    ):
        expect([row.seq for row in await store.read("s1", **arguments)], wanted, f"events with {arguments}")


async def concurrent_appends_are_stored_in_the_order_of_the_calls(handles: Handles) -> None:
    store = await handles.open()
    leases = [await new_session(store, f"s{number}") for number in range(3)]
    async with asyncio.TaskGroup() as group:
        for seq in range(1, 101):
            for lease in leases:
                group.create_task(store.append(lease, batch_of(seq)))
    for lease in leases:
        expect(await numbers(store, lease.session_id), list(range(1, 101)), "the numbers")


async def numbers_have_no_gaps_and_no_doubles(handles: Handles) -> None:
    store = await handles.open()
    lease = await new_session(store)
    await store.append(lease, batch_of(1, 3))
    await expect_error(StoreError, store.append(lease, batch_of(5)), "a gap")
    await expect_error(StoreError, store.append(lease, batch_of(3)), "a number that is taken")
    await expect_error(StoreError, store.append(lease, Batch(events=[event(4), event(6)])), "a gap inside a batch")
    await store.append(lease, batch_of(4))
    expect(await numbers(store), [1, 2, 3, 4], "the numbers")


async def a_batch_is_stored_whole_or_not_at_all(handles: Handles) -> None:
    store = await handles.open()
    lease = await new_session(store, title="before")
    rest = Batch(
        events=[event(2)],
        asks=[ask()],
        messages=[MessageRow(uuid="m1", content=b'"hi"', at=NOW)],
        runs=[RunRow(number=1, started_seq=1, started_at=NOW)],
        frames=[frame(1)],
        starts=[StartRow(at=NOW, why="new")],
        session={"title": "after"},
    )
    await expect_error(StoreError, store.append(lease, rest), "a batch that does not follow")
    stored = await store.get_session("s1")
    expect(stored and stored.title, "before", "the title")
    expect(await everything_of(store), [], "what a refused batch left")
    await store.append(lease, batch_of(1))
    await store.append(lease, rest)
    expect(len(await everything_of(store)), 7, "what a batch stored")


async def everything_of(store: Store) -> list[object]:
    return [
        *await store.read("s1"),
        *await store.asks("s1"),
        *await store.messages("s1"),
        *await store.runs("s1"),
        *await store.frames("s1"),
        *await store.starts("s1"),
    ]


async def a_refused_append_harms_no_other(handles: Handles) -> None:
    store = await handles.open()
    good = await new_session(store, "good")
    old = await new_session(store, "bad")
    await store.acquire("bad", "another", now=NOW, force=True)
    calls = [
        outcome(store.append(good if even else old, batch_of(number + 1)))
        for number in range(20)
        for even in (True, False)
    ]
    outcomes = await asyncio.gather(*calls)
    expect([type(found) for found in outcomes[::2]], [type(None)] * 20, "the good appends")
    expect([type(found) for found in outcomes[1::2]], [Fenced] * 20, "the fenced appends")
    expect(await numbers(store, "good"), list(range(1, 21)), "the good session's numbers")
    expect(await numbers(store, "bad"), [], "the fenced owner's numbers")


async def only_the_latest_lease_can_append(handles: Handles) -> None:
    store, other = await handles.open(), await handles.open()
    old = await new_session(store)
    await store.append(old, batch_of(1))
    new = await other.acquire("s1", "another", now=NOW, force=True)
    expect(new.last_seq, 1, "the last number that the new lease names")
    await expect_error(Fenced, store.append(old, batch_of(2)), "the replaced owner's append")
    await expect_error(Fenced, store.append(old, Batch(session={"title": "no"})), "a batch without events")
    await other.append(new, batch_of(2))
    await other.release(new)
    await expect_error(Fenced, other.append(new, batch_of(3)), "an append after the release")
    expect(await numbers(store), [1, 2], "the numbers")


async def large_and_odd_bodies_come_back_as_they_were(handles: Handles) -> None:
    store = await handles.open()
    lease = await new_session(store)
    long = 'x"\\\n\u2028ä😀' * 20_000
    bodies = [
        json.dumps({"a": long, "b": [long, "short"], "c": {"d": long + "!"}}).encode(),
        json.dumps({"a": long}, ensure_ascii=False).encode(),
        b'{"escaped":"\\ud800\\u0000","n":1e400}',
        b'["' + b"y" * 1_000_000 + b'"]',
    ]
    text = "half a pair \ud800, a \0, and words"
    rows = [event(seq, body=body, text=text) for seq, body in enumerate(bodies, 1)]
    await store.append(lease, Batch(events=rows, session={"title": text}))
    expect([row.body == body for row, body in zip(await store.read("s1"), bodies, strict=True)], [True] * 4, "bodies")


async def what_is_stored_again_replaces_what_was(handles: Handles) -> None:
    store = await handles.open()
    lease = await new_session(store)
    messages = [MessageRow(uuid=name, content=b'"hi"', at=NOW, by="ann", surface="test") for name in ("m2", "m1")]
    runs = [RunRow(number=1, started_seq=1, started_at=NOW)]
    await store.append(lease, batch_of(1, messages=messages, runs=runs))
    changed = MessageRow(uuid="m2", content=b'"hi"', at=NOW, state="answered", by="ann", surface="test")
    done = RunRow(number=1, started_seq=1, started_at=NOW, completed_seq=2, completed_at=NOW + 5, ok=True, cost_usd=0.5)
    await store.append(lease, batch_of(2, messages=[changed], runs=[done]))
    expect(await store.messages("s1"), [changed, messages[1]], "messages, in the order in which they were first stored")
    expect(await store.messages("s1", states=("queued",)), [messages[1]], "the queued message")
    expect(await store.runs("s1"), [done], "the run")
    other = await new_session(store, "s2")
    again = RunRow(number=1, started_seq=1, started_at=NOW, completed_at=NOW + 50, ok=False, cost_usd=0.25)
    await store.append(other, batch_of(1, runs=[again, RunRow(number=2, started_seq=2, started_at=NOW)]))
    expect(await store.spent(since=NOW), 0.75, "what was spent in all")
    expect(await store.spent(since=NOW, session_id="s1"), 0.5, "what a session spent")
    expect(await store.spent(since=NOW + 10), 0.25, "what was spent lately")


async def frames_and_starts_are_kept_in_order(handles: Handles) -> None:
    store = await handles.open()
    lease = await new_session(store)
    first = StartRow(at=NOW, why="new", pid=7, process_started=NOW - 1, marker="m")
    second = StartRow(at=NOW + 9, why="resume")
    await store.append(lease, Batch(frames=[frame(1), frame(2, direction="out", after=0)], starts=[first]))
    await store.append(lease, batch_of(1, frames=[frame(number, after=1) for number in range(3, 8)], starts=[second]))
    found = await store.frames("s1")
    expect([row.line for row in found], [frame(number).line for number in range(1, 8)], "the frames")
    expect([row.number for row in found], list(range(1, 8)), "the frames' numbers")
    expect((found[1].direction, found[1].at, found[4].after), ("out", NOW + 2, 1), "what is known of frames")
    expect([row.number for row in await store.frames("s1", after=2, limit=3)], [3, 4, 5], "three frames after 2")
    expect([row.number for row in await store.frames("s1", after=4)], [5, 6, 7], "the frames after 4")
    expect(await store.starts("s1"), [first, second], "the starts")
    expect(await store.starts("s1", since=NOW + 1), [second], "the later start")


CHECKS: tuple[Check, ...] = (
    what_is_appended_is_read_by_every_handle,
    reading_after_a_number_gives_what_is_behind_it,
    reading_before_a_number_gives_the_last_ones_of_what_is_below_it,
    concurrent_appends_are_stored_in_the_order_of_the_calls,
    numbers_have_no_gaps_and_no_doubles,
    a_batch_is_stored_whole_or_not_at_all,
    a_refused_append_harms_no_other,
    only_the_latest_lease_can_append,
    large_and_odd_bodies_come_back_as_they_were,
    what_is_stored_again_replaces_what_was,
    frames_and_starts_are_kept_in_order,
)

"""Checks of copies of other machines' sessions: complete, stored once, never set back, and of one host only."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import msgspec

from handrail.errors import Fenced, LeaseHeld, StoreError
from handrail.store.base import (
    Batch,
    CopyHead,
    CopyPage,
    Lease,
    MessageRow,
    RunRow,
    RunUsageRow,
    SessionFilter,
    Store,
)
from handrail.testing._store_checks.support import (
    NOW,
    Check,
    Handles,
    ask,
    batch_of,
    decision,
    event,
    expect,
    expect_error,
    new_session,
    session,
)
from handrail.testing._store_checks.watching import Heard

__all__ = ["CHECKS", "HOST", "busy_session", "contents", "copy_all", "expect_copied", "page_for", "two_stores"]

HOST = "host1"
LARGE = b'{"a":"' + b"x" * 100_000 + b'"}'


async def two_stores(handles: Handles) -> tuple[Store, Store]:
    """That of a host, and that of its hub."""
    return await handles.open("host"), await handles.open("hub")


async def page_for(source: Store, hub: Store, session_id: str = "s1", **limits: Any) -> CopyPage:
    """What the hub's copy lacks."""
    have = {head.session_id: head for head in await hub.copied(HOST)}.get(session_id)
    at = have or CopyHead(session_id=session_id, fence=0, last_seq=0)
    page = await source.copy_page(session_id, after=at.last_seq, revision=at.revision, **limits)
    if page is None:
        raise AssertionError(f"there is no page of session {session_id}")
    return page


async def copy_all(source: Store, hub: Store, session_id: str = "s1", **limits: Any) -> int:
    """Copy until nothing is lacking; returns how many pages that took."""
    for count in range(1, 1000):
        page = await page_for(source, hub, session_id, **limits)
        await hub.take_copy(HOST, page)
        if not page.more:
            return count
    raise AssertionError("the pages do not come to an end")


async def contents(store: Store, session_id: str = "s1") -> list[Any]:
    """What is known of a session wherever it is."""
    row = await store.get_session(session_id)
    same = row and msgspec.structs.replace(row, host="", owner=row.owner and "somebody", lease_until=None)
    rows: Sequence[Sequence[Any]] = (
        await store.read(session_id, limit=100_000),
        await store.asks(session_id),
        await store.messages(session_id),
        await store.runs(session_id),
        [used for used in await store.usage(by=("session", "model", "day")) if used.session_id == session_id],
    )
    return [same, *rows]


async def expect_copied(source: Store, hub: Store, session_id: str = "s1") -> None:
    names = ("row", "events", "asks", "messages", "runs", "usage")
    for name, found, wanted in zip(
        names, await contents(hub, session_id), await contents(source, session_id), strict=True
    ):
        expect(found, wanted, f"the {name} of the copy")


async def busy_session(store: Store) -> Lease:
    """A session with a little of everything."""
    lease = await new_session(store, title="Far away", cli_session_id="cli-1", settings=b'{"model":"opus"}')
    events = [event(1, text="a remarkable start"), event(2, type="big", body=LARGE), event(3, run=1)]
    messages = [MessageRow(uuid=f"m{number}", content=b'"hi"', at=NOW, by="ann") for number in range(3)]
    runs = [RunRow(number=1, started_seq=1, started_at=NOW)]
    await store.append(lease, Batch(events=events, messages=messages, runs=runs, asks=[ask(), ask("ask2", body=LARGE)]))
    await store.decide(decision())
    done = [RunRow(number=1, started_seq=1, started_at=NOW, completed_seq=3, completed_at=NOW, ok=True, cost_usd=0.5)]
    used = [RunUsageRow(run=1, model="opus", at=NOW, day="2023-11-14", input_tokens=7, cost_usd=0.5)]
    answered = MessageRow(uuid="m0", content=b'"hi"', at=NOW, by="ann", state="answered")
    changes = {"status": "running", "cli_session_id": "cli-2", "model": "opus", "cost_usd": 0.5}
    await store.append(lease, batch_of(4, runs=done, usage=used, messages=[answered], session=changes))
    return lease


async def a_copy_is_what_the_session_is(handles: Handles) -> None:
    source, hub = await two_stores(handles)
    lease = await busy_session(source)
    await copy_all(source, hub)
    await expect_copied(source, hub)
    row = await hub.get_session("s1")
    expect(row and (row.host, row.owner), (HOST, f"host:{HOST}"), "whose the copy of a live session is")
    expect([hit.seq for hit in await hub.search("remarkable")], [1], "what a search finds in the copy")
    expect([found.id for found in await hub.find_sessions("cli-1")], ["s1"], "what an old CLI session finds")
    await source.release(lease)
    await source.change_session("s1", title="Another title", archived=True)
    await copy_all(source, hub)
    await expect_copied(source, hub)
    row = await hub.get_session("s1")
    expect(row and row.owner, None, "the owner of a copy of a session that is not live")
    expect(await hub.check(), [], "what is wrong")


async def a_copy_is_made_in_pages_of_any_size(handles: Handles) -> None:
    source, hub = await two_stores(handles)
    lease = await busy_session(source)
    await source.append(lease, batch_of(5, 20, asks=[ask(f"more{number}") for number in range(20)]))
    pages = await copy_all(source, hub, limit_bytes=1)
    expect(pages >= 24, True, "whether small pages hold little")
    await expect_copied(source, hub)
    expect(await copy_all(source, hub), 1, "how many pages nothing takes")
    expect(await source.copy_page("s9", after=0), None, "a page of no session")
    whole = await source.copy_page("s1", after=0, limit_bytes=10_000_000)
    expect(whole and (len(whole.events), whole.more), (24, False), "one large page")
    tail = await source.copy_page("s1", after=24, revision=whole.revision if whole else 0)
    expect(tail and (tail.events, tail.asks, tail.messages, tail.more), ([], [], [], False), "a page of nothing")


async def a_page_that_comes_twice_or_late_changes_nothing(handles: Handles) -> None:
    source, hub = await two_stores(handles)
    lease = await busy_session(source)
    first = await page_for(source, hub)
    await hub.take_copy(HOST, first)
    second_ask = ask("ask2", state="cancelled", closed_at=NOW + 1)
    await source.append(lease, batch_of(5, asks=[second_ask], session={"status": "idle", "title": "Later"}))
    expect(await hub.take_copy(HOST, await page_for(source, hub)), 5, "the last event of the copy")
    for _ in range(2):
        expect(await hub.take_copy(HOST, first), 5, "the last event after a page that came late")
        await expect_copied(source, hub)
    whole = await source.copy_page("s1", after=0)
    expect(whole and await hub.take_copy(HOST, whole), 5, "the last event after a page of everything")
    await expect_copied(source, hub)


async def a_page_must_follow(handles: Handles) -> None:
    source, hub = await two_stores(handles)
    lease = await busy_session(source)
    whole = await page_for(source, hub)
    behind = msgspec.structs.replace(whole, after=2, events=whole.events[2:])
    await expect_error(StoreError, hub.take_copy(HOST, behind), "a page behind events that are not there")
    expect(await hub.get_session("s1"), None, "what is left of a page that was refused")
    await hub.take_copy(HOST, whole)
    await source.append(lease, Batch(asks=[ask("ask3"), ask("ask4")]))
    rows = msgspec.structs.replace(await page_for(source, hub), after_revision=whole.revision + 1)
    await expect_error(StoreError, hub.take_copy(HOST, rows), "rows behind rows that are not there")
    gap = msgspec.structs.replace(whole, events=(whole.events[0], whole.events[2]))
    await expect_error(StoreError, hub.take_copy(HOST, gap), "a page with a gap")
    stray = msgspec.structs.replace(whole, asks=[ask("ask9", "s2")])
    await expect_error(StoreError, hub.take_copy(HOST, stray), "a page with an ask of another session")
    huge = msgspec.structs.replace(whole, changed=2**64)
    await expect_error(StoreError, hub.take_copy(HOST, huge), "a page with a number that nothing can hold")
    await copy_all(source, hub)
    await expect_copied(source, hub)


async def a_session_is_copied_from_its_host_alone(handles: Handles) -> None:
    source, hub = await two_stores(handles)
    await busy_session(source)
    page = await page_for(source, hub)
    await hub.create_session(session("s1"))
    await expect_error(StoreError, hub.take_copy(HOST, page), "a page of a session of this machine")
    expect(await hub.copied(HOST), [], "the copies of the host")
    await hub.delete_session("s1")
    await hub.take_copy(HOST, page)
    await expect_error(StoreError, hub.take_copy("host2", page), "a page of another host's session")
    await expect_error(StoreError, hub.take_copy("", page), "a page of nobody's session")
    await expect_copied(source, hub)
    expect([head.session_id for head in await hub.copied("host2")], [], "the copies of another host")


async def a_page_of_an_older_owner_is_refused(handles: Handles) -> None:
    source, hub = await two_stores(handles)
    await busy_session(source)
    old = await page_for(source, hub)
    lease = await source.acquire("s1", "another", now=NOW, force=True)
    await source.append(lease, batch_of(5))
    await copy_all(source, hub)
    await expect_error(Fenced, hub.take_copy(HOST, old), "a page of an older owner")
    await expect_copied(source, hub)


async def what_is_done_with_a_copy_is_done_on_its_host(handles: Handles) -> None:
    source, hub = await two_stores(handles)
    lease = await busy_session(source)
    await source.release(lease)
    await copy_all(source, hub)
    await expect_error(LeaseHeld, hub.acquire("s1", "me", now=NOW), "a lease on a copy")
    await expect_error(LeaseHeld, hub.acquire("s1", "me", now=NOW, force=True), "a lease on a copy, taken by force")
    await expect_error(StoreError, hub.decide(decision("ask2")), "a decision on a copy")
    await expect_copied(source, hub)


async def heads_tell_where_journals_stand(handles: Handles) -> None:
    source, hub = await two_stores(handles)
    await busy_session(source)
    for number in range(2, 6):
        await source.create_session(session(f"s{number}"))
    await hub.create_session(session("own"))
    heads = await source.heads()
    expect([head.session_id for head in heads], [f"s{number}" for number in range(1, 6)], "the sessions of a host")
    paged: list[CopyHead] = []
    while page := await source.heads(after=paged[-1].changed if paged else 0, limit=2):
        paged += page
    expect(paged, heads, "the same in pages")
    for head in heads:
        await copy_all(source, hub, head.session_id)
    expect(sorted(await hub.copied(HOST), key=lambda head: head.session_id), heads, "where the copies stand")
    expect([head.session_id for head in await hub.heads()], ["own"], "what the hub itself has to offer")


async def every_change_of_a_session_reaches_its_copy(handles: Handles) -> None:
    source, hub = await two_stores(handles)
    lease = await busy_session(source)
    await copy_all(source, hub)
    changes: dict[str, Callable[[], Awaitable[None]]] = {
        "an event": lambda: source.append(lease, batch_of(5)),
        "a row": lambda: source.append(lease, Batch(asks=[ask("ask3")])),
        "a decision": lambda: source.decide(decision("ask2")),
        "a status": lambda: source.append(lease, Batch(session={"status": "idle"})),
        "a title": lambda: source.change_session("s1", title="New"),
        "the end of its lease": lambda: source.release(lease),
    }
    for what, change in changes.items():
        (copy,) = await hub.copied(HOST)
        await change()
        (now,) = await source.heads(after=copy.changed)
        expect((copy.is_behind(now), copy.has_other_past(now)), (True, False), f"whether the copy lacks {what}")
        await copy_all(source, hub)
        expect(await hub.copied(HOST), [now], f"where the copy stands after {what}")
        expect(now.is_behind(now) or now.has_other_past(now), False, "whether a complete copy lacks anything")
        await expect_copied(source, hub)


async def sessions_are_listed_by_host(handles: Handles) -> None:
    source, hub = await two_stores(handles)
    await busy_session(source)
    await copy_all(source, hub)
    await hub.create_session(session("own"))
    for host, wanted in ((None, {"s1", "own"}), ("", {"own"}), (HOST, {"s1"}), ("host2", set())):
        which = SessionFilter(host=host)
        expect({row.id for row in await hub.list_sessions(which)}, wanted, f"the sessions of {host!r}")
        expect(sum((await hub.count_sessions(which)).values()), len(wanted), f"how many {host!r} has")
    waiting = await hub.waiting_asks()
    expect([(found.ask.id, found.session.host) for found in waiting], [("ask2", HOST)], "what waits for an answer")


async def whoever_watches_hears_of_copies(handles: Handles) -> None:
    source, hub = await two_stores(handles)
    other = await handles.open("hub")
    lease = await busy_session(source)
    here, there = Heard(), Heard()
    hub.watch(here)
    other.watch(there, session_id="s1")
    await copy_all(source, hub)
    expect(here.told[-1], ("s1", 4), "what was told of a page")
    await source.append(lease, batch_of(5))
    await copy_all(source, hub)
    expect(here.told[-1], ("s1", 5), "what was told of the next one")
    await there.until(lambda told: told[-1:] == [("s1", 5)], "a page that another handle stored")
    await hub.set_copy_aside("s1", as_id="aside", title="Before")
    await here.until(lambda told: ("s1", 0) in told and ("aside", 5) in told, "a copy that was set aside")


CHECKS: tuple[Check, ...] = (
    a_copy_is_what_the_session_is,
    a_copy_is_made_in_pages_of_any_size,
    a_page_that_comes_twice_or_late_changes_nothing,
    a_page_must_follow,
    a_session_is_copied_from_its_host_alone,
    a_page_of_an_older_owner_is_refused,
    what_is_done_with_a_copy_is_done_on_its_host,
    heads_tell_where_journals_stand,
    every_change_of_a_session_reaches_its_copy,
    sessions_are_listed_by_host,
    whoever_watches_hears_of_copies,
)

"""Checks of leases and of asks: one holder at a time, one decision for each ask."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from handrail.errors import AlreadyDecided, AskClosed, Fenced, LeaseHeld, SessionNotFound, StaleDigest
from handrail.store.base import AskRow, AskRowState, Batch, Lease, RunRow, Store
from handrail.testing._store_checks.support import (
    NOW,
    Check,
    Handles,
    ask,
    batch_of,
    decision,
    expect,
    expect_error,
    new_session,
    outcome,
    session,
)

__all__ = ["CHECKS"]

HANDLES = 4
DECIDERS = 12


async def a_lease_has_one_holder_and_rising_fences(handles: Handles) -> None:
    store, other = await handles.open(), await handles.open()
    await store.create_session(session("s1"))
    first = await store.acquire("s1", "ann", now=NOW)
    held = await expect_error(LeaseHeld, other.acquire("s1", "bob", now=NOW + 1e6), "a lease that is held")
    expect(held.owner, "ann", "the holder that the error names")
    await store.release(first)
    second = await other.acquire("s1", "bob", now=NOW, ttl=10)
    expect((second.owner, second.until), ("bob", NOW + 10), "the second lease")
    await expect_error(LeaseHeld, store.acquire("s1", "ann", now=NOW + 9), "a lease that has not expired")
    third = await store.acquire("s1", "ann", now=NOW + 11)
    fourth = await other.acquire("s1", "bob", now=NOW, force=True)
    fences = [lease.fence for lease in (first, second, third, fourth)]
    expect(fences, sorted(set(fences)), "the fences")
    stored = await store.get_session("s1")
    expect(stored and (stored.owner, stored.fence), ("bob", fourth.fence), "what the session says of its holder")
    await expect_error(SessionNotFound, store.acquire("nobody", "ann", now=NOW), "a lease on no session")


async def a_lease_can_be_renewed_and_given_up_by_its_holder_only(handles: Handles) -> None:
    store = await handles.open()
    await store.create_session(session("s1"))
    old = await store.acquire("s1", "ann", now=NOW, ttl=10)
    renewed = await store.renew(old, until=NOW + 100)
    expect((renewed.until, renewed.fence), (NOW + 100, old.fence), "the renewed lease")
    await expect_error(LeaseHeld, store.acquire("s1", "bob", now=NOW + 50), "a renewed lease")
    new = await store.acquire("s1", "bob", now=NOW, force=True)
    await expect_error(Fenced, store.renew(old, until=NOW + 1000), "the renewal by a replaced holder")
    await store.release(old)
    await store.append(new, batch_of(1))


async def of_many_who_want_a_lease_one_gets_it(handles: Handles) -> None:
    stores = [await handles.open() for _ in range(HANDLES)]
    await stores[0].create_session(session("s1"))
    calls = [outcome(store.acquire("s1", f"owner {number}", now=NOW)) for number, store in enumerate(stores * 3)]
    outcomes = await asyncio.gather(*calls)
    expect(sum(isinstance(found, Lease) for found in outcomes), 1, "how many got the lease")
    expect(sum(isinstance(found, LeaseHeld) for found in outcomes), len(calls) - 1, "how many were refused")


async def opened(store: Store, *asks: AskRow) -> Lease:
    """A session with asks."""
    lease = await new_session(store)
    await store.append(lease, Batch(asks=asks or (ask(),)))
    return lease


async def the_ask(store: Store) -> AskRow:
    (found,) = await store.asks("s1")
    return found


async def of_many_decisions_one_is_stored(handles: Handles) -> None:
    stores = [await handles.open() for _ in range(HANDLES)]
    await opened(stores[0])
    names = [f"person {number}" for number in range(DECIDERS)]
    calls = [outcome(stores[number % HANDLES].decide(decision(by=name))) for number, name in enumerate(names)]
    outcomes = await asyncio.gather(*calls)
    winners = [name for name, found in zip(names, outcomes, strict=True) if found is None]
    expect(len(winners), 1, "how many decisions were stored")
    refusals = [found for found in outcomes if found is not None]
    expect({type(found) for found in refusals}, {AlreadyDecided}, "what the others were told")
    expect({found.at for found in refusals}, {NOW}, "when it was decided, as the others were told")
    stored = await the_ask(stores[1])
    facts = (stored.state, stored.decided_by, stored.answer, stored.surface, stored.decided_at)
    expect(facts, ("decided", winners[0], b'{"by":"%s"}' % winners[0].encode(), "test", NOW), "the decision")
    expect(all(winners[0] in found.actor for found in refusals), True, "whether the others were told who decided")


async def a_decision_must_fit_what_is_asked_now(handles: Handles) -> None:
    store = await handles.open()
    lease = await opened(store)
    await expect_error(StaleDigest, store.decide(decision(digest="d0")), "a decision with another digest")
    await store.append(lease, Batch(asks=[ask(digest="d2", body=b'{"more":1}')]))
    await expect_error(StaleDigest, store.decide(decision(digest="d1")), "a decision on what was asked before")
    await expect_error(AskClosed, store.decide(decision("ask9")), "a decision on no ask")
    await expect_error(AskClosed, store.decide(decision(session_id="s9")), "a decision in no session")
    await store.decide(decision(digest="d2"))
    expect((await the_ask(store)).body, b'{"more":1}', "the ask")


async def a_closed_ask_takes_no_decision(handles: Handles) -> None:
    store = await handles.open()
    closed: tuple[AskRowState, ...] = ("cancelled", "expired", "lost")
    await opened(store, *(ask(state, state=state, closed_at=NOW + 1) for state in closed))
    for state in closed:
        error = await expect_error(AskClosed, store.decide(decision(state)), f"a decision on an ask that is {state}")
        expect(error.state, state, "the state that the error names")


async def a_decision_stays_whatever_is_appended(handles: Handles) -> None:
    store, other = await handles.open(), await handles.open()
    lease = await opened(store)
    await other.decide(decision(by="ann"))
    await store.append(lease, Batch(asks=[ask(digest="d2")]))
    found = await the_ask(store)
    expect((found.state, found.digest, found.decided_by), ("decided", "d1", "ann"), "the ask opened again")
    late = ask(state="sent", answer=b'"another"', decided_by="bob", surface="late", decided_at=NOW + 9, closed_at=NOW)
    await store.append(lease, Batch(asks=[late]))
    found = await the_ask(store)
    facts = (found.state, found.answer, found.decided_by, found.surface, found.decided_at, found.closed_at)
    expect(facts, ("sent", b'{"by":"ann"}', "ann", "test", NOW, NOW), "the ask closed with another answer")
    await expect_error(AlreadyDecided, other.decide(decision(by="eve")), "a decision on what was sent")


async def an_answer_that_resumes_takes_the_place_of_one_that_may_have_got_nowhere(handles: Handles) -> None:
    store = await handles.open()
    lease = await opened(store)
    await store.decide(decision(by="ann"))
    await store.append(lease, Batch(asks=[ask(state="unsent", closed_at=NOW)]))
    expect((await the_ask(store)).decided_by, "ann", "who decided what may have got nowhere")
    for name in ("bob", "eve"):
        resumed = ask(state="resumed", answer=b"1", decided_by=name, surface="web", decided_at=NOW + 9)
        await store.append(lease, Batch(asks=[resumed]))
        found = await the_ask(store)
        facts = (found.state, found.answer, found.decided_by, found.surface, found.decided_at)
        expect(facts, ("resumed", b"1", "bob", "web", NOW + 9), "the answer that resumed the session")


async def an_answer_to_one_ask_decides_one_other(handles: Handles) -> None:
    store, other = await handles.open(), await handles.open()
    lease = await opened(store, *(ask(name) for name in ("same", "once more", "and again")))
    await store.decide(decision("same", granted_by="lost"))
    refused = other.decide(decision("once more", granted_by="lost"))
    await expect_error(AskClosed, refused, "a decision with an answer that was used")
    await other.decide(decision("once more", granted_by="another"))
    await other.decide(decision("and again"))
    await store.append(lease, Batch(asks=[ask("same", state="unsent", granted_by="lost", answer=b"1", closed_at=NOW)]))
    found = {row.id: row.granted_by for row in await store.asks("s1")}
    expect(found, {"same": "lost", "once more": "another", "and again": ""}, "whose answers they have")


async def asks_are_listed_and_found(handles: Handles) -> None:
    store = await handles.open()
    rows = [ask("later", opened_at=NOW + 1), ask("early"), ask("done", state="sent", answer=b"1", decided_by="ann")]
    await opened(store, *rows)
    other = await new_session(store, "s2")
    await store.append(other, Batch(asks=[ask("early2", "s2", opened_at=NOW + 2)]))
    pending = await store.asks(states=("pending",))
    expect([row.id for row in pending], ["early", "later", "early2"], "pending asks, oldest first")
    expect(pending[1], rows[0], "an ask")
    expect([row.id for row in await store.asks("s2")], ["early2"], "the asks of a session")
    expect(len(await store.asks()), 4, "all asks")
    expect([row.id for row in await store.asks(limit=2)], ["later", "early2"], "the last asks")
    expect([row.id for row in await store.asks("s1", states=("sent", "lost"))], ["done"], "closed asks")
    expect([row.id for row in await store.find_asks("early")], ["early", "early2"], "asks by how their ids begin")
    expect(await store.find_asks("%"), [], "asks by an id that nobody has")


async def what_waits_for_a_person_is_told_from_what_has_passed(handles: Handles) -> None:
    store = await handles.open()

    async def left(session_id: str, *asks: AskRow, runs: Sequence[RunRow] = (), **fields: Any) -> Lease:
        lease = await new_session(store, session_id, **fields)
        await store.append(lease, Batch(asks=asks, runs=runs))
        return lease

    over, again = RunRow(number=1, started_seq=1, started_at=NOW), RunRow(number=2, started_seq=2, started_at=NOW + 3)
    lost: dict[str, Any] = {"state": "lost", "closed_at": NOW + 2}
    leases = [
        await left("quiet", ask("a", "quiet", **lost), ask("b", "quiet", state="sent", closed_at=NOW), runs=[over]),
        await left("went-on", ask("c", "went-on", **lost), runs=[over, again]),
        await left("archived", ask("d", "archived", **lost), archived=True),
        await left("unsent", ask("e", "unsent", state="unsent", closed_at=NOW + 2, opened_at=NOW - 1)),
    ]
    await left("lives", ask("f", "lives", **lost), ask("g", "lives", opened_at=NOW + 4))
    for lease in leases:
        await store.release(lease)
    found = await store.waiting_asks()
    expect([waiting.ask.id for waiting in found], ["e", "a", "g"], "what waits, oldest first")
    expect(found[1].session, await store.get_session("quiet"), "the session of what waits")
    expect([waiting.ask.id for waiting in await store.waiting_asks("quiet")], ["a"], "what waits in one session")
    expect(await store.get_ask("quiet", "a"), found[1].ask, "an ask by its session and its id")
    expect(await store.get_ask("quiet", "e"), None, "an ask of another session")


CHECKS: tuple[Check, ...] = (
    a_lease_has_one_holder_and_rising_fences,
    a_lease_can_be_renewed_and_given_up_by_its_holder_only,
    of_many_who_want_a_lease_one_gets_it,
    of_many_decisions_one_is_stored,
    a_decision_must_fit_what_is_asked_now,
    a_closed_ask_takes_no_decision,
    a_decision_stays_whatever_is_appended,
    an_answer_that_resumes_takes_the_place_of_one_that_may_have_got_nowhere,
    an_answer_to_one_ask_decides_one_other,
    asks_are_listed_and_found,
    what_waits_for_a_person_is_told_from_what_has_passed,
)

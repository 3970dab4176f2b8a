"""Checks of sessions, of searching, and of upkeep."""

from __future__ import annotations

from handrail.errors import LeaseHeld, SessionNotFound, StoreError, StoreUnavailable
from handrail.store.base import Batch, MessageRow, Retention, SessionFilter, Store
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
    session,
)

__all__ = ["CHECKS"]

DAY = 86_400.0
EVERY = SessionFilter(archived=None)


async def ids(store: Store, which: SessionFilter = EVERY) -> list[str]:
    return [row.id for row in await store.list_sessions(which)]


async def a_session_is_stored_and_changed(handles: Handles) -> None:
    store, other = await handles.open(), await handles.open()
    row = session(
        "s1", title="Title", cli_session_id="cli1", status="queued", forked_from="s0", model="opus", cost_usd=0.5,
        settings=b'{"a":1}', last_seq=9, fence=9, owner="nobody", lease_until=1.0,
    )  # fmt: skip
    await store.create_session(row)
    found = await other.get_session("s1")
    kept = session(
        "s1", title="Title", cli_session_id="cli1", status="queued", forked_from="s0", model="opus", cost_usd=0.5,
        settings=b'{"a":1}',
    )  # fmt: skip
    expect(found, kept, "a new session")
    await expect_error(StoreError, other.create_session(row), "a session of the same id")
    await other.change_session("s1", title="Other", archived=True)
    lease = await store.acquire("s1", "owner", now=NOW)
    changes = {"status": "running", "model": "haiku", "cost_usd": 1.5, "settings": b"{}", "updated_at": NOW + 5}
    await store.append(lease, Batch(session=changes))
    found = await other.get_session("s1")
    facts = found and (found.title, found.archived, found.status, found.model, found.cost_usd, found.updated_at)
    expect(facts, ("Other", True, "running", "haiku", 1.5, NOW + 5), "a changed session")
    await expect_error(StoreError, store.change_session("s1", fence=99), "a change that needs a lease")
    await expect_error(StoreError, store.append(lease, Batch(session={"fence": 99})), "a change of the store's own")
    await expect_error(SessionNotFound, store.change_session("s9", title="x"), "a change of no session")
    expect(await store.get_session("s9"), None, "a session that is not there")


async def sessions_are_listed_latest_first(handles: Handles) -> None:
    store = await handles.open()
    for number in range(5):
        await store.create_session(session(f"s{number}", updated_at=NOW + number // 2, cwd=f"/{number % 2}"))
    await store.change_session("s4", archived=True)
    expect(await ids(store), ["s4", "s3", "s2", "s1", "s0"], "all sessions")
    expect(await ids(store, SessionFilter()), ["s3", "s2", "s1", "s0"], "sessions that are not archived")
    expect(await ids(store, SessionFilter(archived=True)), ["s4"], "archived sessions")
    expect(await ids(store, SessionFilter(cwd="/1")), ["s3", "s1"], "sessions of a directory")
    expect(await ids(store, SessionFilter(status=("running",))), [], "running sessions")
    expect(len(await ids(store, SessionFilter(archived=None, status=("idle", "x")))), 5, "idle sessions")
    first = await store.list_sessions(EVERY, limit=2)
    second = await store.list_sessions(EVERY, limit=2, before=(first[-1].updated_at, first[-1].id))
    expect([row.id for row in (*first, *second)], ["s4", "s3", "s2", "s1"], "two pages")


async def sessions_are_looked_for_and_counted(handles: Handles) -> None:
    store = await handles.open()
    for name, title, cwd, status in (
        ("abc1", "Repair the Gel\u00c4nder", "/home/ann/rail", "idle"),
        ("abc2", "100% _done_", "/home/Ann/Other", "running"),
        ("xyz3", "", "/srv", "idle"),
    ):
        await store.create_session(session(name, title=title, cwd=cwd, status=status))
    await store.change_session("xyz3", archived=True)
    for text, wanted in {
        "repair": {"abc1"}, "GEL\u00e4NDER": {"abc1"}, "ANN/": {"abc1", "abc2"}, "%": {"abc2"}, "_d": {"abc2"},
        "ABC": {"abc1", "abc2"}, "bc1": set(), " rail ": {"abc1"}, "": {"abc1", "abc2", "xyz3"}, "\ud800": set(),
    }.items():  # fmt: skip
        found = set(await ids(store, SessionFilter(archived=None, text=text)))
        expect(found, wanted, f"the sessions that {text!r} finds")
    expect(await store.count_sessions(), {"idle": 1, "running": 1}, "sessions by status")
    expect(await store.count_sessions(EVERY), {"idle": 2, "running": 1}, "all sessions by status")
    expect(await store.count_sessions(SessionFilter(text="other")), {"running": 1}, "those found, by status")


async def sessions_are_found_by_any_id_they_ever_had(handles: Handles) -> None:
    store = await handles.open()
    lease = await new_session(store, "abc1", cli_session_id="old-id")
    await new_session(store, "abc2", updated_at=NOW + 1)
    await store.append(lease, Batch(session={"cli_session_id": "new-id"}))
    for reference, wanted in {
        "abc1": ["abc1"], "abc": ["abc2", "abc1"], "old-id": ["abc1"], "new": ["abc1"], "x": [], "": [], "ab%": [],
    }.items():  # fmt: skip
        found = [row.id for row in await store.find_sessions(reference)]
        expect(found, wanted, f"the sessions that {reference!r} finds")
    expect(len(await store.find_sessions("abc", limit=1)), 1, "as many as were asked for")
    expect(await ids(store, SessionFilter(cli_session_id="new-id")), ["abc1"], "the session with a CLI session")
    expect(await ids(store, SessionFilter(cli_session_id="old-id")), [], "sessions that have an old id now")


async def a_deleted_session_leaves_nothing(handles: Handles) -> None:
    store = await handles.open()
    for name in ("s1", "s2"):
        lease = await new_session(store, name, title=f"unique {name}", cli_session_id=f"cli {name}")
        row = event(1, text=f"remarkable {name}", body=b'{"a":"' + b"x" * 100_000 + b'"}')
        message = MessageRow(uuid="m1", content=b'"hi"', at=NOW)
        await store.append(
            lease, Batch(events=[row], asks=[ask(session_id=name)], frames=[frame(1)], messages=[message])
        )
        await expect_error(LeaseHeld, store.delete_session(name), "to delete a session that has a holder")
        await store.release(lease)
    await store.delete_session("s1")
    await store.delete_session("s1")
    expect(await ids(store), ["s2"], "the sessions")
    expect(await store.read("s1"), [], "its events")
    expect([*await store.asks("s1"), *await store.messages("s1"), *await store.frames("s1")], [], "its rows")
    expect(await store.find_sessions("cli s1"), [], "its CLI session")
    found = [*await store.search("remarkable"), *await store.search("unique")]
    expect([hit.session_id for hit in found], ["s2", "s2"], "what a search finds")
    expect(len((await store.read("s2"))[0].body), 100_008, "the other's large body, which was the same")
    expect(await store.check(), [], "what is wrong")
    again = await new_session(store, "s1")
    await store.append(again, batch_of(1))


async def a_search_finds_words_and_beginnings(handles: Handles) -> None:
    store = await handles.open()
    lease = await new_session(store, title="Repair the Railing")
    texts = ["the quick brown fox", "a quick-witted dog; 100% done", "Grüße aus Köln", 'say "hello" (twice) AND NOT']
    await store.append(lease, Batch(events=[event(seq, text=text) for seq, text in enumerate(texts, 1)]))
    for text, wanted in {
        "quick": {1, 2}, "QUICK fox": {1}, "bro": {1}, "quick cat": set(), "Köln": {3}, "done": {2},
        '"hello" (': {4}, "AND NOT": {4}, "*": set(), "": set(), "rail": {0}, "repair railing": {0},
    }.items():  # fmt: skip
        found = {hit.seq for hit in await store.search(text)}
        expect(found, wanted, f"the events that {text!r} finds")
    expect(len(await store.search("quick", limit=1)), 1, "as many as were asked for")
    (hit,) = await store.search("fox")
    expect((hit.session_id, hit.type, "brown fox" in hit.snippet), ("s1", "note", True), "a hit")
    await store.append(lease, Batch(events=[event(5, text="a late fox")]))
    expect({hit.seq for hit in await store.search("fox")}, {1, 5}, "what a search finds that was stored after one")


async def pruning_removes_only_what_is_old(handles: Handles) -> None:
    store = await handles.open()
    for name, age, archived in (("old", 100, True), ("kept", 100, False), ("young", 1, True)):
        at = NOW - age * DAY
        lease = await new_session(store, name, updated_at=at, archived=archived)
        await store.append(lease, batch_of(1, frames=[frame(1, at=at), frame(2, at=at)]))
        await store.release(lease)
    expect((await store.prune(Retention(frames_days=None), now=NOW)).frames, 0, "frames removed without a limit")
    pruned = await store.prune(Retention(frames_days=30), now=NOW)
    expect((pruned.frames, pruned.sessions), (4, 0), "frames and sessions removed")
    pruned = await store.prune(Retention(frames_days=30, sessions_days=30), now=NOW)
    expect((pruned.frames, pruned.sessions), (0, 1), "frames and sessions removed after that")
    expect(sorted(await ids(store)), ["kept", "young"], "the sessions that are left")
    expect([len(await store.frames(name)) for name in ("kept", "young")], [0, 2], "the frames that are left")
    expect(len(await store.read("kept")), 1, "the events of a session whose frames went")
    expect(await store.check(), [], "what is wrong")


async def a_store_works_between_open_and_close(handles: Handles) -> None:
    store = await handles.open()
    lease = await new_session(store)
    await store.append(lease, batch_of(1))
    await store.close()
    await store.close()
    await expect_error(StoreUnavailable, store.append(lease, batch_of(2)), "an append to a closed store")
    await expect_error(StoreUnavailable, store.read("s1"), "reading from a closed store")
    await store.open()
    await store.append(lease, batch_of(2))
    expect([row.seq for row in await store.read("s1")], [1, 2], "the events")
    expect(isinstance(await store.statistics(), dict), True, "whether there are statistics")


CHECKS: tuple[Check, ...] = (
    a_session_is_stored_and_changed,
    sessions_are_listed_latest_first,
    sessions_are_looked_for_and_counted,
    sessions_are_found_by_any_id_they_ever_had,
    a_deleted_session_leaves_nothing,
    a_search_finds_words_and_beginnings,
    pruning_removes_only_what_is_old,
    a_store_works_between_open_and_close,
)

"""Checks of how copies end: another past, a session that is gone, deleted or pruned copies."""

from __future__ import annotations

import msgspec

from handrail.errors import CopyDiverged, SessionNotFound, StoreError
from handrail.store.base import Batch, CopyHead, Retention
from handrail.testing._store_checks.copies import (
    HOST,
    busy_session,
    contents,
    copy_all,
    expect_copied,
    page_for,
    two_stores,
)
from handrail.testing._store_checks.support import (
    NOW,
    Check,
    Handles,
    ask,
    batch_of,
    event,
    expect,
    expect_error,
    session,
)

__all__ = ["CHECKS"]

DAY = 86_400.0


async def a_copy_with_another_past_is_told_and_set_aside(handles: Handles) -> None:
    source, hub = await two_stores(handles)
    lease = await busy_session(source)
    before = await page_for(source, hub)
    await source.append(lease, batch_of(5, asks=[ask("ask5")]))
    await copy_all(source, hub)
    lost = msgspec.structs.replace(before, after=4, events=[event(5, body=b'{"other":5}'), event(6)])
    await expect_error(CopyDiverged, hub.take_copy(HOST, lost), "a page with other events than the copy's")
    behind = msgspec.structs.replace(before, after=5, events=[event(6)], tail="another")
    await expect_error(CopyDiverged, hub.take_copy(HOST, behind), "a page behind another event than the copy's")
    (head,) = await hub.copied(HOST)
    expect(head.has_other_past(CopyHead(session_id="s1", fence=1, last_seq=4)), True, "whether it is seen at once")
    was = await contents(hub)
    await hub.set_copy_aside("s1", as_id="aside", title="Far away (before)")
    expect((await hub.get_session("s1"), await hub.copied(HOST)), (None, []), "what is left under its id")
    row = await hub.get_session("aside")
    facts = row and (row.title, row.archived, row.owner, row.host, row.last_seq)
    expect(facts, ("Far away (before)", True, None, HOST, 5), "what was set aside")
    expect([await hub.read("aside"), len(await hub.messages("aside"))], [was[1], len(was[3])], "what it still has")
    expect({found.state for found in await hub.asks("aside")}, {"decided", "lost"}, "its asks")
    expect([hit.session_id for hit in await hub.search("remarkable")], ["aside"], "what a search finds")
    await hub.take_copy(HOST, before)
    expect(len(await hub.read("s1")), 4, "the events that are copied anew")
    await expect_error(StoreError, hub.set_copy_aside("s1", as_id="aside", title=""), "an id that is taken")
    await expect_error(StoreError, hub.set_copy_aside("aside", as_id="x", title=""), "what was set aside already")
    await expect_error(SessionNotFound, hub.set_copy_aside("s9", as_id="x", title=""), "a copy that is not there")
    expect(await hub.check(), [], "what is wrong")


async def a_copy_whose_session_is_gone_waits_for_nobody(handles: Handles) -> None:
    source, hub = await two_stores(handles)
    await busy_session(source)
    await copy_all(source, hub)
    await hub.end_copy("s1", status="stopped", at=NOW + 9)
    row = await hub.get_session("s1")
    expect(row and (row.owner, row.status, row.host), (None, "stopped", HOST), "a copy whose session is gone")
    lost = await hub.get_ask("s1", "ask2")
    expect(lost and (lost.state, lost.closed_at), ("lost", NOW + 9), "what it asked")
    expect(await hub.waiting_asks(), [], "what waits for an answer, which could resume nothing")
    expect((await hub.get_ask("s1", "ask1")) == (await source.get_ask("s1", "ask1")), True, "whether a decision stays")
    await copy_all(source, hub)
    await expect_copied(source, hub)  # it was there after all
    await hub.create_session(session("own"))
    await expect_error(StoreError, hub.end_copy("own", status="stopped", at=NOW), "the end of what is no copy")
    await expect_error(SessionNotFound, hub.end_copy("s9", status="stopped", at=NOW), "the end of no session")


async def a_copy_is_deleted_also_while_its_session_is_live(handles: Handles) -> None:
    source, hub = await two_stores(handles)
    await busy_session(source)
    await copy_all(source, hub)
    await hub.delete_session("s1")
    expect((await hub.get_session("s1"), await hub.copied(HOST)), (None, []), "what is left of a copy")
    await copy_all(source, hub)
    await expect_copied(source, hub)
    expect(await hub.check(), [], "what is wrong")


async def a_copy_that_was_pruned_comes_back_when_its_session_changes(handles: Handles) -> None:
    source, hub = await two_stores(handles)
    lease = await busy_session(source)
    await source.append(lease, Batch(session={"updated_at": NOW - 100 * DAY}))
    await source.release(lease)
    await source.change_session("s1", archived=True)
    whole = await page_for(source, hub)
    await copy_all(source, hub)
    heads = await hub.copied(HOST)
    pruned = await hub.prune(Retention(sessions_days=30), now=NOW)
    expect((pruned.sessions, await hub.get_session("s1")), (1, None), "what pruning removed")
    expect((await hub.copied(HOST), await source.heads()), (heads, heads), "where the copy stood")
    await source.change_session("s1", archived=False)
    await expect_error(StoreError, copy_all(source, hub), "a page behind what is gone")
    await hub.take_copy(HOST, whole)
    await copy_all(source, hub)
    await expect_copied(source, hub)
    expect(await hub.copied(HOST), await source.heads(), "where the new copy stands")


CHECKS: tuple[Check, ...] = (
    a_copy_with_another_past_is_told_and_set_aside,
    a_copy_whose_session_is_gone_waits_for_nobody,
    a_copy_is_deleted_also_while_its_session_is_live,
    a_copy_that_was_pruned_comes_back_when_its_session_changes,
)

"""Journals of hosts are copied: stored, shown to readers, acknowledged, and never twice."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import Any

import httpx2
import msgspec
import pytest

from handrail.error_records import record_of
from handrail.errors import SessionNotFound
from handrail.events.model import Delta, Event, Text
from handrail.link import wire
from handrail.policy.storage.loading import Asked
from handrail.remote.hub import Hub
from handrail.sessions.launching import decode_settings
from handrail.store.base import CopyHead, MessageRow

from ..support import ServedHub
from .fake_host import FakeHost, Link, until


async def test_a_session_of_a_host_is_read_as_any_other(served: ServedHub, host: FakeHost) -> None:
    async with host.connected() as link:
        session_id = await host.session("shop")
        await host.says(session_id, "Hello.", "Done.")
        assert (await link.offer())[session_id].last_seq == 0
        ack = await link.copy(session_id)
        assert ack.last_seq == 4
        async with served.client("viewer") as client:
            found = (await client.get(f"/api/sessions/{session_id}")).json()
            assert found["live"] is True
            assert found["title"] == "shop"
            assert (found["host"], found["host_name"], found["host_state"]) == (host.id, "build-box", "connected")
            events = (await client.get(f"/api/sessions/{session_id}/events")).json()["items"]
            assert [event["seq"] for event in events] == [1, 2, 3, 4]
            (hit,) = (await client.get("/api/search", params={"q": "Done"})).json()["items"]
            assert hit["session_id"] == session_id


async def test_a_reader_gets_events_and_deltas_in_order(served: ServedHub, host: FakeHost) -> None:
    async with host.connected() as link:
        session_id = await host.session()
        await host.says(session_id, "One.")
        await link.offer()
        await link.copy(session_id)
        seen: list[object] = []
        async with aclosing(served.manager.session(session_id).subscribe()) as items:
            async for item in items:
                seen.append(item)
                if isinstance(item, Event) and item.seq == 3:
                    await link.hear(wire.Watch, lambda watch: watch.session == session_id and watch.on)
                    await link.deltas(session_id, Delta(block="b", kind="text", offset=0, text="Tw", after=3))
                if isinstance(item, Delta):
                    await host.write(session_id, Text(text="Two.", block="b"))
                    have = (await link.offer())[session_id]
                    await link.copy(session_id, have)
                if isinstance(item, Text) and item.text == "Two.":
                    break
        assert [getattr(item, "seq", "delta") for item in seen] == [1, 2, 3, "delta", 4]
        await link.hear(wire.Watch, lambda watch: watch.session == session_id and not watch.on)


async def test_pages_that_come_twice_are_stored_once(served: ServedHub, host: FakeHost) -> None:
    async with host.connected() as link:
        session_id = await host.session()
        await host.says(session_id, "One.")
        await link.offer()
        await link.copy(session_id)
        assert (await link.copy(session_id)).last_seq == 3
    async with host.connected() as link:
        have = (await link.offer())[session_id]
        assert have.last_seq == 3
        await host.says(session_id, "Two.")
        assert (await link.copy(session_id, have)).last_seq == 6
    assert [event.seq for event in await served.manager.session(session_id).events()] == [1, 2, 3, 4, 5, 6]


async def test_a_session_that_is_stopped_there_is_not_live_here(served: ServedHub, host: FakeHost) -> None:
    async with host.connected() as link:
        session_id = await host.session()
        await host.says(session_id, "One.")
        await link.offer()
        await link.copy(session_id)
        assert await served.manager.session(session_id).is_live()
        await host.give_up(session_id)
        await link.copy(session_id)
        assert not await served.manager.session(session_id).is_live()


async def test_a_host_that_lost_its_tail_does_not_take_it_from_the_copy(served: ServedHub, host: FakeHost) -> None:
    async with host.connected() as link:
        session_id = await host.session("shop")
        await host.says(session_id, "One.", "Two.")
        head = (await host.store.heads())[0]
        await link.offer()
        await link.copy(session_id)
    async with host.connected() as link:
        lost = wire.Offer(heads=[CopyHead(session_id=session_id, fence=head.fence, last_seq=2)], done=True)
        await link.say(lost)
        have = await link.hear(wire.Have)
        assert have.heads[0].last_seq == 0
        assert (await link.copy(session_id)).last_seq == 4
    async with served.client() as client:
        items = (await client.get("/api/sessions", params={"archived": True})).json()["items"]
        assert [each["title"] for each in items] == ["shop (before build-box lost its journal)"]
        (entry,) = (await client.get("/api/audit", params={"session": session_id})).json()["items"]
        assert entry["action"] == "hosts.lost"


@pytest.mark.slow
async def test_a_session_that_the_host_does_not_have_any_more_claims_nothing(served: ServedHub, host: FakeHost) -> None:
    async with host.connected() as link:
        session_id = await host.session()
        await host.asks(session_id)
        await link.offer()
        await link.copy(session_id)
    async with served.client() as client:
        assert (await client.get("/api/asks")).json()["items"][0]["host_state"] == "away"
        async with host.connected() as link:
            await link.say(wire.Offer(done=True))

            async def stopped() -> bool:
                found = (await client.get(f"/api/sessions/{session_id}")).json()
                return found["status"] == "stopped" and not found["live"]

            await until(stopped)


async def test_a_session_that_is_deleted_there_is_gone_here(served: ServedHub, host: FakeHost) -> None:
    async with host.connected() as link:
        session_id = await host.session()
        await link.offer()
        await link.copy(session_id)
        await link.say(wire.Gone(session=session_id))
        async with served.client() as client:

            async def gone() -> bool:
                return (await client.get(f"/api/sessions/{session_id}")).status_code == 404

            await until(gone)


async def test_an_archived_copy_outlives_its_session_until_somebody_deletes_it(
    served: ServedHub, host: FakeHost
) -> None:
    async with host.connected() as link, served.client() as client:
        session_id = await host.session()
        await host.says(session_id, "Kept.")
        await host.give_up(session_id)
        await host.store.change_session(session_id, archived=True)
        await link.offer()
        await link.copy(session_id)
        await link.say(wire.Gone(session=session_id))
        await until(lambda: _is(client, session_id, status="stopped", archived=True))
        events = (await client.get(f"/api/sessions/{session_id}/events")).json()["items"]
        assert "Kept." in str(events)
        wanted = client.patch(f"/api/sessions/{session_id}", json={"archived": False})
        changed, _ = await asyncio.gather(wanted, knows_nothing(link, "change"))
        assert changed.status_code == 200, changed.text
        deleted, _ = await asyncio.gather(client.delete(f"/api/sessions/{session_id}"), knows_nothing(link, "delete"))
        assert deleted.status_code == 204, deleted.text
        assert (await client.get(f"/api/sessions/{session_id}")).status_code == 404


async def knows_nothing(link: Link, method: str) -> None:
    """Answer a command as a host does that has not the session."""
    command = await link.hear(wire.Command, lambda command: command.method == method)
    await link.reply(command, error=record_of(SessionNotFound("there is no such session")))


async def _is(client: httpx2.AsyncClient, session_id: str, **wanted: Any) -> bool:
    found = (await client.get(f"/api/sessions/{session_id}")).json()
    return all(found[name] == value for name, value in wanted.items())


async def test_a_host_that_was_restored_and_went_on_is_found_out(served: ServedHub, host: FakeHost) -> None:
    async with host.connected() as link:
        session_id = await host.session("shop")
        await host.says(session_id, "One.")
        await link.offer()
        await link.copy(session_id)
        other = await host.store.copy_page(session_id, after=3)
        assert other is not None
        await link.send_page(msgspec.structs.replace(other, tail="another past"))
        refused = await link.hear(wire.CopyRefused)
        assert (refused.session, refused.last_seq) == (session_id, 0)
    async with served.client() as client:
        (kept,) = (await client.get("/api/sessions", params={"archived": True})).json()["items"]
        assert kept["title"] == "shop (before build-box lost its journal)"
        (entry,) = (await client.get("/api/audit", params={"session": session_id})).json()["items"]
        assert (entry["action"], kept["id"] in entry["detail"]) == ("hosts.lost", True)


async def test_states_that_only_a_newer_handrail_knows_are_kept_and_keep_nobody_waiting(
    served: ServedHub, host: FakeHost
) -> None:
    async with host.connected() as link:
        session_id = await host.session("shop")
        ask = await host.asks(session_id)
        page = await host.store.copy_page(session_id, after=0)
        assert page is not None
        newer = msgspec.structs.replace(
            page,
            session=msgspec.structs.replace(page.session, status="hibernating"),
            asks=[msgspec.structs.replace(ask, state="delegated")],
            messages=[MessageRow(uuid="m1", content=b'"hi"', at=1.0, state="translated")],
            message_places=[1],
        )
        await link.acknowledged(session_id, await link.send_page(newer))
        (kept,) = await served.manager.store.asks(session_id)
        (message,) = await served.manager.store.messages(session_id)
        assert (kept.state, message.state) == ("delegated", "translated")
        async with served.client("viewer") as client:
            assert (await client.get(f"/api/sessions/{session_id}")).json()["status"] == "hibernating"
            assert (await client.get("/api/asks")).json()["items"] == []
        async with Hub(served.url, served.tokens["viewer"]) as hub:
            assert [row.state for row in await hub.asks(states=())] == ["delegated"]


async def test_settings_that_only_a_newer_handrail_knows_are_left_out_of_the_copy(
    served: ServedHub, host: FakeHost
) -> None:
    newer = {
        "options": {"cwd": "/srv/shop", "model": "opus", "effort": "boundless", "telepathy": True},
        "policy": {"profile": "careful", "otherwise": "vote"},
        "budget": 5.0,
    }
    async with host.connected() as link:
        session_id = await host.session("shop")
        page = await host.store.copy_page(session_id, after=0)
        assert page is not None
        told = msgspec.structs.replace(page.session, settings=msgspec.json.encode(newer))
        for _ in range(2):
            number = await link.send_page(msgspec.structs.replace(page, session=told))
            await link.acknowledged(session_id, number)
        kept = decode_settings((await served.manager.session(session_id).row()).settings)
        assert (kept.options.model, kept.options.effort, kept.budget) == ("opus", None, 5.0)
        assert kept.policy == Asked(profile="careful")

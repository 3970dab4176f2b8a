"""Floods, full disks, forged rows and restarts: each is survived, and concerns nobody else."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from uuid import uuid4

import msgspec
import pytest
from starlette.websockets import WebSocket
from websockets.exceptions import InvalidStatus

from handrail.errors import StoreFull
from handrail.events.model import Text
from handrail.link import wire
from handrail.server.hosts import copies
from handrail.server.hosts import link as link_module
from handrail.server.hosts.offers import Offers
from handrail.store.base import CopyHead, CopyPage, SessionRow

from ..support import ServedHub, served_hub
from .fake_host import FakeHost, fake_host, until


async def page_of(host: FakeHost, session_id: str, after: int = 0) -> CopyPage:
    page = await host.store.copy_page(session_id, after=after, limit_bytes=2_000_000)
    assert page is not None
    return page


async def test_a_full_disk_is_said_and_the_host_goes_on_later(
    served: ServedHub, host: FakeHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with host.connected() as link:
        session_id = await host.session()
        await host.says(session_id, "One.")
        other = await host.session()
        await link.offer()
        await link.copy(session_id)
        await host.says(session_id, "Two.")
        store, take_copy = served.hub.store, served.hub.store.take_copy

        async def full(host_id: str, page: CopyPage) -> int:
            if page.session.id == session_id:
                raise StoreFull("the disk is full: make room")
            return await take_copy(host_id, page)

        monkeypatch.setattr(store, "take_copy", full)
        page = await page_of(host, session_id, 3)
        await link.send_page(page)
        await link.send_page(page)
        refused = await link.hear(wire.CopyRefused)
        assert (refused.session, refused.last_seq, refused.reason) == (session_id, 3, "the disk is full: make room")
        await link.copy(other)  # what came meanwhile of the one was thrown away, and the other goes on
        monkeypatch.setattr(store, "take_copy", take_copy)
        await link.send_page(page, number=1)
        assert (await link.acknowledged(session_id, 1)).last_seq == 6
    assert [event.seq for event in await served.manager.session(session_id).events()] == list(range(1, 7))


@pytest.mark.slow
async def test_a_session_that_is_deleted_while_its_pages_are_refused_is_gone(
    served: ServedHub, host: FakeHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with host.connected() as link:
        session_id = await host.session()
        await host.says(session_id, "One.")
        await link.offer()
        await link.copy(session_id)

        async def full(host_id: str, page: CopyPage) -> int:
            raise StoreFull("the disk is full: make room")

        monkeypatch.setattr(served.hub.store, "take_copy", full)
        page = await page_of(host, session_id, 3)
        await link.say(wire.Page(number=2, page=page), wire.Gone(session=session_id))
        await link.hear(wire.CopyRefused)

        async def is_gone() -> bool:
            return await served.hub.store.get_session(session_id) is None

        await until(is_gone)


@pytest.mark.slow
async def test_a_link_begins_when_what_came_over_the_last_one_is_stored(
    served: ServedHub, host: FakeHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    take_copy, storing, go_on = served.hub.store.take_copy, asyncio.Event(), asyncio.Event()

    async def slow(host_id: str, page: CopyPage) -> int:
        storing.set()
        await go_on.wait()
        return await take_copy(host_id, page)

    monkeypatch.setattr(served.hub.store, "take_copy", slow)
    session_id = await host.session()
    await host.says(session_id, "One.")
    async with host.connected() as link:
        await link.offer()
        await link.send_page(await page_of(host, session_id))
        await storing.wait()
    asyncio.get_running_loop().call_later(0.3, go_on.set)
    async with host.connected() as link:
        assert (await link.offer())[session_id].last_seq == 3  # otherwise it would come, and be shown, once more


@pytest.mark.slow
async def test_a_flood_of_one_session_stalls_no_other(
    served: ServedHub, host: FakeHost, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, take_copy = served.hub.store, served.hub.store.take_copy
    may_go_on = asyncio.Event()
    async with host.connected() as link, fake_host(served, tmp_path, "other") as calm, calm.connected() as calm_link:
        flood, quiet, elsewhere = await host.session(), await host.session(), await calm.session()

        async def slow(host_id: str, page: CopyPage) -> int:
            if page.session.id == flood:
                await may_go_on.wait()
            return await take_copy(host_id, page)

        monkeypatch.setattr(store, "take_copy", slow)
        await link.offer()
        await calm_link.offer()
        for _ in range(3):
            await host.says(flood, "x" * 300_000)
        first = await page_of(host, flood)
        await link.send_page(first)
        await host.says(flood, "more")
        await link.send_page(await page_of(host, flood, first.events[-1].seq))
        await link.copy(quiet)
        await calm_link.copy(elsewhere)
        link.answer("interrupt", lambda command: None)
        await served.manager.session(quiet).interrupt()
        may_go_on.set()
        await link.acknowledged(flood, 2)


async def test_a_host_that_keeps_to_no_window_is_cut_off(
    served: ServedHub, host: FakeHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(copies, "MOST_OF_A_SESSION", 1_000_000)
    may_go_on = asyncio.Event()
    take_copy = served.hub.store.take_copy

    async def slow(host_id: str, page: CopyPage) -> int:
        await may_go_on.wait()
        return await take_copy(host_id, page)

    monkeypatch.setattr(served.hub.store, "take_copy", slow)
    async with host.connected() as link:
        session_id = await host.session()
        await host.says(session_id, "x" * 600_000)
        page = await page_of(host, session_id)
        for _ in range(3):
            await link.send_page(page)
        assert await link.closed() == 4400
        may_go_on.set()


async def test_what_is_too_much_in_all_comes_again(
    served: ServedHub, host: FakeHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(copies.Copies, "is_full", property(lambda self: self.queued > 500_000))
    may_go_on = asyncio.Event()
    take_copy = served.hub.store.take_copy

    async def slow(host_id: str, page: CopyPage) -> int:
        await may_go_on.wait()
        return await take_copy(host_id, page)

    monkeypatch.setattr(served.hub.store, "take_copy", slow)
    async with host.connected() as link:
        one, other = await host.session(), await host.session()
        await host.says(one, "x" * 600_000)
        await host.says(other, "y")
        await link.send_page(await page_of(host, one))
        await link.send_page(await page_of(host, other))
        refused = await link.hear(wire.CopyRefused)
        assert (refused.session, refused.last_seq) == (other, 0)
        may_go_on.set()
        await link.acknowledged(one, 1)
        await link.send_page(await page_of(host, other), number=1)
        await link.acknowledged(other, 1)


@pytest.mark.slow
async def test_a_long_message_is_taken_after_the_key(served: ServedHub, host: FakeHost) -> None:
    async with host.connected() as link:
        session_id = await host.session()
        await host.says(session_id, "x" * 3_000_000)
        await link.offer()
        assert (await link.copy(session_id)).last_seq == 3


def forged(page: CopyPage, **changes: Any) -> CopyPage:
    return msgspec.structs.replace(page, **changes)


async def test_rows_that_are_not_what_they_say_end_the_link(served: ServedHub, host: FakeHost) -> None:
    session_id = await host.session()
    await host.asks(session_id)
    await host.write(session_id, Text(text="hello", block="b"))
    page = await page_of(host, session_id)
    event, ask = page.events[-1], page.asks[0]
    replaced = msgspec.structs.replace
    bad = [
        forged(
            page, events=[*page.events[:-1], replaced(event, body=b'{"type":"text","seq":7,"text":"","block":"b"}')]
        ),
        forged(page, events=[*page.events[:-1], replaced(event, body=b'{},"type":"home"')]),
        forged(page, events=[*page.events[:-1], replaced(event, body=b'{"type":"text","seq":2,"text":"\xff"}')]),
        forged(page, asks=[replaced(ask, body=b"[]")]),
        forged(page, asks=[replaced(ask, session_id="another")]),
        forged(page, session=replaced(page.session, settings=b"nonsense")),
        forged(page, session=replaced(page.session, settings=b'{"options": 7}')),
        forged(page, session=replaced(page.session, id="../../etc")),
    ]
    for each in bad:
        async with host.connected() as link:
            await link.send_page(each)
            assert await link.closed() == 4400
    async with served.client() as client:
        assert (await client.get(f"/api/sessions/{session_id}")).status_code == 404
    async with host.connected() as link:
        await link.offer()
        await link.copy(session_id)


@pytest.mark.slow
async def test_a_hub_that_restarts_finds_its_hosts_sessions_as_they_were(tmp_path: Path) -> None:
    async with served_hub(tmp_path / "hub") as served, fake_host(served, tmp_path) as host:
        async with host.connected() as link:
            session_id = await host.session()
            await host.asks(session_id)
            await link.offer()
            await link.copy(session_id)
        key, host_id = host.key, host.id
    async with served_hub(tmp_path / "hub") as served:
        async with served.client() as client:
            found = (await client.get(f"/api/sessions/{session_id}")).json()
            assert (found["live"], found["status"], found["host_state"]) == (True, "needs_you", "away")
            (ask,) = (await client.get("/api/asks")).json()["items"]
            assert (ask["host_name"], ask["host_state"], ask["state"]) == ("build-box", "away", "pending")
            assert (await client.get("/api/hosts/build-box")).json()["facts"]["labels"] == ["linux"]
        async with fake_host(served, tmp_path, "helper") as again:
            again.key, again.id, again.name = key, host_id, "build-box"
            async with again.connected(), served.client() as client:
                assert (await client.get("/api/hosts/build-box")).json()["state"] == "connected"


async def test_what_is_written_where_nobody_watches_is_not_looked_at(
    served: ServedHub, host: FakeHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked_up: list[str] = []
    get_session = served.hub.store.get_session

    async def noted(session_id: str) -> SessionRow | None:
        looked_up.append(session_id)
        return await get_session(session_id)

    monkeypatch.setattr(served.hub.store, "get_session", noted)
    async with host.connected() as link:
        await link.say(*(wire.Deltas(session=uuid4().hex, items=[b"{}"]) for _ in range(300)))
        session_id = await host.session()
        await link.offer()  # all before it was taken
    assert looked_up == [session_id]


@pytest.mark.slow
async def test_many_sockets_without_a_key_cost_nothing(served: ServedHub, host: FakeHost) -> None:
    async def knock(number: int) -> int:
        with pytest.raises(InvalidStatus) as refused:
            async with host.dialled(f"hrh_{number:043d}"):
                pass
        return refused.value.response.status_code

    async with host.connected() as link:
        assert set(await asyncio.gather(*(knock(number) for number in range(100)))) == {401}
        await link.offer()


async def test_figures_count_hosts_and_copies(served: ServedHub, host: FakeHost) -> None:
    async with host.connected() as link:
        session_id = await host.session()
        await host.says(session_id, "One.")
        await link.offer()
        await link.copy(session_id)
        async with served.client() as client:
            text = (await client.get("/metrics")).text
        assert 'handrail_hosts{state="connected"} 1.0' in text
        assert 'handrail_events_copied_total{host="build-box"} 3.0' in text
        assert 'handrail_copy_lag_seconds{host="build-box"}' in text


async def test_trouble_of_a_host_is_shown(served: ServedHub, host: FakeHost) -> None:
    async with host.connected() as link:
        await link.say(wire.Facts(facts=msgspec.structs.replace(host.facts, trouble="its disk is full", live=3)))
        async with served.client() as client:

            async def shown() -> bool:
                found = (await client.get("/api/hosts/build-box")).json()
                return bool(found["facts"]["trouble"] == "its disk is full" and found["live"] == 3)

            await until(shown)


async def test_a_host_that_offers_without_end_is_sent_away(
    served: ServedHub, host: FakeHost, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(link_module, "MOST_OFFERED", 50)
    going_on = asyncio.Event()
    copied = served.hub.store.copied

    async def slowly(host_id: str) -> Sequence[CopyHead]:
        await going_on.wait()
        return await copied(host_id)

    monkeypatch.setattr(served.hub.store, "copied", slowly)
    heads = [CopyHead(session_id=uuid4().hex, fence=1, last_seq=1) for _ in range(20)]
    async with fake_host(served, tmp_path, "patient") as patient, patient.connected() as other:
        async with host.connected() as link:
            for _ in range(3):
                await link.say(wire.Offer(heads=heads))
            assert await link.closed() == 4400
        going_on.set()
        await other.say(wire.Offer(heads=heads), wire.Offer(heads=heads), wire.Offer(done=True))
        for _ in range(2):
            assert len((await other.hear(wire.Have)).heads) == 20
        await other.say(wire.Offer(heads=heads))  # what was answered does not count any more
        await other.hear(wire.Have)


async def test_a_host_that_offers_and_does_not_read_has_no_answers_pile_up(
    served: ServedHub, host: FakeHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    stuck = asyncio.Event()
    answered = 0
    take = Offers.take

    async def counted(self: Offers, offer: wire.Offer) -> None:
        nonlocal answered
        answered += 1
        await take(self, offer)

    async def never(socket: WebSocket, parcel: bytes) -> None:
        stuck.set()
        await asyncio.Event().wait()

    monkeypatch.setattr(Offers, "take", counted)
    heads = [CopyHead(session_id=uuid4().hex, fence=1, last_seq=1)]
    async with host.connected() as link:
        monkeypatch.setattr(WebSocket, "send_bytes", never)
        for _ in range(50):
            await link.say(wire.Offer(heads=heads))
        await stuck.wait()
        arrived = served.hub.hosts.registry.get(host.id)
        assert arrived is not None
        assert arrived.link is not None
        offered = arrived.link._offers
        await until(lambda: offered.qsize() >= 48)
        assert answered == 1

"""Who may be a host, and what becomes of a link that does not behave."""

from __future__ import annotations

from pathlib import Path

import pytest
from websockets.exceptions import InvalidStatus

from handrail.link import wire
from handrail.server.hosts import link as links
from handrail.server.hosts import serving

from ..support import ServedHub
from .fake_host import FakeHost, Link, fake_host, until


async def test_who_has_no_key_is_refused_before_anything(served: ServedHub, host: FakeHost) -> None:
    for key in ("", "hrh_unknown", "hrh_" + "A" * 43, served.tokens["owner"]):
        with pytest.raises(InvalidStatus) as refused:
            async with host.dialled(key):
                pass
        assert refused.value.response.status_code == 401


async def test_a_host_key_opens_nothing_else(served: ServedHub, host: FakeHost) -> None:
    async with served.client(None, authorization=f"Bearer {host.key}") as client:
        assert (await client.get("/api/hosts")).status_code == 401


async def test_a_host_is_welcome(served: ServedHub, host: FakeHost) -> None:
    async with host.dialled() as link:
        await link.say(host.hello())
        welcome = await link.hear(wire.Welcome)
        assert (welcome.host_id, welcome.name, welcome.hub) == (host.id, "build-box", served.url)
        async with served.client("viewer") as client:
            own, view = (await client.get("/api/hosts")).json()["items"]
            assert own["is_hub"] is True
            assert (view["name"], view["state"], view["facts"]["labels"]) == ("build-box", "connected", ["linux"])
    async with served.client("viewer") as client:

        async def away() -> bool:
            return bool((await client.get("/api/hosts/build-box")).json()["state"] == "away")

        await until(away)


async def test_the_hubs_name_for_a_host_counts(served: ServedHub, host: FakeHost) -> None:
    async with host.dialled() as link:
        await link.say(host.hello(name="production"))
        assert (await link.hear(wire.Welcome)).name == "build-box"
    async with served.client() as client:
        entry = (await client.get("/api/audit")).json()["items"][0]
        assert (entry["action"], "production" in entry["detail"]) == ("hosts.renamed", True)


async def test_a_host_that_is_revoked_is_cut_off_at_once(served: ServedHub, host: FakeHost) -> None:
    async with host.connected() as link:
        async with served.client() as client:
            assert (await client.delete(f"/api/hosts/{host.id}")).status_code == 204
        assert await link.closed() == 4401
    with pytest.raises(InvalidStatus):
        async with host.dialled():
            pass
    async with served.client() as client:
        assert [each["name"] for each in (await client.get("/api/hosts")).json()["items"] if not each["is_hub"]] == []
        listed = (await client.get("/api/hosts", params={"revoked": True})).json()["items"]
        assert [each["state"] for each in listed if not each["is_hub"]] == ["revoked"]


async def test_another_version_is_told_so(host: FakeHost) -> None:
    async with host.dialled() as link:
        await link.say(host.hello(version=99))
        assert await link.closed() == 4426


async def test_what_does_not_say_hello_is_sent_away(host: FakeHost) -> None:
    for parcel in (b"", b"nonsense", b"\xc1", wire.pack([wire.Facts(facts=wire.HostFacts())])):
        async with host.dialled() as link:
            await link.socket.send(parcel)
            assert await link.closed() == 4400, parcel


@pytest.mark.slow
async def test_a_malformed_parcel_ends_the_link_and_nothing_else(
    served: ServedHub, host: FakeHost, tmp_path: Path
) -> None:
    async with fake_host(served, tmp_path, "other") as other, other.connected() as good:
        async with host.connected() as link:
            await link.socket.send(b"\x91\x81\xa4type\xa7unknown")
            assert await link.closed() == 4400
        async with host.connected() as link:
            await link.socket.send("text")
            assert await link.closed() == 4400
        session_id = await other.session()
        await good.offer()
        await good.copy(session_id)
        assert (await served.manager.session(session_id).row()).host == other.id


async def test_the_same_agent_takes_its_link_over(host: FakeHost) -> None:
    async with host.connected() as first, host.connected():
        assert await first.closed() == 4000


async def test_a_second_process_with_the_same_key_is_refused(served: ServedHub, host: FakeHost) -> None:
    async with host.connected() as first:
        async with host.dialled() as second:
            await second.say(host.hello(boot="another"))
            assert await second.closed() == 4409
        await first.offer()
    async with host.connected(boot="another"):
        pass


def go_deaf(link: Link) -> None:
    """The network is cut without a word: nothing is read or answered any more."""
    link.socket.transport.pause_reading()


async def test_a_link_that_is_dead_makes_room_for_another_process(
    host: FakeHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serving, "PATIENCE_WITH_THE_OTHER", 0.05)
    async with host.connected() as first:
        go_deaf(first)
        async with host.connected(boot="another") as second:
            await second.offer()
            first.socket.transport.abort()


@pytest.mark.slow
async def test_a_host_that_does_not_answer_is_away(
    served: ServedHub, host: FakeHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(links, "PING_EVERY", 0.02)
    monkeypatch.setattr(links, "PONG_PATIENCE", 0.05)
    async with host.connected() as link:
        go_deaf(link)
        await until(lambda: served.hub.hosts.where(host.id).host_state == "away")
        link.socket.transport.abort()

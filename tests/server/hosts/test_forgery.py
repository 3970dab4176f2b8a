"""A host that lies: what it says of sessions that are not its own reaches nobody, and changes nothing."""

from __future__ import annotations

from contextlib import aclosing
from pathlib import Path

import msgspec
import pytest

from handrail.events.model import Delta, Started
from handrail.link import wire

from ..support import ServedHub
from .fake_host import FakeHost, Link, fake_host


async def watched(host: FakeHost, link: Link) -> str:
    """A live session of a host, of which one event is copied."""
    session_id = await host.session()
    await host.write(session_id, Started(run=1))
    await link.offer()
    await link.copy(session_id)
    return session_id


async def test_nobody_is_shown_what_another_host_says_of_a_session(
    served: ServedHub, host: FakeHost, tmp_path: Path
) -> None:
    async with fake_host(served, tmp_path, "liar") as liar, host.connected() as link, liar.connected() as forging:
        session_id = await watched(host, link)
        async with aclosing(served.manager.session(session_id).subscribe()) as items:
            assert isinstance(await anext(items), Started)
            await link.hear(wire.Watch, lambda watch: watch.on)
            await forging.deltas(session_id, Delta(block="f", kind="text", offset=0, text="forged", after=1))
            page = await host.store.copy_page(session_id, after=0)
            assert page is not None
            await forging.send_page(page)
            await forging.hear(wire.CopyRefused)
            await link.deltas(session_id, Delta(block="b", kind="text", offset=0, text="true", after=1))
            item = await anext(items)
            assert isinstance(item, Delta)
            assert item.text == "true"
        # It is still its own host that is told whether anybody watches.
        await link.hear(wire.Watch, lambda watch: watch.session == session_id and not watch.on)


async def test_a_host_that_names_another_session_as_the_one_it_began_is_not_believed(
    served: ServedHub, host: FakeHost, tmp_path: Path
) -> None:
    async with fake_host(served, tmp_path, "liar") as liar, host.connected() as link, liar.connected() as forging:
        session_id = await watched(host, link)
        for method in ("start", "adopt"):
            forging.answer(method, lambda command: {"id": session_id})
        async with served.client() as owner:
            started = await owner.post("/api/sessions", json={"cwd": "/srv", "host": "liar", "prompt": "a secret"})
            adopted = await owner.post("/api/adopt", json={"cli_session_id": "c1c1c1c1", "host": "liar"})
        assert (started.status_code, adopted.status_code) == (502, 502)
        assert "not one of its own" in started.text
        assert not [each for each in link.heard if isinstance(each, wire.Command)]


@pytest.mark.slow
@pytest.mark.parametrize(
    "lie", [{"cost_usd": float("inf")}, {"updated_at": float("nan")}, {"created_at": float("inf")}]
)
async def test_numbers_that_nobody_could_read_are_not_stored(
    served: ServedHub, host: FakeHost, lie: dict[str, float]
) -> None:
    async with host.connected() as link:
        session_id = await host.session()
        page = await host.store.copy_page(session_id, after=0)
        assert page is not None
        forged = msgspec.structs.replace(page.session, **lie)
        await link.send_page(msgspec.structs.replace(page, session=forged))
        assert await link.closed() == 4400
    async with served.client("viewer") as client:
        assert (await client.get("/api/sessions")).json()["items"] == []


LIES = [
    wire.HostFacts(clock=float("nan")),
    wire.HostFacts(load=float("inf")),
    wire.HostFacts(live=-5),
    wire.HostFacts(capacity=-1),
    wire.HostFacts(labels=("x" * 100_000,)),
]


@pytest.mark.slow
@pytest.mark.parametrize("facts", LIES)
async def test_what_no_host_can_say_of_itself_ends_its_link(
    served: ServedHub, host: FakeHost, facts: wire.HostFacts
) -> None:
    async with host.dialled() as link:
        await link.say(host.hello(facts=facts))
        assert await link.closed() == 4400
    async with host.connected() as link:
        await link.say(wire.Facts(facts=facts))
        assert await link.closed() == 4400
    async with served.client("viewer") as client:
        found = (await client.get("/api/hosts/build-box")).json()["facts"]
        assert found["labels"] == ["linux"]

"""Hosts that lie, talk nonsense, or too much: each is refused, and concerns nobody else."""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager, suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

from handrail.events.model import Delta, Event
from handrail.link import wire
from handrail.sessions.session import Session
from handrail.store.base import CopyHead
from handrail.testing import simulated as sim

from ...server.hosts.fake_host import FakeHost, Link, fake_host, until
from ...server.support import PATIENCE, ServedHub, served_hub


@pytest.fixture
async def served(tmp_path: Path) -> AsyncIterator[ServedHub]:
    async with served_hub(tmp_path / "hub") as served:
        yield served


# ------------------------------------------------------------ sessions of others


async def speaks_for(liar: FakeHost, link: Link, session_id: str) -> None:
    """Say all that can be said of a session: that it is there, what is in it, what is being written, its end."""
    await liar.store.create_session(msgspec.structs.replace(await a_row(liar), id=session_id))
    await liar.take(session_id)
    await liar.says(session_id, "Forged.")
    assert session_id not in await link.offer()
    page = await liar.store.copy_page(session_id, after=0)
    await link.send_page(page)
    refused = await link.hear(wire.CopyRefused)
    assert refused.session == session_id
    for after in range(20):
        await link.deltas(session_id, Delta(block="b", kind="text", offset=0, text="forged", after=after))
    await link.say(wire.Gone(session=session_id))
    await link.say(wire.Reply(id=uuid4().hex), wire.Offer())
    await link.offer()  # all before it was taken


@asynccontextmanager
async def reading(session: Session) -> AsyncIterator[list[Event | Delta]]:
    """What a reader of the session sees meanwhile."""
    seen: list[Event | Delta] = []

    async def read() -> None:
        async with aclosing(session.subscribe()) as items:
            async for item in items:
                seen.append(item)  # noqa: PERF401  it never ends

    reader = asyncio.create_task(read())
    try:
        yield seen
    finally:
        reader.cancel()
        await asyncio.gather(reader, return_exceptions=True)


async def a_row(host: FakeHost) -> Any:
    row = await host.store.get_session(await host.session(live=False))
    assert row is not None
    return row


@pytest.mark.slow
async def test_a_host_cannot_speak_for_a_session_of_the_hub(served: ServedHub, tmp_path: Path) -> None:
    session = await served.session(sim.loop_turns("You said $text."))
    await session.run("one")
    async with reading(session) as seen, fake_host(served, tmp_path, "liar") as liar, liar.connected() as link:
        await speaks_for(liar, link, session.id)
        assert (await session.run("two")).ok
        await until(lambda: "You said two." in str(seen))
    assert "forged" not in str(seen).lower()
    assert (await session.row()).host == ""
    assert await session.is_live()
    events = await session.events()
    assert [event.seq for event in events] == list(range(1, len(events) + 1))


@pytest.mark.slow
async def test_a_host_cannot_speak_for_a_session_that_rests(served: ServedHub, tmp_path: Path) -> None:
    session = await served.session(sim.loop_turns("You said $text."))
    await session.run("one")
    await session.stop()
    before = await session.row()
    async with reading(session) as seen, fake_host(served, tmp_path, "liar") as liar, liar.connected() as link:
        await speaks_for(liar, link, session.id)
        assert await session.row() == before
        await served.manager.resume(session.id)
        assert (await session.run("two")).ok
        await until(lambda: "You said two." in str(seen))
    assert "forged" not in str(seen).lower()


@pytest.mark.slow
async def test_a_host_cannot_speak_for_a_session_of_another(served: ServedHub, tmp_path: Path) -> None:
    async with fake_host(served, tmp_path, "honest") as honest, honest.connected() as its_link:
        session_id = await honest.session()
        await honest.says(session_id, "True.")
        await its_link.offer()
        await its_link.copy(session_id)
        session = served.manager.session(session_id)
        async with reading(session) as seen, fake_host(served, tmp_path, "liar") as liar, liar.connected() as link:
            await speaks_for(liar, link, session_id)
            await honest.says(session_id, "Also true.")
            have = (await its_link.offer())[session_id]
            assert (await its_link.copy(session_id, have)).last_seq == 6
            await until(lambda: "Also true." in str(seen))
        assert "forged" not in str(seen).lower()
    row = await served.manager.session(session_id).row()
    assert row.host == honest.id
    assert "forged" not in str(await served.manager.session(session_id).events()).lower()


# ------------------------------------------------------------ nonsense

SESSION = "5e55104e" * 4
plain: st.SearchStrategy[Any] = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats()
    | st.text(max_size=20)
    | st.binary(max_size=20)
)
anything = st.recursive(
    plain,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
tagged = st.fixed_dictionaries(
    {"type": st.sampled_from(["hello", "facts", "offer", "page", "deltas", "gone", "reply", "callback", "welcome"])},
    optional=dict.fromkeys(("session", "number", "page", "items", "id", "heads", "done", "facts"), anything),
)
heads = st.builds(
    CopyHead,
    session_id=st.sampled_from([SESSION, "x", "../../etc", ""]),
    fence=st.integers(-1, 3),
    last_seq=st.integers(-1, 9),
    changed=st.integers(-1, 9),
)
messages: st.SearchStrategy[wire.FromHost] = st.one_of(
    st.builds(
        wire.Facts, facts=st.builds(wire.HostFacts, clock=st.floats(), load=st.floats(), live=st.integers(-5, 5))
    ),
    st.builds(wire.Offer, heads=st.lists(heads, max_size=3), done=st.booleans()),
    st.builds(wire.Deltas, session=st.just(SESSION), items=st.lists(st.binary(max_size=40), max_size=3)),
    st.builds(wire.Gone, session=st.just(SESSION)),
    st.builds(wire.Reply, id=st.text(max_size=8), result=st.binary(max_size=20), last_seq=st.integers(-1, 2**40)),
    st.builds(
        wire.Callback,
        id=st.text(max_size=8),
        session=st.just(SESSION),
        program=st.text(max_size=8),
        kind=st.text(max_size=8),
        name=st.text(max_size=8),
        payload=st.binary(max_size=8),
    ),
    st.builds(
        wire.Hello,
        version=st.integers(0, 2),
        name=st.text(max_size=8),
        boot=st.text(max_size=8),
    ),
)
parcels = st.one_of(
    st.binary(max_size=60),
    anything.map(msgspec.msgpack.encode),
    st.lists(tagged, max_size=3).map(msgspec.msgpack.encode),
    st.lists(messages, max_size=4).map(wire.pack),
    st.lists(messages, min_size=1, max_size=2).map(lambda each: wire.pack(each)[:-1]),
)


@asynccontextmanager
async def two_hosts() -> AsyncIterator[tuple[FakeHost, FakeHost]]:
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        async with (
            served_hub(directory / "hub") as served,
            fake_host(served, directory, "mad") as mad,
            fake_host(served, directory, "sane") as sane,
        ):
            yield mad, sane


@pytest.mark.slow
def test_whatever_a_host_says_concerns_only_its_link(caplog: pytest.LogCaptureFixture) -> None:
    loop = asyncio.new_event_loop()
    world = two_hosts()
    mad, sane = loop.run_until_complete(world.__aenter__())

    @settings(max_examples=400, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(st.lists(parcels, min_size=1, max_size=4), st.booleans())
    def talk(said: Sequence[bytes], introduced: bool) -> None:
        caplog.clear()
        loop.run_until_complete(talks_nonsense(mad, said, introduced=introduced))
        assert [record for record in caplog.records if record.levelname == "ERROR"] == []

    try:
        talk()
        loop.run_until_complete(works(sane))
        loop.run_until_complete(works(mad))
    finally:
        loop.run_until_complete(world.__aexit__(None, None, None))
        loop.close()


async def talks_nonsense(host: FakeHost, said: Sequence[bytes], *, introduced: bool) -> None:
    """It is cut off for it, or it is as if nothing was said."""
    async with host.dialled() as link:
        if introduced:
            await link.say(host.hello())
            await link.hear(wire.Welcome)
        with suppress(ConnectionClosed):
            for parcel in said:
                await link.socket.send(parcel)
            await link.socket.close()
        async with asyncio.timeout(PATIENCE):
            await link.socket.wait_closed()
        assert link.socket.close_code in (1000, 4400, 4426), (link.socket.close_code, link.socket.close_reason)


async def works(host: FakeHost) -> None:
    async with host.connected() as link:
        session_id = await host.session()
        await host.says(session_id, "Still here.")
        await link.offer()
        assert (await link.copy(session_id)).last_seq == 3


@pytest.mark.slow
async def test_a_delta_that_is_none_holds_nothing_up(served: ServedHub, tmp_path: Path) -> None:
    async with fake_host(served, tmp_path) as host, host.connected() as link:
        session_id = await host.session()
        await host.says(session_id, "One.")
        await link.offer()
        await link.copy(session_id)
        await link.say(wire.Deltas(session=session_id, items=[b"", b"[", b"\xff", b'{"type":"delta"}', b"null"]))
        await host.says(session_id, "Two.")
        have = (await link.offer())[session_id]
        assert (await link.copy(session_id, have)).last_seq == 6


@pytest.mark.slow
async def test_a_clock_that_is_wrong_is_said(served: ServedHub, tmp_path: Path) -> None:
    async with fake_host(served, tmp_path) as host, served.client() as client:
        for skew, words in ((-7200.0, "2 hours behind"), (90_000.0, "1 day ahead of"), (5.0, "")):
            facts = msgspec.structs.replace(host.facts, clock=time.time() + skew, trouble="its fan is loud")
            async with host.connected(facts=facts):
                shown = (await client.get("/api/hosts/build-box")).json()["facts"]["trouble"]
            assert shown.startswith("its fan is loud")
            assert f"its clock is {words} the hub's" in shown if words else shown == "its fan is loud"


# ------------------------------------------------------------ too much


@pytest.mark.slow
@pytest.mark.parametrize("compression", [None, "deflate"])
async def test_a_parcel_that_is_too_long_ends_the_link(
    served: ServedHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, compression: str | None
) -> None:
    monkeypatch.setattr(wire, "LONGEST_PARCEL", 2_000_000)
    async with fake_host(served, tmp_path) as host:
        url = served.url.replace("http", "ws", 1) + wire.LINK_PATH
        dial = connect(
            url, additional_headers={"authorization": f"Bearer {host.key}"}, compression=compression, proxy=None
        )
        async with dial as socket, Link(socket, host) as link:
            await link.say(host.hello())
            await link.hear(wire.Welcome)
            await socket.send(bytes(1_900_000)[:-1] + b"\xc1")  # long enough to be read, and nonsense
            assert await link.closed() == 4400
        async with dial as socket, Link(socket, host) as link:
            await link.say(host.hello())
            await link.hear(wire.Welcome)
            await socket.send(bytes(2_100_000))
            assert await link.closed() == 1009
        await works(host)

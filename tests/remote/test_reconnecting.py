"""A program whose way to its hub is cut, and a hub that is started anew: nothing is missing, nothing comes twice."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from handrail import Allow, Asked, Hub, HubError, HubUnreachable, InvalidOptions, Options, Session
from handrail.errors import AlreadyDecided, ConfigError
from handrail.events import Completed, Delta, Event, Prompt, Text
from handrail.sessions.session import PYTHON
from handrail.testing import simulated as sim
from handrail.testing.simulated import SimulatedCLI

from ..server.support import ServedHub, served_hub
from .support import Wire, eventually

STORY = " ".join(f"word{number}" for number in range(20))
CHATTY = (sim.loop_turns(sim.say(STORY, pause=0.01), "One.", "Two.", "You said $text."),)


@asynccontextmanager
async def hub_behind(wire: Wire, directory: Path, *steps: sim.Step) -> AsyncIterator[ServedHub]:
    (directory / "cli").mkdir(parents=True, exist_ok=True)
    cli = SimulatedCLI(steps or CHATTY, directory=directory / "cli")
    async with served_hub(directory, cli=cli, settings=wire.settings) as served:
        wire.leads_to(served.url)
        yield served


async def collected(session: Session, runs: int, *, into: list[Any], after: int = 0) -> None:
    async for item in session.subscribe(after):
        into.append(item)
        if isinstance(item, Completed) and item.run == runs:
            return


async def more(items: list[Any]) -> None:
    """Wait until something was added."""
    seen = len(items)
    await eventually(lambda: len(items) > seen)


def numbers(items: list[Any]) -> list[int]:
    return [item.seq for item in items if isinstance(item, Event)]


@pytest.mark.slow
async def test_a_reader_whose_socket_is_cut_misses_nothing_and_gets_nothing_twice(tmp_path: Path) -> None:
    changes: list[str] = []
    async with Wire().laid() as wire, hub_behind(wire, tmp_path) as served:
        async with Hub(
            wire.url,
            served.tokens["owner"],
            on_connected=lambda: changes.append("connected"),
            on_disconnected=lambda reason: changes.append("disconnected"),
        ) as hub:
            session = await hub.start(Options(cwd=served.directory))
            items: list[Any] = []
            reading = asyncio.create_task(collected(session, 3, into=items))
            for number in range(3):
                uuid = await session.send(f"Turn {number}.")
                await more(items)
                wire.cut()
                await eventually(lambda: not hub.is_connected)
                wire.mend()
                await session.wait(uuid)
            async with asyncio.timeout(30):
                await reading
            stored = await served.manager.session(session.id).events()
            assert numbers(items) == [event.seq for event in stored][: len(numbers(items))]
            assert numbers(items) == list(range(1, len(numbers(items)) + 1))
        assert changes[:3] == ["connected", "disconnected", "connected"]
        assert changes.count("disconnected") >= 3


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
async def test_a_way_that_is_cut_again_and_again_loses_and_doubles_nothing(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    async with (
        Wire().laid() as wire,
        hub_behind(wire, tmp_path) as served,
        Hub(wire.url, served.tokens["owner"], patience=60.0) as hub,
    ):

        async def keep_cutting() -> None:
            while True:
                wire.cut_after = chance.randrange(1, 6_000)
                await eventually(lambda: wire.is_cut)
                await asyncio.sleep(chance.random() / 20)
                wire.mend()

        cutting = asyncio.create_task(keep_cutting())
        session = await hub.start(Options(cwd=served.directory), title="Through thick and thin")
        items: list[Any] = []
        reading = asyncio.create_task(collected(session, 5, into=items))
        for number in range(5):
            assert (await session.run(f"Turn {number}.")).ok
        async with asyncio.timeout(60):
            await reading
        cutting.cancel()
        wire.mend()
        assert [row.id for row in await hub.list()] == [session.id]
        stored = await served.manager.session(session.id).events()
        assert numbers(items) == [event.seq for event in stored][: len(numbers(items))]
        assert len({event.uuid for event in stored if isinstance(event, Prompt)}) == 5


@pytest.mark.slow
async def test_what_is_being_written_is_not_repeated_after_a_cut(tmp_path: Path) -> None:
    async with (
        Wire().laid() as wire,
        hub_behind(wire, tmp_path, sim.turn(sim.say(STORY, pause=0.1))) as served,
        Hub(wire.url, served.tokens["owner"]) as hub,
    ):
        session = await hub.start(Options(cwd=served.directory))
        items: list[Any] = []
        reading = asyncio.create_task(collected(session, 1, into=items))
        await eventually(lambda: hub.is_connected)
        await session.send("Tell me.")
        # On a busy machine the whole story may come at once: then there is only less to repeat.
        await eventually(lambda: any(isinstance(item, Delta | Text) for item in items))
        wire.cut()
        await eventually(lambda: not hub.is_connected)
        wire.mend()
        async with asyncio.timeout(30):
            await reading
        written: dict[str, int] = {}
        for delta in (item for item in items if isinstance(item, Delta)):
            assert delta.offset >= written.get(delta.block, 0)
            written[delta.block] = delta.offset + len(delta.text)
        assert next(item.text for item in items if isinstance(item, Text)) == STORY


@pytest.mark.slow
async def test_a_reader_who_is_slow_is_left_behind_and_still_gets_everything(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("handrail.remote.live_reader.MOST_ITEMS", 5)
    async with (
        Wire().laid() as wire,
        hub_behind(wire, tmp_path, sim.loop_turns("Yes.", "No.", "Perhaps.")) as served,
        Hub(served.url, served.tokens["owner"]) as hub,
    ):
        session = await hub.start(Options(cwd=served.directory))
        stream = session.subscribe(deltas=False)
        await session.run("Turn 0.")
        items: list[Any] = [await anext(stream)]
        for number in range(1, 5):
            await session.run(f"Turn {number}.")
        async with asyncio.timeout(30):
            async for item in stream:
                items.append(item)
                if isinstance(item, Completed) and item.run == 5:
                    break
        await stream.aclose()
        assert numbers(items) == list(range(1, len(items) + 1))


@pytest.mark.slow
async def test_what_is_done_while_the_way_is_cut_is_done_once_it_is_mended(tmp_path: Path) -> None:
    async with (
        Wire().laid() as wire,
        hub_behind(wire, tmp_path, sim.loop_turns("Yes.")) as served,
        Hub(wire.url, served.tokens["owner"]) as hub,
    ):
        session = await hub.start(Options(cwd=served.directory))
        wire.cut()
        running = asyncio.create_task(session.run("Are you there?"))
        attempts = wire.accepted
        await eventually(lambda: wire.accepted > attempts + 1)
        assert not running.done()
        wire.mend()
        async with asyncio.timeout(30):
            assert (await running).ok


@pytest.mark.slow
async def test_an_answer_that_was_not_heard_is_given_once(tmp_path: Path) -> None:
    """The hub starts the session, but the wire is cut before that can be told."""
    async with (
        Wire().laid() as wire,
        hub_behind(wire, tmp_path, sim.loop_turns("Yes.")) as served,
        Hub(wire.url, served.tokens["owner"]) as hub,
    ):
        wire.cut_after = 1
        starting = asyncio.create_task(hub.start(Options(cwd=served.directory), title="Once"))
        await eventually(lambda: wire.is_cut)
        wire.mend()
        async with asyncio.timeout(30):
            session = await starting
        assert [row.id for row in await hub.list()] == [session.id]
        assert await session.is_live()


@pytest.mark.slow
async def test_a_decision_whose_answer_was_not_heard_counts(tmp_path: Path) -> None:
    asks = (sim.turn(sim.tool("Bash", {"command": "rm -rf build"}), "Clean."), sim.loop_turns("Yes."))
    async with (
        Wire().laid() as wire,
        hub_behind(wire, tmp_path, *asks) as served,
        Hub(wire.url, served.tokens["owner"]) as hub,
    ):
        session = await hub.start(Options(cwd=served.directory), policy=Asked(profile="careful"))
        sent = await session.send("Clean up.")
        row = (await eventually(session.asks))[0]
        seat = await hub._keeper.seat(session.id)
        assert seat is not None
        wire.cut_after = 1
        deciding = asyncio.create_task(seat.decide(row.id, Allow(), actor=PYTHON, digest=row.digest))
        await eventually(lambda: wire.is_cut)
        wire.mend()
        async with asyncio.timeout(30):
            await deciding
        assert (await session.wait(sent)).ok
        with pytest.raises(AlreadyDecided):
            await session.decide(row.id, Allow(), digest=row.digest)


@pytest.mark.slow
async def test_a_hub_that_is_started_anew_goes_on_where_it_was(tmp_path: Path) -> None:
    async with Wire().laid() as wire, AsyncExitStack() as stack:
        first = await stack.enter_async_context(AsyncExitStack())
        served = await first.enter_async_context(hub_behind(wire, tmp_path, sim.loop_turns("Yes.")))
        hub = await stack.enter_async_context(Hub(wire.url, served.tokens["owner"]))
        session = await hub.start(Options(cwd=served.directory))
        items: list[Any] = []
        reading = asyncio.create_task(collected(session, 2, into=items))
        assert (await session.run("Before.")).run == 1
        await eventually(lambda: any(isinstance(item, Completed) for item in items))
        await first.aclose()
        again = asyncio.create_task(session.run("Behind."))
        served = await stack.enter_async_context(hub_behind(wire, tmp_path, sim.loop_turns("Yes.")))
        async with asyncio.timeout(40):
            assert (await again).run == 2
            await reading
        assert numbers(items) == list(range(1, len(numbers(items)) + 1))


@pytest.mark.slow
@pytest.mark.parametrize("status", [401, 404])
async def test_a_proxy_that_misses_its_hub_for_a_while_ends_nothing(tmp_path: Path, status: int) -> None:
    errors: list[Exception] = []
    async with (
        Wire().laid() as wire,
        hub_behind(wire, tmp_path, sim.loop_turns("Yes.")) as served,
        Hub(wire.url, served.tokens["owner"], on_error=errors.append) as hub,
    ):
        session = await hub.start(Options(cwd=served.directory))
        items: list[Any] = []
        reading = asyncio.create_task(collected(session, 2, into=items))
        assert (await session.run("Before.")).run == 1
        await eventually(lambda: any(isinstance(item, Completed) for item in items))
        tries = wire.accepted
        wire.answer = b"HTTP/1.1 %d No\r\ncontent-length: 0\r\nconnection: close\r\n\r\n" % status
        wire.cut()
        wire.mend()
        await eventually(lambda: wire.accepted > tries + 1)
        wire.answer = b""
        await eventually(lambda: hub.is_connected)
        assert (await session.run("Behind.")).run == 2
        async with asyncio.timeout(40):
            await reading
        assert not errors


@pytest.mark.slow
@pytest.mark.parametrize("status", [302, 401, 404, 500, 502, 503])
async def test_what_a_proxy_answers_in_the_place_of_its_hub_is_not_taken_for_the_hubs_word(
    tmp_path: Path, status: int
) -> None:
    async with (
        Wire().laid() as wire,
        hub_behind(wire, tmp_path) as served,
        Hub(wire.url, served.tokens["owner"]) as hub,
        Hub(wire.url, served.tokens["owner"], patience=0.0) as hasty,
    ):
        wire.answer = b"HTTP/1.1 %d No\r\ncontent-length: 6\r\nconnection: close\r\n\r\n<html>" % status
        wire.cut()
        wire.mend()
        tries = wire.accepted
        stopping = asyncio.create_task(hub.stop_all())
        await eventually(lambda: wire.accepted > tries)
        with pytest.raises(HubUnreachable, match=f"something else answers there, with {status}"):
            await hasty.list()
        wire.answer = b""
        assert await stopping == 0


@pytest.mark.slow
async def test_what_a_proxy_says_of_the_request_itself_is_said_at_once(tmp_path: Path) -> None:
    async with (
        Wire().laid() as wire,
        hub_behind(wire, tmp_path) as served,
        Hub(wire.url, served.tokens["owner"]) as hub,
    ):
        wire.answer = b"HTTP/1.1 413 No\r\ncontent-length: 6\r\nconnection: close\r\n\r\n<html>"
        wire.cut()
        wire.mend()
        with pytest.raises(HubError, match=r"in front of the hub at .* answered 413"):
            await hub.list()


@pytest.mark.slow
async def test_patience_ends(tmp_path: Path) -> None:
    async with (
        Wire().laid() as wire,
        hub_behind(wire, tmp_path) as served,
        Hub(wire.url, served.tokens["owner"], patience=0.3) as hub,
    ):
        wire.cut()
        with pytest.raises(HubUnreachable):
            await hub.list()


async def test_a_hub_that_is_not_there_is_said_at_once() -> None:
    with pytest.raises(HubUnreachable, match="no hub"):
        async with Hub("http://127.0.0.1:9", "hr_nothing", patience=0.0):
            pass


async def something_else(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """A web server that is no hub."""
    request = await reader.readuntil(b"\r\n\r\n")
    status = b"404 Not Found" if b"/missing/" in request else b"200 OK"
    writer.write(b"HTTP/1.1 " + status + b"\r\ncontent-length: 6\r\nconnection: close\r\n\r\n<html>")
    await writer.drain()
    writer.close()


@pytest.mark.parametrize("path", ["", "/missing"])
async def test_what_is_no_hub_is_said(path: str) -> None:
    async with await asyncio.start_server(something_else, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(HubError, match=rf"what answers at http://127\.0\.0\.1:{port}{path} is no hub"):
            async with Hub(f"http://127.0.0.1:{port}{path}", "hr_nothing", patience=0.0):
                pass


async def test_a_token_that_is_not_known_is_refused(tmp_path: Path) -> None:
    async with Wire().laid() as wire, hub_behind(wire, tmp_path) as served:
        with pytest.raises(HubError) as caught:
            async with Hub(served.url, "hr_wrong"):
                pass
        assert (caught.value.code, caught.value.status) == ("not_authenticated", 401)


@pytest.mark.slow
async def test_who_follows_with_a_token_that_is_revoked_is_told(tmp_path: Path) -> None:
    errors: list[Exception] = []
    async with Wire().laid() as wire, hub_behind(wire, tmp_path) as served:
        row, secret = await served.hub.tokens.mint("for a while", "owner")
        async with Hub(served.url, secret, on_error=errors.append) as hub:
            session = await hub.start(Options(cwd=served.directory))
            await session.run("Hello.")
            items: list[Any] = []
            reading = asyncio.create_task(collected(session, 9, into=items))
            await eventually(lambda: hub.is_connected and items)
            await served.hub.tokens.revoke(row.id)
            with pytest.raises(HubError) as caught:
                async with asyncio.timeout(30):
                    await reading
            assert caught.value.code == "not_authenticated"
            assert errors == [caught.value]


@pytest.mark.parametrize("url", ["hub.example.org", "ftp://hub.example.org", "http://hub.example.org", ""])
def test_an_address_that_must_not_be_used_is_refused(url: str) -> None:
    with pytest.raises(ConfigError):
        Hub(url, "hr_secret")


async def test_a_directory_must_be_one_of_the_machine_that_runs_the_session(tmp_path: Path) -> None:
    async with (
        Wire().laid() as wire,
        hub_behind(wire, tmp_path) as served,
        Hub(served.url, served.tokens["owner"]) as hub,
    ):
        for options in (Options(), Options(cwd="project")):
            with pytest.raises(InvalidOptions, match="on the machine"):
                await hub.start(options)
        with pytest.raises(InvalidOptions, match="frames"):
            await hub.start(Options(cwd="/srv"), record=tmp_path / "record.jsonl")

"""Sockets: what closes them, what they may ask for, and what they are told when they may not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from websockets.asyncio.client import connect

from handrail.events.model import Text
from handrail.server.live import viewer
from handrail.server.live.protocol import CLOSE_CODES

from .support import Client, Served, Writer, served_live


async def test_a_revoked_token_closes_its_sockets_and_no_others(served: Served) -> None:
    async with (
        Client.connected(served.url, **{"x-token": "one"}) as one,
        Client.connected(served.url, **{"x-token": "two"}) as two,
    ):
        served.live.close_token("one")
        assert await one.until_closed() == 4401
        await two.say("ping", n="still here")
        await two.until(lambda: bool(two.of("pong")))
        assert two.of("pong")[0]["n"] == "still here"


async def test_a_hub_that_stops_says_that_it_will_be_back(tmp_path: Path) -> None:
    async with served_live(tmp_path) as served:
        writer = await Writer.begun(served.store)
        async with Client.connected(served.url) as client:
            await client.follow(writer.session_id, 0)
            await client.say("home", on=True)
            await client.until(lambda: bool(client.of("home")))
            await served.live.stop()
            assert await client.until_closed() == 1012
        assert served.meter.viewers == 0
        assert served.live.statistics().channels == 0


MISTAKES: dict[str | bytes, str] = {
    "this is no JSON": "bad_request",
    '{"type": "dance"}': "invalid",
    '{"type": "follow"}': "invalid",
    '{"type": "ack", "session": "s", "seq": "many"}': "invalid",
    "[]": "invalid",
    b'{"type": "ping"': "bad_request",
    json.dumps({"type": "unfollow", "session": "x" * viewer.LONGEST_MESSAGE}): "too_large",
    '{"type": "follow", "session": "nobody"}': "session_not_found",
}


async def test_what_cannot_be_done_is_a_problem_and_the_socket_goes_on(served: Served) -> None:
    async with Client.connected(served.url) as client:
        for number, (sent, code) in enumerate(MISTAKES.items()):
            await client.socket.send(sent)
            await client.until(lambda number=number: len(client.of("problem")) > number)
            assert client.of("problem")[number]["code"] == code
        await client.say("ping")
        await client.until(lambda: bool(client.of("pong")))


async def test_a_flood_of_nonsense_closes_the_socket(served: Served) -> None:
    async with Client.connected(served.url) as client:
        for _ in range(viewer.MOST_BAD + 1):
            await client.socket.send("nonsense")
        assert await client.until_closed() == 4400


@pytest.mark.slow
async def test_a_client_that_sends_too_fast_is_made_to_wait(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(viewer, "BURST", 10.0)
    monkeypatch.setattr(viewer, "A_SECOND", 100.0)
    async with Client.connected(served.url) as client:
        for number in range(60):
            await client.say("ping", n=number)
        await client.until(lambda: len(client.of("pong")) == 60)
        assert [message["n"] for message in client.of("pong")] == list(range(60))


async def test_one_socket_follows_only_so_many(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(viewer, "MOST_FOLLOWS", 2)
    writers = [await Writer.begun(served.store, f"{number:032x}") for number in range(3)]
    async with Client.connected(served.url) as client:
        for writer in writers:
            await client.follow(writer.session_id, 0)
        await client.until(lambda: bool(client.of("problem")))
        assert client.of("problem")[0] | {"detail": ""} == {
            "type": "problem",
            "code": "too_many_requests",
            "detail": "",
            "session": writers[2].session_id,
        }
        await client.say("unfollow", session=writers[0].session_id)
        await client.follow(writers[2].session_id, 0)
        await client.until(lambda: any(m["session"] == writers[2].session_id for m in client.of("caught_up")))


def test_every_code_that_is_used_says_why() -> None:
    assert {1011, 1012, 4400, 4401} <= set(CLOSE_CODES)
    assert all(len(reason.encode()) <= 123 for reason in CLOSE_CODES.values()), "a close frame has no more room"


@pytest.mark.slow
async def test_a_client_that_reads_nothing_holds_up_nobody(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(viewer, "CLOSING_PATIENCE", 0.2)
    writer = await Writer.begun(served.store)
    await writer.write([Text(block=f"b{number}", text="x" * 100_000) for number in range(150)])
    async with connect(served.url, max_queue=1, close_timeout=0.1) as deaf, Client.connected(served.url) as client:
        # It even says that it has taken in everything, so that only the network holds the hub back.
        await deaf.send(json.dumps({"type": "follow", "session": writer.session_id, "after": 0}))
        await deaf.send(json.dumps({"type": "ack", "session": writer.session_id, "seq": 10**9}))
        await client.follow(writer.session_id, 0)
        await client.until(lambda: bool(client.of("caught_up")))
        assert client.seqs(writer.session_id) == list(range(1, 151))
        await served.live.stop()
        assert served.meter.viewers == 0

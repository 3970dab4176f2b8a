"""What is written on a host reaches who watches it here, and only while somebody does."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from websockets.asyncio.client import ClientConnection, connect

from handrail.events.model import Delta, Started, Text
from handrail.link import wire

from ..support import ServedHub
from .fake_host import FakeHost


@asynccontextmanager
async def viewer(served: ServedHub, *requests: dict[str, Any]) -> AsyncIterator[ClientConnection]:
    url = served.url.replace("http", "ws", 1) + "/api/live"
    headers = {"authorization": f"Bearer {served.tokens['viewer']}"}
    async with connect(url, additional_headers=headers, proxy=None) as socket:
        for request in requests:
            await socket.send(json.dumps(request))
        yield socket


async def told(socket: ClientConnection, kind: str, fits: Any = lambda message: True) -> dict[str, Any]:
    """The next message of this kind that fits."""
    async for text in socket:
        message: dict[str, Any] = json.loads(text)
        if message["type"] == kind and fits(message):
            return message
    raise AssertionError("the socket was closed")


async def test_a_viewer_sees_what_is_being_written_on_a_host(served: ServedHub, host: FakeHost) -> None:
    async with host.connected() as link:
        session_id = await host.session()
        await host.write(session_id, Started(run=1))
        await link.offer()
        await link.copy(session_id)
        async with viewer(served, {"type": "follow", "session": session_id, "as": "events"}) as socket:
            await told(socket, "caught_up")
            await link.hear(wire.Watch, lambda watch: watch.on)
            await link.deltas(session_id, Delta(block="b", kind="text", offset=0, text="Hel", after=1))
            assert (await told(socket, "delta"))["delta"]["text"] == "Hel"
            await host.write(session_id, Text(text="Hello.", block="b", run=1))
            await link.copy(session_id)
            assert (await told(socket, "event"))["event"]["text"] == "Hello."


async def test_deltas_wait_for_their_event_and_stale_ones_are_dropped(served: ServedHub, host: FakeHost) -> None:
    async with host.connected() as link:
        session_id = await host.session()
        await host.write(session_id, Started(run=1))
        await link.offer()
        await link.copy(session_id)
        async with viewer(served, {"type": "follow", "session": session_id, "as": "events"}) as socket:
            await told(socket, "caught_up")
            await link.hear(wire.Watch, lambda watch: watch.on)
            await link.deltas(session_id, Delta(block="c", kind="text", offset=0, text="early", after=2))
            await link.deltas(session_id, Delta(block="a", kind="text", offset=0, text="stale", after=0))
            await host.write(session_id, Text(text="Hello.", block="b", run=1))
            await link.copy(session_id)
            assert (await told(socket, "event"))["event"]["text"] == "Hello."
            assert (await told(socket, "delta"))["delta"]["text"] == "early"


async def test_a_host_is_told_again_what_is_watched(served: ServedHub, host: FakeHost) -> None:
    async with host.connected() as link:
        session_id = await host.session()
        await link.offer()
        await link.copy(session_id)
    async with viewer(served, {"type": "follow", "session": session_id, "as": "view"}) as socket:
        seen = await told(socket, "view")
        assert (seen["state"]["host_name"], seen["state"]["host_state"]) == ("build-box", "away")
        async with host.connected() as link:
            await link.offer()
            assert (await link.hear(wire.Watch)).on is True
            await told(socket, "view", lambda message: message["state"].get("host_state") == "connected")
        await told(socket, "view", lambda message: message["state"].get("host_state") == "away")


@pytest.mark.slow
async def test_the_list_shows_hosts_that_come_and_go(served: ServedHub, host: FakeHost) -> None:
    async with host.connected() as link:
        session_id = await host.session()
        await host.asks(session_id)
        await link.offer()
        await link.copy(session_id)
        async with viewer(served, {"type": "home"}) as socket:
            home = await told(socket, "home")
            assert [each["host_state"] for each in (*home["sessions"], *home["asks"])] == ["connected", "connected"]
            await link.socket.close()
            away = await told(socket, "home")
            assert [each["host_state"] for each in (*away["sessions"], *away["asks"])] == ["away", "away"]

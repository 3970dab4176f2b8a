"""What happens at the same moment: a channel that closes while somebody comes, a reader that knows more than it."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from typing import Any

import pytest
from starlette.websockets import WebSocket

from handrail.events import model as e
from handrail.server.calls import Caller
from handrail.server.live.channel import Channel
from handrail.server.live.channels import Channels, Shared
from handrail.server.live.follows import begin
from handrail.server.live.protocol import Follow
from handrail.server.live.timelines import Timelines
from handrail.server.live.view import Finisher, LiveView
from handrail.server.showing import Showing

from .support import PATIENCE, Client, Served, Writer
from .test_following import said


def parts(served: Served) -> tuple[Timelines, Finisher]:
    return Timelines(served.store), Finisher(served.store, Showing())


async def test_who_comes_just_when_a_channel_closes_gets_one_that_is_open(served: Served) -> None:
    writer = await Writer.begun(served.store)
    channels = Channels(served.manager, *parts(served), linger=0.0)
    channels.leave(await channels.join(writer.session_id))
    for _ in range(2):  # the time has come, and what closes it is about to begin
        await asyncio.sleep(0)
    shared = await channels.join(writer.session_id)
    await writer.write(said(1))
    async with asyncio.timeout(PATIENCE):
        while shared.channel.seq < 1:
            await asyncio.sleep(0.01)
    await channels.close()


async def lagging(served: Served, after: int) -> tuple[Writer, Channel, Any]:
    """A channel that knows three events of a session that has five, and somebody who has seen `after` of them."""
    writer = await Writer.begun(served.store)
    await writer.write(said(1, 2, 3))
    session = served.manager.session(writer.session_id)
    channel = Channel(session, served.store, await session.row())
    await writer.write(said(4, 5))
    shared = Shared(channel, LiveView(channel, *parts(served)), AsyncExitStack())
    return writer, channel, begin(Follow(session=writer.session_id, after=after), shared)


async def told(channel: Channel, following: Any, *, up_to: int) -> list[int]:
    seqs: list[int] = []
    async with asyncio.timeout(PATIENCE):
        while channel.seq < up_to or not following.is_current:
            seqs += [seq async for seq, _ in following.messages()]
            await asyncio.sleep(0.01)
    return seqs


@pytest.mark.slow
@pytest.mark.parametrize(("after", "expected"), [(5, [6]), (4, [5, 6]), (3, [4, 5, 6]), (500, [6])])
async def test_who_has_read_further_than_the_channel_is_told_nothing_twice(
    served: Served, after: int, expected: list[int]
) -> None:
    """500: the journal was restored from an older copy, so the number says nothing about what comes."""
    writer, channel, following = await lagging(served, after)
    assert [seq async for seq, _ in following.messages()] == []
    async with channel:
        await writer.write(said(6))
        seqs = await told(channel, following, up_to=6)
    # What writes here holds no lock: it may be taken for dead, and the journal be brought to an end.
    assert [seq for seq in seqs if seq <= 6] == expected


async def test_a_stop_does_not_wait_for_a_socket_that_never_opened(served: Served) -> None:
    reached, go_on = asyncio.Event(), asyncio.Event()

    async def receive() -> Any:
        reached.set()
        await go_on.wait()
        raise OSError("the connection is gone")

    async def send(message: Any) -> None:
        pass

    scope = {"type": "websocket", "path": "/api/live", "headers": [], "query_string": b""}
    caller = Caller(name="alice", role="owner", surface="api", token_id="t")
    serving = asyncio.create_task(served.live.serve(WebSocket(scope, receive, send), caller))
    await reached.wait()
    stopping = asyncio.create_task(served.live.stop())
    await asyncio.sleep(0)
    go_on.set()
    with pytest.raises(OSError, match="gone"):
        await serving
    await asyncio.wait_for(stopping, PATIENCE)


async def test_events_of_a_deleted_session_end(served: Served) -> None:
    writer = await Writer.begun(served.store)
    await writer.write([e.Text(block="m:0", text="gone soon")])
    channels = Channels(served.manager, *parts(served), linger=0.0)
    shared = await channels.join(writer.session_id)
    await served.manager.session(writer.session_id).delete()
    async with asyncio.timeout(PATIENCE):
        while not shared.channel.gone:
            await asyncio.sleep(0.01)
    channels.leave(shared)
    await channels.close()
    assert len(channels) == 0


@pytest.mark.parametrize("after", [-1, -(2**70), 2**70])
@pytest.mark.parametrize("form", ["events", "view"])
async def test_a_number_that_no_event_can_have_is_refused(served: Served, form: str, after: int) -> None:
    writer = await Writer.begun(served.store)
    await writer.write(said(1, 2))
    async with Client.connected(served.url) as client:
        await client.follow(writer.session_id, after, form=form)
        await client.until(lambda: bool(client.of("problem")))
        assert client.of("problem")[0]["code"] == "invalid"
        await client.follow(writer.session_id, 0, form=form)
        await client.until(lambda: bool(client.of("event") or client.of("view")))

"""Turns: text, partial messages, several messages, the same message twice."""

from __future__ import annotations

import asyncio
from uuid import uuid4

import pytest

from handrail.errors import LocalProtocolError
from handrail.protocol.frames import Assistant, Init, Result, StreamEvent, User
from handrail.protocol.launch import Options
from handrail.protocol.stream import ContentBlockDelta, TextDelta
from handrail.testing.cli_cache import ClaudeCLI
from handrail.testing.replies import Reply

from .support import Observe, World, by_version, said


async def test_a_text_turn_streams_its_text_in_pieces(world: World, observe: Observe) -> None:
    options = Options(include_partial_messages=True)
    async with world.live([Reply("Two and two is four.", deltas=4)], options=options) as live:
        async with live.client.turn("What is 2 + 2?") as turn:
            frames = [frame async for frame in turn]

        events = [frame.event for frame in frames if isinstance(frame, StreamEvent)]
        deltas = [event.delta for event in events if isinstance(event, ContentBlockDelta)]
        assert [type(delta) for delta in deltas] == [TextDelta] * 4
        assert "".join(delta.text for delta in deltas if isinstance(delta, TextDelta)) == "Two and two is four."
        assert [said(frame) for frame in frames if isinstance(frame, Assistant)] == ["Two and two is four."]
        assert isinstance(frames[-1], Result)
        assert turn.result is frames[-1]
        assert turn.result.ok
        assert turn.result.result == "Two and two is four."
        assert live.client.cli_version == world.cli.version
        assert live.client.session_id == turn.result.session_id
        names = [frame.event.type if isinstance(frame, StreamEvent) and frame.event else frame.type for frame in frames]
        before = names.index("assistant") < names.index("content_block_stop")
        observe("turns: assistant frame and its content_block_stop", "before it" if before else "after it")


async def test_without_partial_messages_there_are_no_stream_events(world: World) -> None:
    async with world.live(["Four."]) as live:
        result = await live.client.run("What is 2 + 2?")
        assert result.result == "Four."
        assert not live.all(StreamEvent)


async def test_every_turn_begins_with_an_init_frame(world: World, observe: Observe) -> None:
    async with world.live(["One.", "Two."]) as live:
        for said_so_far in ("One.", "Two."):
            assert (await live.client.run("Go on")).result == said_so_far
        observe("turns: init frames for two turns", str(len(live.all(Init))))
        assert live.all(Init)[0].permission_mode == "default"
        assert [message["role"] for message in live.model.requests_in()[1].messages].count("assistant") == 1


async def test_three_messages_in_quick_succession_all_end(world: World, cli: ClaudeCLI, observe: Observe) -> None:
    release = asyncio.Event()

    async def wait_for_the_others(request: object) -> str:
        await release.wait()
        return "First."

    async with world.live([wait_for_the_others, "Second.", "Third."]) as live:
        async with asyncio.TaskGroup() as group:
            first = group.create_task(live.client.run("one"))
            await live.model.wait_for_requests(1)
            second = group.create_task(live.client.run("two"))
            third = group.create_task(live.client.run("three"))
            # A control request is answered in order, so both messages have been read once it is.
            await live.client.control("mcp_status")
            release.set()
        results = [first.result(), second.result(), third.result()]
        assert all(result.ok for result in results)
        assert len(live.results) == by_version(cli, {"2.1.37": 3, "2.1.120": 2})
        observe("turns: results for three messages sent at once", str(len(live.results)))


async def test_the_same_uuid_runs_once(world: World, observe: Observe) -> None:
    async with world.live(["Once.", "Twice?"]) as live:
        uuid = str(uuid4())
        first = await live.client.run("Do it", uuid=uuid)
        assert first.result == "Once."
        await live.client.send("Do it", uuid=uuid)
        second = await live.client.run("Something else")
        assert second.result == "Twice?"
        asked = [request.last_text for request in live.model.requests_in()]
        assert len(asked) == 2
        assert "Something else" in asked[1]
        observe("turns: the same uuid sent twice", "runs once")


async def test_a_turn_whose_uuid_is_open_is_refused(world: World) -> None:
    async with world.live([Reply("…", hang_after=0)]) as live, live.client.turn("Wait") as turn:
        with pytest.raises(LocalProtocolError, match="sent before"):
            await live.client.run("Wait", uuid=turn.uuid)


async def test_messages_are_echoed_on_request(world: World, observe: Observe) -> None:
    async with world.live(["One.", "Two."], options=Options(replay_user_messages=True)) as live:
        uuid = str(uuid4())
        assert (await live.client.run("Go", uuid=uuid)).result == "One."
        assert (await live.client.run("Go on")).result == "Two."
        echoes = [frame for frame in live.all(User) if frame.is_replay]
        assert len(echoes) == 2
        observe("turns: echo of a message", "with its uuid" if echoes[0].uuid == uuid else "with another uuid")

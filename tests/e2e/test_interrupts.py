"""Interrupting: in the middle of a message, while an ask is open, and by leaving a turn early."""

from __future__ import annotations

import asyncio

from handrail.errors import MessageDropped
from handrail.protocol.asks import Allow, Answer, Ask
from handrail.protocol.frames import ControlCancelRequest, StreamEvent
from handrail.protocol.launch import Options
from handrail.protocol.stream import ContentBlockDelta
from handrail.testing.replies import Reply

from .support import DEADLINE, Observe, World, bash, outcome_of

STREAMING = Options(include_partial_messages=True)
ENDLESS = Reply("This sentence is never finished.", deltas=8, hang_after=3)


def is_delta(frame: StreamEvent) -> bool:
    return isinstance(frame.event, ContentBlockDelta)


async def test_interrupt_in_the_middle_of_a_message(world: World, observe: Observe) -> None:
    async with world.live([ENDLESS, "Yes?"], options=STREAMING) as live:
        async with live.client.turn("Talk") as turn:
            await live.nth(3, StreamEvent, is_delta)
            await live.client.interrupt()
            result = await turn.wait()
        assert not result.ok
        observe("interrupt: mid-stream", outcome_of(result))
        assert (await live.client.run("Hello?")).result == "Yes?"


async def test_interrupt_while_an_ask_is_pending_cancels_its_callback(world: World, observe: Observe) -> None:
    asked, cancelled = asyncio.Event(), asyncio.Event()

    async def never(ask: Ask) -> Answer:
        asked.set()
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()
        return Allow()

    async with world.live([bash("mkdir made"), "Yes?"], on_ask=never) as live:
        async with live.client.turn("Make a directory") as turn:
            await asyncio.wait_for(asked.wait(), DEADLINE)
            assert len(live.client.asks) == 1
            await live.client.interrupt()
            result = await turn.wait()
        await asyncio.wait_for(cancelled.wait(), DEADLINE)
        assert not live.client.asks
        assert not result.ok
        assert not (world.cwd / "made").exists()
        told = "control_cancel_request" if live.all(ControlCancelRequest) else "nothing"
        observe("interrupt: while an ask is pending", f"{told}, then {outcome_of(result)}")
        assert (await live.client.run("Hello?")).result == "Yes?"


async def test_leaving_a_turn_early_interrupts_it(world: World) -> None:
    async with world.live([ENDLESS, "Yes?"], options=STREAMING) as live:
        async with live.client.turn("Talk") as turn:
            async for frame in turn:
                if isinstance(frame, StreamEvent) and is_delta(frame):
                    break
        assert turn.ended
        assert (await live.client.run("Hello?")).result == "Yes?"


async def test_interrupt_of_an_idle_session(world: World, observe: Observe) -> None:
    async with world.live(["One.", "Two."]) as live:
        assert (await live.client.run("Go")).result == "One."
        before = len(live.results)
        await live.client.interrupt()
        assert (await live.client.run("Go on")).result == "Two."
        observe("interrupt: of an idle session", f"{len(live.results) - before - 1} extra result(s)")


async def test_messages_that_wait_behind_an_interrupted_turn(world: World, observe: Observe) -> None:
    async with world.live([ENDLESS, "Now you."], options=STREAMING) as live:
        async with live.client.turn("Talk") as first:
            await live.nth(1, StreamEvent, is_delta)
            async with live.client.turn("And then this") as second:
                await live.client.control("mcp_status")
                await live.client.interrupt()
                await first.wait()
                try:
                    fate = f"runs afterwards: {outcome_of(await second.wait())}"
                except MessageDropped as dropped:
                    fate = str(dropped)
        observe("interrupt: with a message queued behind the turn", fate)
        assert first.ended

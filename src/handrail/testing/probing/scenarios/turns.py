"""Turns: text in pieces, what a result has, messages that wait, messages that are sent twice, and an interrupt."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from uuid import uuid4

from handrail.errors import HandrailError
from handrail.protocol.frames import CommandLifecycle, Result, SessionStateChanged, StreamEvent
from handrail.protocol.options import Options
from handrail.protocol.stream import ContentBlockDelta, TextDelta
from handrail.testing.model_request import ModelRequest
from handrail.testing.probing.behaviours import Behaviour, Scenario
from handrail.testing.probing.stage import Live, Replies, Stage, listed_names, outcome_of
from handrail.testing.replies import Reply

__all__ = ["TURNS"]

ANSWERED = Behaviour(
    name="turns: a message and its result",
    need="breaks",
    otherwise="nothing that Claude says is seen, and no run ends",
)
PIECES = Behaviour(
    name="turns: text in pieces",
    need="degrades",
    otherwise="text appears only when a message is complete",
)
RESULT_FIELDS = Behaviour(
    name="turns: what a result has",
    need="breaks",
    otherwise="it is not known what a run came to, or what it cost: budgets do not hold",
    is_list=True,
)
TWICE = Behaviour(
    name="turns: the same uuid twice",
    need="breaks",
    otherwise="a message that is sent again after a cut runs a second time",
)
QUEUED = Behaviour(
    name="turns: messages behind a turn",
    need="breaks",
    otherwise="messages that are sent while Claude works are lost",
    copes="runs are not paired with messages one to one: messages that are merged share a run",
)
LIFECYCLE = Behaviour(
    name="turns: what is told of a message",
    need="degrades",
    otherwise="which run a message belongs to is inferred from the order of results",
    copes="inferred from the order of results where it is not told",
    is_list=True,
)
STATES = Behaviour(
    name="turns: what is told of the session's state",
    need="degrades",
    otherwise="the end of the last queued run is noticed two seconds late",
    copes="after two quiet seconds the session counts as idle",
    is_list=True,
)
INTERRUPT = Behaviour(
    name="turns: an interrupt in the middle of a message",
    need="breaks",
    otherwise="a run cannot be interrupted, or the session ends with it",
)

NEEDED_OF_RESULT = {"subtype", "is_error", "session_id", "usage", "total_cost_usd", "duration_ms", "num_turns"}
PASSING = {"type", "uuid"}
STREAMING = Options(include_partial_messages=True)
TEXT = "Two and two is four."


async def play(stage: Stage) -> None:
    release = asyncio.Event()

    async def hold(request: ModelRequest) -> str:
        await release.wait()
        return "First."

    replies: Replies = {
        "What is 2 + 2?": [Reply(TEXT, deltas=4)],
        "Do it": ["Done."],
        "Something else": ["Else."],
        "one of three": [hold],
        "two of three": ["Second."],
        "three of three": ["Third."],
        "Talk": [Reply("This sentence is never finished.", deltas=8, hang_after=3)],
        "Hello?": ["Yes?"],
    }
    async with stage.live(replies, options=STREAMING) as live:
        await _one_turn(stage, live)
        await _the_same_message_twice(stage, live)
        await _three_messages(stage, live, release)
        await _interrupted(stage, live)


async def _one_turn(stage: Stage, live: Live) -> None:
    result = await live.run("What is 2 + 2?")
    told = TEXT in live.said()
    stage.see(ANSWERED, result.ok and told and result.result == TEXT, outcome_of(result))
    events = [frame.event for frame in live.all(StreamEvent)]
    pieces = [
        event.delta.text
        for event in events
        if isinstance(event, ContentBlockDelta) and isinstance(event.delta, TextDelta)
    ]
    whole = "".join(pieces) == TEXT
    stage.see(PIECES, whole, f"as they come, {_order(live)}" if whole else f"{len(pieces)} pieces")
    fields = {name for name in live.all(Result)[0].data if name not in PASSING and not _is_timing(name)}
    stage.see(RESULT_FIELDS, fields >= NEEDED_OF_RESULT, listed_names(fields))


def _is_timing(name: str) -> bool:
    """Which moments are measured depends on what happened to be waited for."""
    return name.endswith("_ms") and not name.startswith("duration")


def _order(live: Live) -> str:
    names = [
        frame.event.type if isinstance(frame, StreamEvent) and frame.event else frame.type
        for frame in live.transport.log.frames
    ]
    before = names.index("assistant") < names.index("content_block_stop")
    return f"the whole message {'before' if before else 'after'} the end of its block"


async def _the_same_message_twice(stage: Stage, live: Live) -> None:
    uuid = str(uuid4())
    await live.run("Do it", uuid=uuid)
    before = len(live.model.requests_in())
    await live.client.send("Do it", uuid=uuid)
    result = await live.run("Something else")
    once = len(live.model.requests_in()) == before + 1 and result.result == "Else."
    stage.see(TWICE, once, "runs once" if once else "runs twice")


async def _three_messages(stage: Stage, live: Live, release: asyncio.Event) -> None:
    results_before, told_before = len(live.all(Result)), len(live.all(CommandLifecycle))
    requests = len(live.model.requests_in())
    async with asyncio.timeout(live.patience), AsyncExitStack() as stack:
        first = await stack.enter_async_context(live.client.turn("one of three"))
        await live.model.wait_for(lambda model: len(model.requests_in()) > requests, timeout=live.patience)
        second = await stack.enter_async_context(live.client.turn("two of three"))
        third = await stack.enter_async_context(live.client.turn("three of three"))
        # A control request is answered in order, so both messages have been read once it is.
        await live.client.control("mcp_status")
        release.set()
        works = all([(await turn.wait()).ok for turn in (first, second, third)])
    results = len(live.all(Result)) - results_before
    stage.see(QUEUED, works, f"all are answered, with {results} results" if works else "not all are answered")
    states = {frame.state for frame in live.all(CommandLifecycle)[told_before:]}
    stage.see(LIFECYCLE, {"started", "completed"} <= states, listed_names(states))
    states = {frame.state for frame in live.all(SessionStateChanged)}
    stage.see(STATES, "idle" in states, listed_names(states))


async def _interrupted(stage: Stage, live: Live) -> None:
    streamed, results = len(live.all(StreamEvent)), len(live.all(Result))
    await live.client.send("Talk")
    await live.nth(streamed + 4, StreamEvent)
    await live.client.interrupt()
    result = await live.nth(results + 1, Result)
    try:
        lives = (await live.run("Hello?")).result == "Yes?"
    except HandrailError:
        lives = False
    stage.see(
        INTERRUPT, lives and not result.ok, f"{outcome_of(result)}, the session {'goes on' if lives else 'is over'}"
    )


TURNS = Scenario("turns", (ANSWERED, PIECES, RESULT_FIELDS, TWICE, QUEUED, LIFECYCLE, STATES, INTERRUPT), play)

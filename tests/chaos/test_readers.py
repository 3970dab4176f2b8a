"""Readers that come and go while a session writes: none misses an event, none sees one twice, none holds it up."""

from __future__ import annotations

import asyncio
import random
from contextlib import aclosing
from pathlib import Path

import pytest

from handrail.events.model import Completed, Delta, Text
from handrail.protocol.options import Options
from handrail.sessions.manager import Manager
from handrail.sessions.session import Session
from handrail.testing import simulated as sim
from handrail.testing.simulated import SimulatedCLI

from .fault_story import PATIENCE, until
from .support import following, places_in

EVENTS = 20_000
READERS = 20

SAID = {
    "type": "assistant",
    "session_id": "$session",
    "uuid": "$uuid",
    "parent_tool_use_id": None,
    "message": {
        "id": "$message",
        "type": "message",
        "role": "assistant",
        "model": "claude-opus-5-5",
        "content": [{"type": "text", "text": "one more line"}],
        "stop_reason": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    },
}
DELTA = {
    "type": "stream_event",
    "event": {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "x"}},
    "session_id": "$session",
    "uuid": "$uuid",
    "parent_tool_use_id": None,
}


async def read_in_pieces(session: Session, chance: random.Random) -> list[int]:
    """Follow a session to its end, leaving and coming back with the last number all the time."""
    seen: list[int] = []
    while True:
        stay = chance.randrange(1, 3_000)
        async with aclosing(session.subscribe(seen[-1] if seen else 0)) as items:
            async for item in items:
                if isinstance(item, Delta):
                    continue
                seen.append(item.seq)
                if isinstance(item, Completed):
                    return seen
                stay -= 1
                if stay == 0:
                    break
        await asyncio.sleep(chance.choice([0, 0, 0.001, 0.02]))


@pytest.mark.slow
@pytest.mark.timeout(300)
async def test_readers_that_come_and_go_see_every_event_once(tmp_path: Path) -> None:
    flood = [sim.repeat(EVENTS // 200, sim.flood(200, SAID), sim.flood(50, DELTA))]
    cli = SimulatedCLI([sim.turn(*flood, "the end")], directory=tmp_path)
    async with Manager.local(places_in(tmp_path)) as manager:
        session = await manager.start(Options(cli_path=str(cli.path), cwd=str(tmp_path)))
        # Subscribed, and never read again after the first item.
        idle = session.subscribe()
        readers = [asyncio.create_task(read_in_pieces(session, random.Random(seed))) for seed in range(READERS)]
        await session.send("go")
        await anext(idle)
        seen = await asyncio.gather(*readers)
        events = [item async for item in session.subscribe(deltas=False, follow=False)]
        assert len([event for event in events if isinstance(event, Text)]) >= EVENTS
        last = next(event.seq for event in events if isinstance(event, Completed))
        for numbers in seen:
            assert numbers == list(range(1, last + 1))
        await idle.aclose()


@pytest.mark.slow
async def test_a_reader_that_stays_sees_what_another_owner_added_meanwhile(tmp_path: Path) -> None:
    cli = SimulatedCLI(directory=tmp_path)
    places = places_in(tmp_path)
    async with Manager.local(places) as here, Manager.local(places) as there:
        session = await here.start(Options(cli_path=str(cli.path), cwd=str(tmp_path)))
        await session.run("one")
        await session.stop()
        before = (await session.row()).last_seq
        async with asyncio.timeout(PATIENCE), following(session) as seen:
            await until(lambda: len(seen) == before)
            elsewhere = await there.resume(session.id)
            await elsewhere.run("two")
            await elsewhere.stop()
            await here.resume(session.id)
            await session.run("three")
            last = (await session.row()).last_seq
            await until(lambda: last in seen)
            assert seen == list(range(1, len(seen) + 1))

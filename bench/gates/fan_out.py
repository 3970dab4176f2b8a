"""What viewers cost: the same conversation shown to 1, 10 and 100 people over WebSockets."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from itertools import islice
from typing import Any, cast

import msgspec

from bench import traffic
from bench.common import ROOT, Contender, Place, Samples, SessionGate, Verdict, clean_environment, cpu_seconds
from bench.contenders import Client
from bench.contenders.halls import HallModule
from handrail.events.model import Delta, Event
from handrail.events.translate import Translator
from handrail.protocol.codec import decode_line

__all__ = ["FanOut", "watched"]

RATE = 500.0
"""Frames a second: ten sessions' worth in one, so that a run is over soon."""
AT_ONCE = 5

EVENTS = Contender("handrail, events", "hall_handrail", look="events")
VIEW = Contender("handrail, a view", "hall_handrail", look="view")
NAIVE = Contender("a send each, json", "hall_naive")
FLOOR = Contender("prepared bytes", "hall_floor")


class FanOut(SessionGate):
    """A conversation at a steady pace; CPU of the process that shows it, for each frame and viewer."""

    contenders = (EVENTS, VIEW, NAIVE, FLOOR)
    rounds = 3
    quick_rounds = 1

    def __init__(self, viewers: int, frames: int) -> None:
        self.name = f"fan-out-{viewers}"
        self.title = f"fan-out to {viewers} viewer{'s' if viewers > 1 else ''} over WebSocket: CPU per frame"
        self._viewers = viewers
        self._frames = frames

    def prepare(self, place: Place, *, quick: bool) -> None:
        count = self._frames // 4 if quick else self._frames
        played = traffic.one_turn(traffic.conversation(count))
        place.write("saturated", played, frames=count + 2)

    async def measure(self, client: Client, contender: Contender, place: Place) -> Mapping[str, float]:
        items = list(_items((place.path / "traffic").read_bytes()))
        module = cast(HallModule, client)
        async with module.hall(contender.look) as hall:
            if hasattr(hall, "prepare"):
                hall.prepare(items)
            async with watched(hall.url, self._viewers, hall.first) as people:
                before = cpu_seconds()
                await _play(hall, items)
                messages = await people.done()
                spent = cpu_seconds() - before
        frames = place.settings()["frames"]
        return {"us_per_frame": spent / frames * 1e6, "messages": messages / self._viewers / frames}

    def verdicts(self, samples: Samples) -> list[Verdict]:
        def ratios(above: Contender, below: Contender) -> list[float]:
            return samples.ratios("us_per_frame", above.name, below.name)

        return [
            Verdict("events: less than a send and a json.dumps each", ratios(NAIVE, EVENTS)),
            Verdict("a view: less than a send and a json.dumps each", ratios(NAIVE, VIEW)),
            Verdict("events: of prepared bytes, a message a frame", ratios(EVENTS, FLOOR)),
            Verdict("a view: of prepared bytes, a message a frame", ratios(VIEW, FLOOR)),
            Verdict("events: messages a frame and viewer", samples.values("messages", EVENTS.name), unit=""),
            Verdict("a view: messages a frame and viewer", samples.values("messages", VIEW.name), unit=""),
        ]


async def _play(hall: Any, items: Sequence[Event | Delta]) -> None:
    """A few frames at a time, as a pipe delivers them."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    waiting = iter(items)
    shown = 0
    while some := list(islice(waiting, AT_ONCE)):
        await hall.show(some)
        shown += len(some)
        await asyncio.sleep(max(0.0, began + shown / RATE - loop.time()))


def _items(played: bytes) -> Iterator[Event | Delta]:
    """What the frames mean, numbered as a journal numbers it."""
    translator = Translator()
    seq = 0
    for line in played.splitlines():
        for item in translator.receive(decode_line(line)):
            if isinstance(item, Delta):
                yield msgspec.structs.replace(item, after=seq)
            else:
                seq += 1
                yield msgspec.structs.replace(item, seq=seq, at=float(seq))


class People:
    """Viewers in a process of their own."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    async def line(self) -> list[str]:
        assert self._process.stdout is not None
        words = (await self._process.stdout.readline()).decode().split()
        assert words, "the viewers ended before the end"
        return words

    async def done(self) -> int:
        """Wait until each has seen the end; how many messages they got."""
        words = await self.line()
        assert words[0] == "done", words
        return int(words[1])


@asynccontextmanager
async def watched(url: str, count: int, first: str) -> AsyncIterator[People]:
    """So many viewers, ready."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "bench.viewers", url, str(count), first),
        cwd=ROOT,
        env=clean_environment(),
        stdout=asyncio.subprocess.PIPE,
    )
    people = People(process)
    try:
        assert await people.line() == ["ready"]
        yield people
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()

"""How much later it is seen, and answered, through host and hub than in the process that runs the session."""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import cast

from bench import traffic
from bench.common import Contender, Place, Samples, SessionGate, Verdict
from bench.contenders import Client
from bench.contenders.works import WorksModule
from bench.gates.relay import HUB, LOCAL
from handrail import Allow
from handrail.events.model import AskOpened, Completed, Delta, Text
from handrail.sessions.session import Session

__all__ = ["RelayLatency"]

RATE = 50
WARM_UP = 5
KINDS = {"delta": "a delta", "event": "an event", "ask": "a question", "decision": "a decision"}


class RelayLatency(SessionGate):
    """From when the CLI wrote it to when a reader has it; of decisions, from the call to when the CLI has it."""

    name = "relay-latency"
    title = f"through host and hub, {RATE} frames/s: latency"
    contenders = (LOCAL, HUB)
    rounds = 3
    quick_rounds = 1

    def prepare(self, place: Place, *, quick: bool) -> None:
        count = WARM_UP + (40 if quick else 150)
        place.write("moments", traffic.one_turn(traffic.moments(count)), moments=count, rate=RATE)

    async def measure(self, client: Client, contender: Contender, place: Place) -> Mapping[str, float]:
        async with cast(WorksModule, client).works(str(place.cli), 1) as works:
            (session,) = await works.start(1)
            seen = await _follow(session)
        measured: dict[str, float] = {}
        for kind, times in _latencies(place.path, seen).items():
            hundredths = statistics.quantiles(times, n=100)
            measured |= {f"{kind}_p50_us": hundredths[49] / 1e3, f"{kind}_p99_us": hundredths[98] / 1e3}
        return measured

    def verdicts(self, samples: Samples) -> list[Verdict]:
        def added(metric: str) -> list[float]:
            pairs = zip(samples.values(metric, HUB.name), samples.values(metric, LOCAL.name), strict=True)
            return [(hub - local) / 1e3 for hub, local in pairs]

        verdicts = []
        for kind, words in KINDS.items():
            p50, p99 = f"{kind}_p50_us", f"{kind}_p99_us"
            verdicts += [
                Verdict(f"{words}, of local, p50", samples.ratios(p50, HUB.name, LOCAL.name), digits=1),
                Verdict(f"{words}, of local, p99", samples.ratios(p99, HUB.name, LOCAL.name), digits=1),
                Verdict(f"{words}, added, p50", added(p50), unit=" ms", digits=1),
            ]
        return verdicts


class _Seen:
    """When a reader had what: the first of each, in nanoseconds of the clock that the CLI notes."""

    def __init__(self) -> None:
        self.deltas: dict[int, int] = {}
        self.events: dict[int, int] = {}
        self.asks: list[int] = []
        self.decided: list[int] = []


async def _follow(session: Session) -> _Seen:
    """Read to the end, and allow what is asked."""
    seen = _Seen()
    async with asyncio.TaskGroup() as group, aclosing(session.subscribe()) as items:
        group.create_task(session.send("go"))
        async for item in items:
            now = time.perf_counter_ns()
            if isinstance(item, Delta):
                seen.deltas.setdefault(_number(item.text), now)
            elif isinstance(item, Text):
                seen.events.setdefault(_number(item.text), now)
            elif isinstance(item, AskOpened):
                seen.asks.append(now)
                group.create_task(_allow(session, item, seen))
            elif isinstance(item, Completed):
                return seen
    raise AssertionError("the session ended before its run")


async def _allow(session: Session, ask: AskOpened, seen: _Seen) -> None:
    seen.decided.append(time.perf_counter_ns())
    await session.decide(ask.ask_id, Allow(), digest=ask.digest)


def _number(text: str) -> int:
    return int(text.split(" ", 1)[0])


def _latencies(directory: Path, seen: _Seen) -> dict[str, Sequence[int]]:
    """Nanoseconds, without those of the first moments."""
    noted = [[int(word) for word in line.split()] for line in (directory / "moments").read_text().splitlines()]
    moments = range(WARM_UP, len(noted))
    assert len(seen.asks) == len(noted), f"{len(seen.asks)} of {len(noted)} questions were seen"
    return {
        "delta": [seen.deltas[n] - noted[n][0] for n in moments if n in seen.deltas],
        "event": [seen.events[n] - noted[n][1] for n in moments],
        "ask": [seen.asks[n] - noted[n][2] for n in moments],
        "decision": [noted[n][3] - seen.decided[n] for n in moments],
    }

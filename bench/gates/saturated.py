"""Fifty sessions that all write as fast as they are read: CPU, fairness, and how long the event loop is held up."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence

from bench import traffic
from bench.common import AT_LEAST, AT_MOST, Contender, Place, Samples, SessionGate, Verdict, cpu_seconds
from bench.contenders import Client, Tally
from bench.gates.sessions import consume_all, opened

SESSIONS = 50
TICK = 0.002

HANDRAIL = Contender("handrail", "handrail")
SDK = Contender("agent-sdk", "agent_sdk")


class Saturated(SessionGate):
    name = "saturated"
    title = f"{SESSIONS} sessions, saturated: CPU per frame, fairness, stall of the loop"
    contenders = (HANDRAIL, SDK)
    rounds = 5
    quick_rounds = 1

    def prepare(self, place: Place, *, quick: bool) -> None:
        frames = 400 if quick else 1_500
        place.write("saturated", traffic.one_turn(traffic.mix(frames)), frames=frames + 2)

    async def measure(self, client: Client, contender: Contender, place: Place) -> Mapping[str, float]:
        frames = int(place.settings()["frames"])
        tallies = [Tally() for _ in range(SESSIONS)]
        watch = Watch(tallies, half=frames * SESSIONS // 2)
        async with opened(client, place, SESSIONS) as sessions:
            watch.start()
            before = cpu_seconds()
            await consume_all(sessions, contender.look, tallies)
            spent = cpu_seconds() - before
            watch.stop()
        return {
            "us_per_frame": spent / (frames * SESSIONS) * 1e6,
            "fairness": jain(watch.at_half),
            "stall_ms": watch.longest_stall * 1e3,
            "hold_ms": watch.longest_hold * 1e3,
        }

    def verdicts(self, samples: Samples) -> list[Verdict]:
        return [
            Verdict("less CPU than agent-sdk", samples.ratios("us_per_frame", SDK.name, HANDRAIL.name), AT_LEAST, 5.0),
            Verdict("Jain fairness", samples.values("fairness", HANDRAIL.name), AT_LEAST, 0.999, unit="", digits=4),
            Verdict("Jain fairness of agent-sdk", samples.values("fairness", SDK.name), unit="", digits=4),
            Verdict(
                "of agent-sdk, longest stall in CPU", samples.ratios("hold_ms", HANDRAIL.name, SDK.name), AT_MOST, 1.0
            ),
            Verdict("of agent-sdk, longest stall by the clock", samples.ratios("stall_ms", HANDRAIL.name, SDK.name)),
        ]


class Watch:
    """A timer that notes how late it fires, and how far each session is when half of all frames have come.

    By the clock it is late also when fifty CLIs compete for the processor; in CPU time only the callbacks count.
    """

    def __init__(self, tallies: Sequence[Tally], half: int) -> None:
        self._tallies = tallies
        self._half = half
        self.at_half: list[int] = []
        self.longest_stall = 0.0
        self.longest_hold = 0.0

    def start(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._schedule()

    def stop(self) -> None:
        self._timer.cancel()

    def _schedule(self) -> None:
        self._due = self._loop.time() + TICK
        self._cpu = time.thread_time()
        self._timer = self._loop.call_at(self._due, self._tick)

    def _tick(self) -> None:
        self.longest_stall = max(self.longest_stall, self._loop.time() - self._due)
        self.longest_hold = max(self.longest_hold, time.thread_time() - self._cpu)
        counts = [tally.frames for tally in self._tallies]
        if not self.at_half and sum(counts) >= self._half:
            self.at_half = counts
        self._schedule()


def jain(shares: Sequence[int]) -> float:
    """1 if all have the same, 1/n if one has all."""
    return sum(shares) ** 2 / (len(shares) * sum(share * share for share in shares))

"""Fifty sessions at the pace of a model that streams: what wake-ups cost."""

from __future__ import annotations

from collections.abc import Mapping

from bench import traffic
from bench.common import AT_LEAST, AT_MOST, Contender, Place, Samples, SessionGate, Verdict, cpu_seconds
from bench.contenders import Client, Tally
from bench.gates.sessions import consume_all, opened

SESSIONS = 50
RATE = 50

HANDRAIL = Contender("handrail", "handrail")
HANDRAIL_UVLOOP = Contender("handrail, uvloop", "handrail", loop="uvloop")
SDK = Contender("agent-sdk", "agent_sdk")
SDK_UVLOOP = Contender("agent-sdk, uvloop", "agent_sdk", loop="uvloop")
BARE = Contender("bare asyncio", "bare_asyncio")


class Paced(SessionGate):
    name = "paced"
    title = f"{SESSIONS} sessions × {RATE} frames/s of the mix: CPU per frame"
    contenders = (HANDRAIL, SDK, BARE, HANDRAIL_UVLOOP, SDK_UVLOOP)
    rounds = 5
    quick_rounds = 1

    def prepare(self, place: Place, *, quick: bool) -> None:
        seconds = 2 if quick else 4
        place.write("paced", traffic.one_turn(traffic.mix(RATE * seconds)), rate=RATE)

    async def measure(self, client: Client, contender: Contender, place: Place) -> Mapping[str, float]:
        tallies = [Tally() for _ in range(SESSIONS)]
        async with opened(client, place, SESSIONS) as sessions:
            before = cpu_seconds()
            await consume_all(sessions, contender.look, tallies)
            spent = cpu_seconds() - before
        return {"us_per_frame": spent / sum(tally.frames for tally in tallies) * 1e6}

    def verdicts(self, samples: Samples) -> list[Verdict]:
        def ratios(above: Contender, below: Contender) -> list[float]:
            return samples.ratios("us_per_frame", above.name, below.name)

        return [
            Verdict("less than agent-sdk", ratios(SDK, HANDRAIL), AT_LEAST, 2.5),
            Verdict("of bare asyncio (64 KB reads, nothing decoded)", ratios(HANDRAIL, BARE), AT_MOST, 1.7),
            Verdict("less than agent-sdk, Handrail on uvloop", ratios(SDK, HANDRAIL_UVLOOP), AT_LEAST, 3.3),
            Verdict("less than agent-sdk, both on uvloop", ratios(SDK_UVLOOP, HANDRAIL_UVLOOP)),
        ]

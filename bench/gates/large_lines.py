"""A line of many megabytes, such as a tool result with a large file: CPU and the peak of memory."""

from __future__ import annotations

from collections.abc import Mapping

from bench import traffic
from bench.common import AT_LEAST, AT_MOST, Contender, Place, Samples, SessionGate, Verdict, cpu_seconds
from bench.contenders import Client, Tally
from bench.gates.memory import Peak

MEGABYTE = 1_000_000

HANDRAIL = Contender("handrail", "handrail")
SDK = Contender("agent-sdk", "agent_sdk")
READ = Contender("raw read", "floor", look="read")


class LargeLines(SessionGate):
    contenders = (HANDRAIL, SDK, READ)
    rounds = 7
    quick_rounds = 1

    def __init__(self, name: str, megabytes: int, *, plain: bool) -> None:
        self.name = name
        self.title = f"a line of {megabytes} MB, {'all ASCII' if plain else 'not all of it ASCII'}"
        self._size = megabytes * MEGABYTE
        self._plain = plain

    def prepare(self, place: Place, *, quick: bool) -> None:
        place.write("saturated", traffic.one_turn([traffic.big_line(self._size, plain=self._plain)]))

    async def measure(self, client: Client, contender: Contender, place: Place) -> Mapping[str, float]:
        async with client.session(str(place.cli)) as session:
            peak = Peak()
            before = cpu_seconds()
            await session.consume(Tally(), contender.look)
            spent = cpu_seconds() - before
        return {
            "ms_per_line": spent * 1e3,
            "peak_rise": peak.rise(),
            "peak_total": peak.total(),
        }

    def verdicts(self, samples: Samples) -> list[Verdict]:
        return [
            Verdict("less CPU than agent-sdk", samples.ratios("ms_per_line", SDK.name, HANDRAIL.name), AT_LEAST, 2.0),
            Verdict("of raw read, CPU", samples.ratios("ms_per_line", HANDRAIL.name, READ.name), AT_MOST, 6.0),
            Verdict(
                "of agent-sdk, memory above idle", samples.ratios("peak_rise", HANDRAIL.name, SDK.name), AT_MOST, 0.5
            ),
            Verdict(
                "of agent-sdk, memory of the whole process",
                samples.ratios("peak_total", HANDRAIL.name, SDK.name),
                AT_MOST,
                0.5,
            ),
        ]

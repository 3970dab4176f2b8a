"""How long the CLI waits for an answer to a permission request that is allowed at once."""

from __future__ import annotations

import statistics
from collections.abc import Mapping

from bench import traffic
from bench.common import AT_MOST, Contender, Place, Samples, SessionGate, Verdict, cpu_seconds
from bench.contenders import Client, Tally
from bench.fake_cli import WARM_UP

HANDRAIL = Contender("handrail", "handrail")
JOURNALLED = Contender("handrail, journalled", "journal")
SDK = Contender("agent-sdk", "agent_sdk")
STREAMS = Contender("bare asyncio", "streams")
CALLBACK = Contender("bare callback", "bare_asyncio")


class Permission(SessionGate):
    name = "permission"
    title = "permission round trip, seen by the CLI"
    contenders = (HANDRAIL, SDK, STREAMS, CALLBACK, JOURNALLED)
    rounds = 11

    def prepare(self, place: Place, *, quick: bool) -> None:
        place.write("asks", traffic.ending(), asks=1_000 if quick else 3_000)

    async def measure(self, client: Client, contender: Contender, place: Place) -> Mapping[str, float]:
        async with client.session(str(place.cli)) as session:
            before = cpu_seconds()
            await session.consume(Tally(), contender.look)
            spent = cpu_seconds() - before
        times = place.latencies()
        hundredths = statistics.quantiles(times, n=100)
        return {
            "p50_us": hundredths[49] / 1e3,
            "p99_us": hundredths[98] / 1e3,
            "cpu_us": spent / (len(times) + WARM_UP) * 1e6,
        }

    def verdicts(self, samples: Samples) -> list[Verdict]:
        def ratios(metric: str, below: Contender, *, above: Contender = HANDRAIL) -> list[float]:
            return samples.ratios(metric, above.name, below.name)

        return [
            Verdict("of agent-sdk, p50", ratios("p50_us", SDK), AT_MOST, 0.70),
            Verdict("of agent-sdk, p99", ratios("p99_us", SDK), AT_MOST, 0.75),
            Verdict("of bare asyncio (streams, a task that reads), p50", ratios("p50_us", STREAMS), AT_MOST, 1.2),
            Verdict("of a protocol that answers in its callback, p50", ratios("p50_us", CALLBACK)),
            Verdict("of agent-sdk, CPU", ratios("cpu_us", SDK)),
            Verdict("journalled, of the plain client, p50", ratios("p50_us", HANDRAIL, above=JOURNALLED)),
            Verdict("journalled, of the plain client, p99", ratios("p99_us", HANDRAIL, above=JOURNALLED)),
            Verdict("journalled, of the plain client, CPU", ratios("cpu_us", HANDRAIL, above=JOURNALLED)),
            Verdict("journalled, of agent-sdk, p50", ratios("p50_us", SDK, above=JOURNALLED)),
        ]

"""One session that writes as fast as it is read: CPU for each frame delivered."""

from __future__ import annotations

from collections.abc import Mapping

from bench import traffic
from bench.common import AT_LEAST, AT_MOST, Contender, Place, Samples, SessionGate, Verdict, cpu_seconds
from bench.contenders import Client, Tally

HANDRAIL = Contender("handrail", "handrail")
HANDRAIL_RAW = Contender("handrail, raw", "handrail", look="raw")
HANDRAIL_CONTENT = Contender("handrail, content", "handrail", look="content")
SDK = Contender("agent-sdk", "agent_sdk")
SDK_CONTENT = Contender("agent-sdk, content", "agent_sdk", look="content")
DECODE = Contender("typed decode", "floor", look="decode")


class Streaming(SessionGate):
    """A turn from a saturated pipe."""

    async def measure(self, client: Client, contender: Contender, place: Place) -> Mapping[str, float]:
        tally = Tally()
        async with client.session(str(place.cli)) as session:
            before = cpu_seconds()
            await session.consume(tally, contender.look)
            spent = cpu_seconds() - before
        expected = place.settings()["frames"]
        assert tally.frames == expected, f"{tally.frames} frames came, not {expected:.0f}"
        return {"us_per_frame": spent / tally.frames * 1e6}


class Mix(Streaming):
    name = "mix"
    title = "mix, saturated: CPU per frame"
    contenders = (HANDRAIL, SDK, DECODE, HANDRAIL_RAW, HANDRAIL_CONTENT, SDK_CONTENT)

    def prepare(self, place: Place, *, quick: bool) -> None:
        frames = 5_000 if quick else 20_000
        place.write("saturated", traffic.one_turn(traffic.mix(frames)), frames=frames + 2)

    def verdicts(self, samples: Samples) -> list[Verdict]:
        def ratios(above: Contender, below: Contender) -> list[float]:
            return samples.ratios("us_per_frame", above.name, below.name)

        return [
            Verdict("less than agent-sdk", ratios(SDK, HANDRAIL), AT_LEAST, 5.0),
            Verdict("of typed decode", ratios(HANDRAIL, DECODE), AT_MOST, 2.0),
            Verdict("less than agent-sdk, both read the content", ratios(SDK_CONTENT, HANDRAIL_CONTENT), AT_LEAST, 5.0),
            Verdict("less than agent-sdk, `.raw` of every frame read", ratios(SDK, HANDRAIL_RAW)),
            Verdict("of typed decode, `.raw` of every frame read", ratios(HANDRAIL_RAW, DECODE)),
        ]


class Deltas(Streaming):
    name = "deltas"
    title = "deltas only, saturated: CPU per frame"
    contenders = (HANDRAIL, SDK, DECODE, HANDRAIL_RAW)

    def prepare(self, place: Place, *, quick: bool) -> None:
        frames = 10_000 if quick else 40_000
        place.write("saturated", traffic.one_turn(traffic.deltas(frames)), frames=frames + 2)

    def verdicts(self, samples: Samples) -> list[Verdict]:
        def ratios(above: Contender, below: Contender) -> list[float]:
            return samples.ratios("us_per_frame", above.name, below.name)

        return [
            Verdict("less than agent-sdk", ratios(SDK, HANDRAIL), AT_LEAST, 10.0),
            Verdict("of typed decode", ratios(HANDRAIL, DECODE), AT_MOST, 2.5),
            Verdict("less than agent-sdk, `.raw` of every frame read", ratios(SDK, HANDRAIL_RAW)),
            Verdict("of typed decode, `.raw` of every frame read", ratios(HANDRAIL_RAW, DECODE)),
        ]

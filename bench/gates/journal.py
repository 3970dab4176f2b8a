"""What the journal costs: the same conversation through the plain client, and through a session that keeps it."""

from __future__ import annotations

from collections.abc import Mapping

from bench import traffic
from bench.common import AT_LEAST, Contender, Place, Samples, SessionGate, Verdict, cpu_seconds
from bench.contenders import VIEWERS, Client, Tally
from bench.gates.sessions import consume_all, opened

RATE = 50

PLAIN = Contender("handrail, plain", "handrail")
JOURNALLED = Contender("handrail, journalled", "journal")
SDK = Contender("agent-sdk", "agent_sdk")
VIEWED = Contender("handrail, journalled", "journal", look="viewers")
SDK_THREAD = Contender("agent-sdk, a thread", "agent_sdk_stored", look="viewers")
SDK_LOOP = Contender("agent-sdk, on the loop", "agent_sdk_stored", look="viewers, on the loop")
SDK_LESS = Contender("agent-sdk, no deltas", "agent_sdk_stored", look="viewers, on the loop, no deltas")


class Conversation(SessionGate):
    """A conversation in each of some sessions; CPU of the process, writer and readers included."""

    sessions: int

    async def measure(self, client: Client, contender: Contender, place: Place) -> Mapping[str, float]:
        tallies = [Tally() for _ in range(self.sessions)]
        async with opened(client, place, self.sessions) as sessions:
            before = cpu_seconds()
            await consume_all(sessions, contender.look, tallies)
            spent = cpu_seconds() - before
        frames = place.settings()["frames"] * self.sessions
        # Deltas may have been joined, but each message and each result, every sixth frame, is an event of its own.
        assert sum(tally.frames for tally in tallies) > frames / 6, "much of what was played did not arrive"
        return {"us_per_frame": spent / frames * 1e6}


class Journalled(Conversation):
    """Plain, journalled and the peer side by side."""

    contenders = (JOURNALLED, PLAIN, SDK)
    rounds = 5
    quick_rounds = 1

    def __init__(self, name: str, sessions: int, frames: int, *, rate: float | None = None) -> None:
        pace = "saturated" if rate is None else f"{rate:.0f} frames/s"
        self.name = name
        self.title = f"journalled, {sessions} session{'s' if sessions > 1 else ''}, {pace}: CPU per frame"
        self.sessions = sessions
        self._frames = frames
        self._pace = {} if rate is None else {"rate": rate}

    def prepare(self, place: Place, *, quick: bool) -> None:
        count = self._frames // 4 if quick else self._frames
        played = traffic.one_turn(traffic.conversation(count))
        place.write("paced" if self._pace else "saturated", played, frames=count + 2, **self._pace)

    def verdicts(self, samples: Samples) -> list[Verdict]:
        def ratios(above: Contender, below: Contender) -> list[float]:
            return samples.ratios("us_per_frame", above.name, below.name)

        return [
            Verdict("of the plain client", ratios(JOURNALLED, PLAIN)),
            Verdict("less than agent-sdk, which keeps nothing", ratios(SDK, JOURNALLED)),
            Verdict(
                "µs a frame more than the plain client",
                [
                    journalled - plain
                    for journalled, plain in zip(
                        samples.values("us_per_frame", JOURNALLED.name),
                        samples.values("us_per_frame", PLAIN.name),
                        strict=True,
                    )
                ],
                unit=" µs",
                digits=1,
            ),
        ]


class Viewers(Conversation):
    name = "viewers"
    title = f"CLI → journal → {VIEWERS} viewers: CPU per frame"
    contenders = (VIEWED, SDK_THREAD, SDK_LOOP, SDK_LESS)
    sessions = 1
    rounds = 7
    quick_rounds = 1

    def prepare(self, place: Place, *, quick: bool) -> None:
        count = 2_000 if quick else 10_000
        place.write("saturated", traffic.one_turn(traffic.conversation(count)), frames=count + 2)

    def verdicts(self, samples: Samples) -> list[Verdict]:
        def ratios(above: Contender) -> list[float]:
            return samples.ratios("us_per_frame", above.name, VIEWED.name)

        return [
            Verdict("less than agent-sdk, each message stored in a thread", ratios(SDK_THREAD), AT_LEAST, 6.0),
            Verdict("less than agent-sdk, stored on the event loop", ratios(SDK_LOOP)),
            Verdict("less than agent-sdk, on the loop and without deltas", ratios(SDK_LESS)),
        ]

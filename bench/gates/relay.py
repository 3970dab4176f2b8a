"""What it costs that sessions run on another machine: the same traffic in one process, and through host and hub."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from bench import traffic
from bench.common import AT_MOST, Contender, Place, Samples, SessionGate, Verdict
from bench.contenders import Client, Tally
from bench.contenders.journal import JournalledSession
from bench.contenders.works import Works, WorksModule
from bench.gates.sessions import consume_all

__all__ = ["HUB", "LOCAL", "Relay", "warmed_up"]

LOCAL = Contender("local", "journal")
HUB = Contender("host and hub", "relay")
LOCAL_EVENTS = Contender("local, no deltas", "journal", look="events")
HUB_EVENTS = Contender("host and hub, no deltas", "relay", look="events")


class Relay(SessionGate):
    """A conversation in each of some sessions, followed by one reader; CPU of all processes but the CLIs."""

    contenders = (LOCAL, HUB, LOCAL_EVENTS, HUB_EVENTS)
    rounds = 3
    quick_rounds = 1

    def __init__(self, name: str, sessions: int, frames: int, *, rate: float | None = None) -> None:
        pace = "saturated" if rate is None else f"{rate:.0f} frames/s"
        self.name = name
        self.title = f"through host and hub, {sessions} session{'s' if sessions > 1 else ''}, {pace}: CPU per frame"
        self._sessions = sessions
        self._frames = frames
        self._pace = {} if rate is None else {"rate": rate}

    def prepare(self, place: Place, *, quick: bool) -> None:
        count = self._frames // 4 if quick else self._frames
        played = traffic.one_turn(traffic.conversation(count))
        place.write("paced" if self._pace else "saturated", played, frames=count + 2, **self._pace)

    async def measure(self, client: Client, contender: Contender, place: Place) -> Mapping[str, float]:
        tallies = [Tally() for _ in range(self._sessions)]
        async with cast(WorksModule, client).works(str(place.cli), 1) as works:
            await warmed_up(works, contender.look)
            sessions = [JournalledSession(each) for each in await works.start(self._sessions)]
            before = await works.spent()
            await consume_all(sessions, contender.look, tallies)
            after = await works.spent()
        frames = place.settings()["frames"] * self._sessions
        # Of eleven frames two are events; deltas may have been joined.
        assert sum(tally.frames for tally in tallies) > frames / 7, "much of what was played did not arrive"
        spent = {f"{process}_us": (after[process] - before[process]) / frames * 1e6 for process in after}
        return {"us_per_frame": sum(spent.values()), **spent}

    def verdicts(self, samples: Samples) -> list[Verdict]:
        def shares(process: str) -> list[float]:
            pairs = zip(samples.values(process, HUB.name), samples.values("us_per_frame", LOCAL.name), strict=True)
            return [spent / local for spent, local in pairs]

        def added(above: Contender, below: Contender) -> list[float]:
            return [ratio - 1 for ratio in samples.ratios("us_per_frame", above.name, below.name)]

        return [
            Verdict("adds, of local", added(HUB, LOCAL), AT_MOST, 2.0),
            Verdict("adds where nobody watches it being written", added(HUB_EVENTS, LOCAL_EVENTS), AT_MOST, 2.0),
            Verdict("the host's process, of local", shares("hosts_us")),
            Verdict("the hub's process, of local", shares("hub_us")),
        ]


async def warmed_up(works: Works, look: str) -> None:
    """A session before those that count: imports and decoders are paid once, not for each frame."""
    (first,) = await works.start(1)
    await JournalledSession(first).consume(Tally(), look)

"""A hub with a fleet: many sessions at once, on four hosts."""

from __future__ import annotations

import gc
import time
from collections.abc import Mapping
from typing import cast

from bench import traffic
from bench.common import Contender, Place, Samples, SessionGate, Verdict
from bench.contenders import Client, Tally
from bench.contenders.journal import JournalledSession
from bench.contenders.works import WorksModule
from bench.gates.memory import resident_bytes
from bench.gates.relay import HUB, LOCAL, warmed_up
from bench.gates.sessions import consume_all

__all__ = ["RelaySessions"]

HOSTS = 4
SESSIONS = 200


class RelaySessions(SessionGate):
    """A conversation in all of them at the same time, each followed by one reader."""

    name = "relay-sessions"
    title = f"{SESSIONS} sessions on {HOSTS} hosts, saturated"
    contenders = (HUB, LOCAL)
    rounds = 3
    quick_rounds = 1

    def prepare(self, place: Place, *, quick: bool) -> None:
        played = traffic.one_turn(traffic.conversation(100))
        place.write("saturated", played, frames=102, sessions=SESSIONS // 5 if quick else SESSIONS)

    async def measure(self, client: Client, contender: Contender, place: Place) -> Mapping[str, float]:
        count = int(place.settings()["sessions"])
        tallies = [Tally() for _ in range(count)]
        async with cast(WorksModule, client).works(str(place.cli), HOSTS) as works:
            await warmed_up(works, contender.look)
            empty = _resident()
            sessions = await works.start(count)
            idle = _resident()
            readers = [JournalledSession(each) for each in sessions]
            before, began = await works.spent(), time.perf_counter()
            await consume_all(readers, contender.look, tallies)
            took, after = time.perf_counter() - began, await works.spent()
            used = _resident()
            events = sum([(await session.row()).last_seq for session in sessions])
        spent = {process: after[process] - before[process] for process in after}
        return {
            "events_per_second": events / took,
            "us_per_event": sum(spent.values()) / events * 1e6,
            "here_us_per_event": (spent.get("hub") or spent["local"]) / events * 1e6,
            "idle_kb": (idle - empty) / count / 1e3,
            "used_kb": (used - empty) / count / 1e3,
        }

    def verdicts(self, samples: Samples) -> list[Verdict]:
        def ratios(metric: str) -> list[float]:
            return samples.ratios(metric, HUB.name, LOCAL.name)

        return [
            Verdict("events a second, of local", ratios("events_per_second")),
            Verdict("events a second", samples.values("events_per_second", HUB.name), unit="", digits=0),
            Verdict("adds, of local: CPU an event", [ratio - 1 for ratio in ratios("us_per_event")]),
            Verdict("the hub's process, of local: CPU an event", ratios("here_us_per_event")),
            Verdict("memory of the hub for each, idle", samples.values("idle_kb", HUB.name), unit=" KB", digits=0),
            Verdict("memory of the hub for each, used", samples.values("used_kb", HUB.name), unit=" KB", digits=0),
            Verdict("memory for each, used, of local", ratios("used_kb")),
        ]


def _resident() -> int:
    gc.collect()
    return resident_bytes()

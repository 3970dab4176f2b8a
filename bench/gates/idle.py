"""Fifty open sessions that do nothing: the memory that each of them holds."""

from __future__ import annotations

import tracemalloc
from collections.abc import Mapping

from bench import traffic
from bench.common import AT_MOST, Contender, Place, Samples, SessionGate, Verdict
from bench.contenders import Client
from bench.gates.memory import allocated_bytes, resident_bytes
from bench.gates.sessions import opened

SESSIONS = 50
WARM_UP = 3

HANDRAIL = Contender("handrail", "handrail")
JOURNALLED = Contender("handrail, journalled", "journal")
SDK = Contender("agent-sdk", "agent_sdk")
BARE = Contender("bare asyncio", "bare_asyncio")


class Idle(SessionGate):
    name = "idle"
    title = f"{SESSIONS} idle sessions: memory of each"
    contenders = (HANDRAIL, SDK, BARE, JOURNALLED)
    rounds = 5
    quick_rounds = 1

    def prepare(self, place: Place, *, quick: bool) -> None:
        place.write("saturated", traffic.ending())

    async def measure(self, client: Client, contender: Contender, place: Place) -> Mapping[str, float]:
        async with opened(client, place, WARM_UP):
            base = resident_bytes()
            tracemalloc.start()
            before = allocated_bytes()
            async with opened(client, place, SESSIONS):
                held = allocated_bytes() - before
        return {"bytes_per_session": held / SESSIONS, "base": base}

    def verdicts(self, samples: Samples) -> list[Verdict]:
        def ratios(metric: str, below: Contender, *, above: Contender = HANDRAIL) -> list[float]:
            return samples.ratios(metric, above.name, below.name)

        return [
            Verdict("of agent-sdk", ratios("bytes_per_session", SDK), AT_MOST, 0.25),
            Verdict("of bare asyncio", ratios("bytes_per_session", BARE), AT_MOST, 8.0),
            Verdict("of agent-sdk, journalled", ratios("bytes_per_session", SDK, above=JOURNALLED)),
            Verdict("of the plain client, journalled", ratios("bytes_per_session", HANDRAIL, above=JOURNALLED)),
            Verdict("of agent-sdk, the process without sessions", ratios("base", SDK)),
        ]

"""The whole path: Claude Code writes, it is stored, and people see it over WebSockets."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol, cast

from bench import traffic
from bench.common import AT_LEAST, Contender, Place, Samples, SessionGate, Verdict, cpu_seconds
from bench.contenders import VIEWERS, Client
from bench.gates.fan_out import watched

__all__ = ["LiveStream"]

EVENTS = Contender("handrail, events", "stage_handrail", look="events")
VIEW = Contender("handrail, a view", "stage_handrail", look="view")
SDK = Contender("agent-sdk, a send each", "stage_agent_sdk")


class StageModule(Protocol):
    """A module of `bench.contenders` that plays a session to people."""

    def stage(self, cli: str, look: str) -> AbstractAsyncContextManager[Any]: ...


class LiveStream(SessionGate):
    """A conversation; CPU of the process between the CLI and the viewers, for each frame."""

    contenders = (EVENTS, VIEW, SDK)
    rounds = 5
    quick_rounds = 1

    def __init__(self, name: str, frames: int, *, rate: float | None = None) -> None:
        pace = "saturated" if rate is None else f"{rate:.0f} frames/s"
        self.name = name
        self.title = f"CLI → journal → {VIEWERS} viewers over WebSocket, {pace}: CPU per frame"
        self._frames = frames
        self._pace = {} if rate is None else {"rate": rate}

    def prepare(self, place: Place, *, quick: bool) -> None:
        count = self._frames // 4 if quick else self._frames
        played = traffic.one_turn(traffic.conversation(count))
        place.write("paced" if self._pace else "saturated", played, frames=count + 2, **self._pace)

    async def measure(self, client: Client, contender: Contender, place: Place) -> Mapping[str, float]:
        module = cast(StageModule, client)
        async with (
            module.stage(str(place.cli), contender.look) as stage,
            watched(stage.url, VIEWERS, stage.first) as people,
        ):
            before = cpu_seconds()
            await stage.play()
            await people.done()
            spent = cpu_seconds() - before
        return {"us_per_frame": spent / place.settings()["frames"] * 1e6}

    def verdicts(self, samples: Samples) -> list[Verdict]:
        def ratios(below: Contender) -> list[float]:
            return samples.ratios("us_per_frame", SDK.name, below.name)

        what = "less than agent-sdk, stored in a thread, a send each"
        if self._pace:
            return [Verdict(f"events: {what}", ratios(EVENTS)), Verdict(f"a view: {what}", ratios(VIEW))]
        return [
            Verdict(f"events: {what}", ratios(EVENTS), AT_LEAST, 6.0),
            Verdict(f"a view: {what}", ratios(VIEW), AT_LEAST, 6.0),
        ]

"""The clock of a machine may be set back, or be wrong: what goes on is shown all the same."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from handrail.telegram.bridge import Bridge
from handrail.testing import simulated as sim

from .support import World, eventually, world

pytestmark = pytest.mark.slow

STEPS = [sim.tool("Read", {"file_path": f"/{name}"}, output="x", ask=False) for name in ("one", "two")]
SLOW = sim.turn(STEPS[0], sim.sleep(2.0), STEPS[1], sim.sleep(3.0), "Done.")


class Clock:
    """The time of day, until somebody sets it."""

    def __init__(self) -> None:
        self.ahead = 0.0

    def __call__(self) -> float:
        return time.time() + self.ahead


async def test_progress_goes_on_when_the_clock_is_set_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    _tell_time_by(clock, monkeypatch)
    async with world(tmp_path, SLOW) as here, here.bridged():
        await here.say("read")
        await here.hears("one")
        clock.ahead = -3600.0
        progress = await here.hears("two")
        assert "Done." not in progress.text
        await here.hears("Done.")


async def test_progress_is_shown_where_the_clock_is_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    clock.ahead = -3600.0
    _tell_time_by(clock, monkeypatch)
    async with world(tmp_path, SLOW) as here, here.bridged():
        await here.say("read")
        await eventually(lambda: _has_progress(here))


def _has_progress(here: World) -> bool:
    return bool(here.count("one")) and not here.count("Done.")


def _tell_time_by(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    init = Bridge.__init__
    monkeypatch.setattr(Bridge, "__init__", lambda *given, **named: init(*given, **named, clock=clock))

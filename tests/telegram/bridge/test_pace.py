"""A long run with all that is shown of it, at Telegram's pace: nothing is refused, and what matters comes first."""

from __future__ import annotations

from pathlib import Path

import pytest

from handrail.telegram.outbox.pacing import Pace
from handrail.telegram.rhythm import Rhythm
from handrail.testing import TelegramPace
from handrail.testing import simulated as sim

from .support import world

pytestmark = pytest.mark.slow

TIMES = 20.0
"""How much faster than the real one the clock of this Telegram runs."""


async def test_a_long_run_is_shown_without_being_refused(tmp_path: Path) -> None:
    works = [
        part
        for number in range(12)
        for part in (sim.tool("Read", {"file_path": f"f{number}"}, output="x", ask=False), sim.sleep(0.15))
    ]
    script = sim.turn(*works, sim.tool("Bash", {"command": "make"}, output="ok"), "All read.")
    async with world(tmp_path, script, telegram_pace=TelegramPace(scale=TIMES)) as here:
        real = Rhythm()
        here.pace = Pace().faster(TIMES)
        here.rhythm = Rhythm(*(getattr(real, name) / TIMES for name in Rhythm.__slots__))
        async with here.bridged():
            await here.say("read all")
            ask = await here.asked()
            await ask.press("Allow", by=here.ann)
            await here.hears("All read.")
        assert here.telegram.counts_429 == 0
        edits = here.telegram.calls_of("editMessageText")
        assert len(edits) > 3

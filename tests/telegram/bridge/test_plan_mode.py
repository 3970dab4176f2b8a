"""`/planmode auto`: plan first, then go on without being asked."""

from __future__ import annotations

from pathlib import Path

import pytest

from handrail.testing import simulated as sim

from .support import World, world

pytestmark = pytest.mark.slow

PLANS = (
    sim.turn(sim.tool("ExitPlanMode", {"plan": "# The plan\n\n1. Mend it."}, output="approved"), "Mended."),
    sim.loop_turns("You said $text."),
)


async def test_with_auto_the_plan_is_shown_and_carried_out(tmp_path: Path) -> None:
    async with world(tmp_path, *PLANS) as here, here.bridged():
        await here.say("/planmode auto")
        await here.hears("plan first")
        await here.say("mend it")
        await here.hears("Mended.")
        await here.hears("Mend it.")
        (outcome,) = await _outcomes(here)
        assert outcome == ("decided", "Ann", "telegram")


async def test_without_it_the_plan_waits_for_a_person(tmp_path: Path) -> None:
    async with world(tmp_path, *PLANS) as here, here.bridged():
        await here.say("/planmode on")
        await here.say("mend it")
        plan = await here.hears("Mend it.")
        assert plan.buttons
        assert not plan.silent
        assert not here.count("Mended.")


async def _outcomes(here: World) -> list[tuple[str | None, str, str]]:
    (row,) = await here.rows()
    view = await here.served.manager.session(row.id).view()
    return [(item.outcome, item.by, item.surface) for item in view.closed_asks.values()]

"""`/planmode auto`: plan first, then go on without being asked."""

from __future__ import annotations

from pathlib import Path

import pytest

from handrail.telegram.model import User
from handrail.testing import simulated as sim

from .support import PATIENCE, World, said, world

pytestmark = pytest.mark.slow

GROUP = -1001234

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


async def test_what_an_owner_chose_for_a_chat_answers_no_plan_of_a_session_that_others_bring_there(
    tmp_path: Path,
) -> None:
    users = (User(1001, "Ann", "owner"), User(1002, "Ben", "approver"))
    steps = (sim.turn("Ready."), PLANS[0])
    async with world(tmp_path, *steps, users=users, groups=(GROUP,)) as here, here.bridged():
        ben = here.telegram.user(id=1002, first_name="Ben")
        group = here.telegram.group(id=GROUP, title="Team", members=[here.ann, ben], bot_is_admin=True)
        await here.say("hello")
        await here.hears("Ready.")
        (row,) = await here.rows()
        await group.send(f"/planmode@{here.telegram.bot.username} auto", by=here.ann)
        await group.wait(said(group, "plan first"), timeout=PATIENCE)
        await group.send(f"@{here.telegram.bot.username} go on\nclaude --resume {row.id}", by=ben)
        plan = await group.wait(said(group, "Mend it."), timeout=PATIENCE)
        assert plan.buttons
        assert await _outcomes(here) == []


async def _outcomes(here: World) -> list[tuple[str | None, str, str]]:
    (row,) = await here.rows()
    view = await here.served.manager.session(row.id).view()
    return [(item.outcome, item.by, item.surface) for item in view.closed_asks.values()]

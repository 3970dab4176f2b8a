"""Kills links of the chain while somebody talks through it, has each come back, and looks at what became of it all."""

from __future__ import annotations

import asyncio
import random

from .chain import Chain
from .checks import at_rest, check_database, check_decisions, check_journals, check_prompts, remove_copies
from .person import Presser
from .talks import Talk


async def talk_through_kills(here: Chain, victims: list[str], dice: random.Random) -> None:
    """Somebody talks until all were killed and came back: nothing is lost, and nothing is decided twice."""
    here.start_bridge()
    talk, presser = Talk(here), Presser(here.chat, here.ann, here.database)
    async with presser.at_work():
        talking = asyncio.create_task(talk.go_on_until(lambda: here.kills >= len(victims)))
        await _kill(here, victims, dice)
        await talking
        async with here.hub() as hub:
            await at_rest(here, hub)
    async with here.hub() as hub:
        await remove_copies(here, presser)
        await check_prompts(hub, talk)
        await check_journals(hub)
        await check_decisions(hub, presser, may_be_lost=True)


def check_what_is_left(here: Chain) -> None:
    """Once the chain has ended."""
    check_database(here.database)
    assert "it ended by itself" not in here.logged


async def _kill(here: Chain, victims: list[str], dice: random.Random) -> None:
    """Each at a moment that nobody knows beforehand."""
    dice.shuffle(victims)
    for victim in victims:
        await asyncio.sleep(dice.uniform(0.3, 2.0))  # the point of the test: any moment will do
        if victim == "hub":
            here.kill_hub()
            await here.start_hub()
        else:
            here.kill_bridge()
            here.start_bridge()

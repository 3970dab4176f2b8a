"""Kills links of the chain, one after the other, and has each come back."""

from __future__ import annotations

import asyncio
import random

from .chain import Chain


async def kill(here: Chain, victims: list[str], dice: random.Random) -> None:
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

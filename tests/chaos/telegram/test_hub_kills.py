"""The hub is killed, alone or with the bridge: both come back, and what was begun is told, asked and answered on."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path

import pytest

from .chain import chain
from .checks import at_rest, check_database, check_decisions, check_journals, check_prompts, remove_copies
from .killing import kill
from .person import Presser
from .talks import SCRIPT, Talk

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(("hubs", "bridges"), [(4, 0), (3, 4)])
async def test_the_hub_is_killed(tmp_path: Path, hubs: int, bridges: int) -> None:
    async with chain(tmp_path, *SCRIPT) as here:
        here.start_bridge()
        talk, presser = Talk(here), Presser(here.chat, here.ann, here.database)
        async with presser.at_work():
            talking = asyncio.create_task(talk.go_on_until(lambda: here.kills >= hubs + bridges))
            await kill(here, ["hub"] * hubs + ["bridge"] * bridges, random.Random(hubs))
            await talking
            async with here.hub() as hub:
                await at_rest(here, hub)
        async with here.hub() as hub:
            await remove_copies(here, presser)
            await check_prompts(hub, talk)
            await check_journals(hub)
            await check_decisions(hub, presser, may_be_lost=True)
    check_database(here.database)
    assert "it ended by itself" not in here.logged

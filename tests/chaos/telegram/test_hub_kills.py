"""The hub is killed, alone or with the bridge: both come back, and what was begun is told, asked and answered on."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from .chain import chain
from .killing import check_what_is_left, talk_through_kills
from .talks import SCRIPT

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(("hubs", "bridges"), [(4, 0), (3, 4)])
async def test_the_hub_is_killed(tmp_path: Path, hubs: int, bridges: int) -> None:
    async with chain(tmp_path, *SCRIPT) as here:
        await talk_through_kills(here, ["hub"] * hubs + ["bridge"] * bridges, random.Random(hubs))
    check_what_is_left(here)

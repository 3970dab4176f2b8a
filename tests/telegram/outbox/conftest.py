from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from handrail.telegram.state import BridgeState

from .support import MemoryBot, database


@pytest.fixture
async def state(tmp_path: Path) -> AsyncIterator[BridgeState]:
    async with BridgeState(database(tmp_path)) as state:
        yield state


@pytest.fixture
def bot() -> MemoryBot:
    return MemoryBot()

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from handrail.telegram.state import BridgeState


class Clock:
    """Seconds since the epoch, as a test says."""

    def __init__(self) -> None:
        self.now = 1_700_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def state(tmp_path: Path, clock: Clock) -> AsyncIterator[BridgeState]:
    async with BridgeState(str(tmp_path / "telegram.db"), clock=clock) as state:
        yield state

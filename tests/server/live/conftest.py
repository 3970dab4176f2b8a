"""What tests of the live stream share."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from handrail.server.live import channel

from .support import Served, served_live


@pytest.fixture
async def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Served]:
    monkeypatch.setattr(channel, "GRACE", 0.02)
    async with served_live(tmp_path / "live") as served:
        yield served

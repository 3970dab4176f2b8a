"""What tests of the hub share."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from .support import ServedHub, served_hub


@pytest.fixture
async def served(tmp_path: Path) -> AsyncIterator[ServedHub]:
    async with served_hub(tmp_path / "hub") as served:
        yield served

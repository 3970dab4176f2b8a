"""What tests of durable sessions share: directories of their own, and a manager over a real database in them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from handrail.places import Places
from handrail.sessions.manager import Manager


@pytest.fixture
def places(tmp_path: Path) -> Places:
    return Places(*(str(tmp_path / name) for name in ("config", "state", "cache", "run")))


@pytest.fixture
async def manager(places: Places) -> AsyncIterator[Manager]:
    async with Manager.local(places) as manager:
        yield manager

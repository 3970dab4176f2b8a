"""What tests of hosts share."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from ..support import ServedHub
from .fake_host import FakeHost, fake_host


@pytest.fixture
async def host(served: ServedHub, tmp_path: Path) -> AsyncIterator[FakeHost]:
    async with fake_host(served, tmp_path) as host:
        yield host

"""What tests of the bridge share."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from .support import World, world


@pytest.fixture
async def echo(tmp_path: Path) -> AsyncIterator[World]:
    """Sessions repeat what they are told; a bridge runs."""
    async with world(tmp_path) as made, made.bridged():
        yield made

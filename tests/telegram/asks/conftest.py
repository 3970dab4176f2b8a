"""A chat with a desk behind it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

import pytest

from .support import Chat, FakeHub, MemoryState, new_chat


@pytest.fixture
def hub() -> FakeHub:
    return FakeHub()


@pytest.fixture
def chat(hub: FakeHub) -> Iterator[Chat]:
    chat = new_chat(hub)
    yield chat
    cast(MemoryState, chat.state).close()

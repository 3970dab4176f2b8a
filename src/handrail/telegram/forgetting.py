"""Removes what the bridge need not remember any more: now and then, and a little at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from handrail.errors import StoreError
from handrail.telegram.state import BridgeState

__all__ = ["Forgetting"]

EVERY: Final = 6 * 3600.0
PAUSE: Final = 0.2
"""Between steps, so that whoever writes something waits for one of them at most."""


class Forgetting:
    """Keeps the bridge's database from growing without end."""

    def __init__(
        self, state: BridgeState, on_trouble: Callable[[str], None], *, every: float = EVERY, pause: float = PAUSE
    ) -> None:
        self._state = state
        self._on_trouble = on_trouble
        self._every = every
        self._pause = pause

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            try:
                await self._forget_all()
            except StoreError as error:  # it is done the next time
                self._on_trouble(f"what is old cannot be removed from the bridge's database: {error}")
            else:
                self._on_trouble("")
            await asyncio.sleep(self._every)

    async def _forget_all(self) -> None:
        while await self._state.write(lambda tables: tables.prune()):
            await asyncio.sleep(self._pause)

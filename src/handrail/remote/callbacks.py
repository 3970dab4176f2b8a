"""What a program wants to hear of its hub: that it is connected, that it is not, and what goes wrong."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Callable
from typing import Any, TypeAlias

from handrail.errors import HandrailError

__all__ = ["HubCallbacks", "OnConnected", "OnDisconnected", "OnError"]

logger = logging.getLogger("handrail.hub")

OnConnected: TypeAlias = Callable[[], Any]
OnDisconnected: TypeAlias = Callable[[str], Any]
"""Is told why."""
OnError: TypeAlias = Callable[[Exception], Any]


class HubCallbacks:
    """Calls what was given, functions and async functions alike. What they raise is logged, and harms nobody."""

    def __init__(
        self,
        on_connected: OnConnected | None = None,
        on_disconnected: OnDisconnected | None = None,
        on_error: OnError | None = None,
    ) -> None:
        self.is_connected = False
        self._on_connected = on_connected
        self._on_disconnected = on_disconnected
        self._on_error = on_error
        self._work: set[asyncio.Task[None]] = set()

    @property
    def are_wanted(self) -> bool:
        return any((self._on_connected, self._on_disconnected, self._on_error))

    def connected(self) -> None:
        self.is_connected = True
        self._call(self._on_connected)

    def disconnected(self, reason: str) -> None:
        self.is_connected = False
        self._call(self._on_disconnected, reason)

    def failed(self, error: HandrailError) -> None:
        self.error(error)

    def error(self, error: Exception) -> None:
        """Something went wrong that nobody waits for."""
        logger.debug("told of an error", exc_info=error)
        self._call(self._on_error, error)

    def _call(self, callback: Callable[..., Any] | None, *arguments: Any) -> None:
        if callback is None:
            return
        try:
            result = callback(*arguments)
        except Exception:  # it is not ours
            logger.exception("a callback of a hub failed")
            return
        if inspect.isawaitable(result):
            task = asyncio.ensure_future(_awaited(result))
            self._work.add(task)
            task.add_done_callback(self._work.discard)

    async def close(self) -> None:
        """End what they still do."""
        for task in self._work:
            task.cancel()
        await asyncio.gather(*self._work, return_exceptions=True)


async def _awaited(result: Any) -> None:
    try:
        await result
    except Exception:  # it is not ours
        logger.exception("a callback of a hub failed")

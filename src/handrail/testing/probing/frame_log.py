"""Every frame that a CLI has sent, beside the client that acts on them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

from handrail.protocol.codec import Codec
from handrail.protocol.frames import Frame
from handrail.transports.base import Receiver
from handrail.transports.stdio import StdioTransport

__all__ = ["FrameLog", "LoggedTransport"]

T = TypeVar("T")


class FrameLog:
    """The frames so far, the answer to `initialize` included."""

    def __init__(self) -> None:
        self.frames: list[Frame] = []
        self._codec = Codec()
        self._changed = asyncio.Event()
        self.ended = False
        self.exit_code: int | None = None

    def take(self, data: bytes) -> None:
        """Some bytes arrived."""
        self.frames += self._codec.feed(data)
        self._changed.set()

    def end(self, exit_code: int | None) -> None:
        """Nothing more will come."""
        self.ended = True
        self.exit_code = exit_code
        self._changed.set()

    async def until(self, condition: Callable[[], T | None], what: str, *, seconds: float) -> T:
        """Wait until `condition` gives something; it is asked again after every frame. Raises `TimeoutError`."""
        try:
            async with asyncio.timeout(seconds):
                while (found := condition()) is None:
                    self._changed.clear()
                    await self._changed.wait()
                return found
        except TimeoutError:
            raise TimeoutError(f"no {what} within {seconds:g} s") from None


class _Tee:
    """Passes on what a transport reads, and keeps it."""

    def __init__(self, receiver: Receiver, log: FrameLog) -> None:
        self._receiver = receiver
        self._log = log

    def data_received(self, data: bytes) -> None:
        self._log.take(data)
        self._receiver.data_received(data)

    def connection_lost(self, exit_code: int | None) -> None:
        self._receiver.connection_lost(exit_code)
        self._log.end(exit_code)


class LoggedTransport(StdioTransport):
    """The CLI as a process, with a log that is complete whenever the client has seen something."""

    log: FrameLog

    async def open(self, receiver: Receiver) -> None:
        self.log = FrameLog()
        await super().open(_Tee(receiver, self.log))

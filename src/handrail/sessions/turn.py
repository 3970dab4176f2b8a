"""A turn as the caller sees it: one message, and what the CLI does with it until the result."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from types import TracebackType
from typing import Self

from handrail.errors import HandrailError, MessageDropped
from handrail.protocol.frames import Frame, Result
from handrail.protocol.turns import TurnEnd
from handrail.sessions.readers import FrameReader

__all__ = ["Turn"]

logger = logging.getLogger("handrail.client")

LEAVING_TIMEOUT = 30.0
"""How long leaving a turn early waits for the interrupted turn's result."""


class Turn:
    """`async with client.turn("…") as turn: async for frame in turn: …`

    Yields every frame that arrives while it runs, except results that end other turns; its own result comes last.
    Leaving the block before that interrupts the turn.
    """

    def __init__(
        self,
        uuid: str,
        *,
        ready: Callable[[], Awaitable[None]],
        begin: Callable[[Turn], None],
        sent: Callable[[], Awaitable[None]],
        give_up: Callable[[Turn], Awaitable[None]],
        forget: Callable[[Turn], None],
        unread_budget: int,
    ) -> None:
        self.uuid = uuid
        self.result: Result | None = None
        self._ready = ready
        self._begin = begin
        self._sent = sent
        self._give_up = give_up
        self._forget = forget
        self._reader = FrameReader(unread_budget)
        self._ended = asyncio.Event()
        self._failure: HandrailError | None = None

    @property
    def ended(self) -> bool:
        """Whether the turn is over, with or without a result."""
        return self._ended.is_set()

    async def __aenter__(self) -> Self:
        await self._ready()
        self._begin(self)
        try:
            await self._sent()
        except BaseException:
            # The message is on its way: what it starts must not go on with nobody there.
            await self.__aexit__(None, None, None)
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if not self.ended:
                await self._leave()
        finally:
            self._forget(self)
            self._reader.close()

    def __aiter__(self) -> AsyncGenerator[Frame, None]:
        return self._reader.read()

    async def wait(self) -> Result:
        """Wait for the result without looking at the frames."""
        self.discard()
        await self._ended.wait()
        if self.result is None:
            raise (self._failure or MessageDropped("the turn ended without a result")).with_traceback(None)
        return self.result

    def discard(self) -> None:
        """Do not keep frames for this turn: nobody will read them here."""
        self._reader.discard()

    def raise_if_dropped(self) -> None:
        """Raise `MessageDropped` if the CLI dropped the message, so that there will be no result."""
        if isinstance(self._failure, MessageDropped):
            raise self._failure

    async def _leave(self) -> None:
        """Interrupt, and see the turn out, so that its end is not taken for the next one's."""
        self._reader.discard()
        try:
            async with asyncio.timeout(LEAVING_TIMEOUT):
                await self._give_up(self)
                await self._ended.wait()
        except (HandrailError, TimeoutError) as error:
            logger.warning("could not see an interrupted turn out: %s", error)

    # ------------------------------------------------------------ called by the client

    def push(self, frames: Sequence[Frame], size: int) -> None:
        """These frames arrived while the turn runs."""
        if frames and not self.ended:
            self._reader.push(frames, size)

    def end(self, end: TurnEnd) -> None:
        """The CLI is done with the message."""
        self.result = end.result
        if end.result is None:
            self.fail(MessageDropped(f"{end.reason}; send it again if it is still wanted"))
            return
        self._reader.push((end.result,), 0)
        self._reader.close()
        self._ended.set()

    def fail(self, error: HandrailError) -> None:
        """There will be no result."""
        if not self.ended:
            self._failure = error
            self._reader.close(error)
            self._ended.set()

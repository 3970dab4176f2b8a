"""A transport that lets somebody see when it opens and what is written."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from handrail.transports.base import PassingOn, Receiver, Transport

__all__ = ["TappedTransport"]


class TappedTransport(PassingOn):
    """Passes everything on to `inner`.

    `before_open` is awaited before the peer is started, and may raise to prevent that. `on_write` is called with each
    piece of whole lines, and must not raise.
    """

    def __init__(
        self,
        inner: Transport,
        *,
        before_open: Callable[[], Awaitable[None]] | None = None,
        on_write: Callable[[bytes], None] = lambda data: None,
    ) -> None:
        super().__init__(inner)
        self._before_open = before_open
        self._on_write = on_write

    async def open(self, receiver: Receiver) -> None:
        if self._before_open is not None:
            await self._before_open()
        await self._inner.open(receiver)

    def write(self, data: bytes) -> None:
        self._on_write(data)
        self._inner.write(data)

"""A transport that lets somebody see when it opens and what is written."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from handrail.transports.base import Receiver, Transport

__all__ = ["TappedTransport"]


class TappedTransport:
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
        self._inner = inner
        self._before_open = before_open
        self._on_write = on_write

    @property
    def pid(self) -> int | None:
        return self._inner.pid

    @property
    def stderr_tail(self) -> str:
        return self._inner.stderr_tail

    async def open(self, receiver: Receiver) -> None:
        if self._before_open is not None:
            await self._before_open()
        await self._inner.open(receiver)

    def write(self, data: bytes) -> None:
        self._on_write(data)
        self._inner.write(data)

    async def drain(self) -> None:
        await self._inner.drain()

    def close_input(self) -> None:
        self._inner.close_input()

    async def close(self) -> None:
        await self._inner.close()

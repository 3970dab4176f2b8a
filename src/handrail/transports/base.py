"""What every transport does, and what it calls back.

A transport is callback-driven on purpose: it hands each chunk to its receiver as it was read, without a queue or
a task in between, so that control traffic never waits for somebody who reads frames slowly.
"""

from __future__ import annotations

from typing import Protocol

__all__ = ["PassingOn", "Receiver", "Transport"]


class Receiver(Protocol):
    """The side that consumes what a transport reads. Called from the event loop; must not block or raise."""

    def data_received(self, data: bytes) -> None:
        """Some bytes arrived, cut anywhere."""

    def connection_lost(self, exit_code: int | None) -> None:
        """Called exactly once, after the last `data_received`.

        `exit_code` is the process's (negative for a signal, as in `subprocess`), or None where there is no process.
        """


class Transport(Protocol):
    """One byte stream each way, with a peer that can be started and ended."""

    @property
    def pid(self) -> int | None:
        """The peer's process id, while there is one."""

    @property
    def stderr_tail(self) -> str:
        """The end of what the peer wrote to standard error, for error messages."""

    async def open(self, receiver: Receiver) -> None:
        """Start the peer. Raises `LaunchError` if that fails; the receiver is then never called."""

    def write(self, data: bytes) -> None:
        """Queue whole lines for the peer, in order, never interleaved. Silently dropped once the peer is gone."""

    async def drain(self) -> None:
        """Wait until what was queued has left, or the peer is gone."""

    def close_input(self) -> None:
        """Tell the peer that nothing more will be written, once what is queued has left. Idempotent."""

    async def close(self) -> None:
        """End the peer and everything it started, and wait for that. Idempotent; completes under cancellation."""


class PassingOn:
    """A transport that leaves everything to `inner`: for those that do one thing more, or one thing otherwise."""

    def __init__(self, inner: Transport) -> None:
        self._inner = inner

    @property
    def pid(self) -> int | None:
        return self._inner.pid

    @property
    def stderr_tail(self) -> str:
        return self._inner.stderr_tail

    async def open(self, receiver: Receiver) -> None:
        await self._inner.open(receiver)

    def write(self, data: bytes) -> None:
        self._inner.write(data)

    async def drain(self) -> None:
        await self._inner.drain()

    def close_input(self) -> None:
        self._inner.close_input()

    async def close(self) -> None:
        await self._inner.close()

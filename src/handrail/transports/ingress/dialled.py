"""A CLI that we start ourselves and that dials in: a process for its life and death, a socket for what is said."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, suppress

from handrail.errors import DialRefused, LaunchError
from handrail.protocol.dialling import refusal_in
from handrail.transports.base import Receiver, Transport
from handrail.transports.ingress.listener import LoopbackIngress
from handrail.transports.ingress.transport import IngressTransport, Surroundings

__all__ = ["DialledTransport"]

DIALS_WITHIN = 120.0
"""How long a CLI may take from its start to its first call: seconds, unless the machine is very busy."""
LAST_WORDS = 1.0
"""How long after a process has exited something of it may still be on its socket."""


LEAVES_WITHIN = 1.0
"""How long a process may take to end once its socket was closed for good."""


class DialledTransport:
    """Implements `handrail.transports.base.Transport`.

    `start` makes the process, given the address and the token to use; `check` may raise `LaunchError` before that.
    """

    def __init__(
        self,
        start: Callable[[str, str], Transport],
        *,
        check: Callable[[], Awaitable[None]] | None = None,
        around: Surroundings | None = None,
    ) -> None:
        self._start = start
        self._check = check
        self._inner = IngressTransport(around=around)
        self._listener = LoopbackIngress(self._inner)
        self._resources = AsyncExitStack()
        self._process: Transport | None = None
        self._exited = asyncio.Event()

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process is not None else None

    @property
    def stderr_tail(self) -> str:
        return self._process.stderr_tail if self._process is not None else ""

    async def open(self, receiver: Receiver) -> None:
        if self._check is not None:
            await self._check()
        await self._resources.enter_async_context(self._listener)
        try:
            await self._inner.open(receiver)
            self._process = self._start(self._listener.url, self._listener.token)
            await self._process.open(_Exit(self._on_exit))
            self._process.close_input()  # it is spoken to on its socket, and must not wait for anything else
            await self._until_it_dialled()
        except BaseException:
            await self._give_up_start()
            raise

    async def _until_it_dialled(self) -> None:
        """Wait for the first call. Of an exit before that whoever opens the client hears as of any other."""
        waits = [asyncio.ensure_future(event.wait()) for event in (self._inner.arrived, self._exited)]
        try:
            done, _ = await asyncio.wait(waits, timeout=DIALS_WITHIN, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()
        if not done:
            raise LaunchError(f"Claude Code did not connect to {self._listener.url} within {DIALS_WITHIN:g} seconds")
        if (why := self._refusal()) is not None:
            raise DialRefused(why)

    def _refusal(self) -> str | None:
        return None if self._inner.arrived.is_set() else refusal_in(self.stderr_tail)

    async def _give_up_start(self) -> None:
        if self._process is not None:
            await self._process.close()
        await self._resources.aclose()

    def _on_exit(self, exit_code: int | None) -> None:
        self._exited.set()
        if self._refusal() is not None:
            return  # whoever opens this is told so, and has nothing to lose yet
        # What it wrote last may be on its way still.
        asyncio.get_running_loop().call_later(LAST_WORDS if self._inner.is_here else 0, self._inner.end, exit_code)

    def write(self, data: bytes) -> None:
        self._inner.write(data)

    async def drain(self) -> None:
        await self._inner.drain()

    def close_input(self) -> None:
        self._inner.close_input()

    async def close(self) -> None:
        if self._process is None:
            return
        try:
            await self._inner.close()
            await self._see_it_off(self._process)
        finally:
            await self._process.close()
            await self._resources.aclose()

    async def _see_it_off(self, process: Transport) -> None:
        """It ends when its socket is closed. One that does not (2.1.37) dials again, and would go on doing so."""
        try:
            async with asyncio.timeout(LEAVES_WITHIN):
                await self._exited.wait()
        except TimeoutError:
            if process.pid is not None:
                with suppress(ProcessLookupError):
                    os.kill(process.pid, signal.SIGTERM)


class _Exit:
    """Takes nothing but the exit of a process: what it writes to standard output is not meant for anybody."""

    def __init__(self, exited: Callable[[int | None], None]) -> None:
        self._exited = exited

    def data_received(self, data: bytes) -> None:
        return

    def connection_lost(self, exit_code: int | None) -> None:
        self._exited(exit_code)

"""One socket of a CLI while it is served: read and written, and pinged for proof that what was written arrived."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress

from handrail.protocol.ingress import IngressLink
from handrail.protocol.ingress_lines import message_of
from handrail.transports.ingress.sockets import RETRY, MessageTooLong, Socket, SocketClosed

__all__ = ["Served"]


class Served:
    """A socket, what is to be written to it, and what it proves to `link`."""

    def __init__(self, socket: Socket, link: IngressLink) -> None:
        self.socket = socket
        self.done = asyncio.Event()
        self.was_too_much = False
        """Whether it ended because the CLI sent more at once than it may."""
        self._link = link
        self._unwritten: list[bytes] = []
        self._wake = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()
        self._task: asyncio.Task[None] | None = None
        self._parting: tuple[int, str] | None = None

    def write(self, lines: bytes) -> None:
        if lines:
            self._unwritten += [line + b"\n" for line in lines.split(b"\n") if line]
            self._idle.clear()
            self._wake.set()

    async def drain(self) -> None:
        """Wait until everything is written, or the socket is gone."""
        waits = [asyncio.ensure_future(event.wait()) for event in (self._idle, self.done)]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()

    def abandon(self) -> None:
        """Serve it no longer: it is dead."""
        if self._task is not None:
            self._task.cancel()

    def hang_up(self, code: int, reason: str) -> None:
        """Close it as soon as that can be done."""
        self._parting = (code, reason)
        self._wake.set()

    async def run(self, received: Callable[[str | bytes], None]) -> None:
        """Read and write until the socket is gone, or is abandoned."""
        self._task = asyncio.get_running_loop().create_task(self._all(received))
        try:
            await asyncio.wait([self._task])
        finally:
            if not self._task.done():
                self._task.cancel()
                await asyncio.wait([self._task])
        if not self._task.cancelled() and (error := self._task.exception()) is not None:
            raise error

    async def _all(self, received: Callable[[str | bytes], None]) -> None:
        loop = asyncio.get_running_loop()
        tasks = [loop.create_task(self._read(received)), loop.create_task(self._write_all())]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
        for task in done:
            try:
                task.result()
            except MessageTooLong:
                self.was_too_much = True
            except SocketClosed:
                pass
        await self.socket.close(*(self._parting or (RETRY, "")))

    async def _read(self, received: Callable[[str | bytes], None]) -> None:
        while True:
            received(await self.socket.receive())

    async def _write_all(self) -> None:
        proving: asyncio.Task[None] | None = None
        try:
            while self._parting is None:
                await self._wake.wait()
                self._wake.clear()
                while self._unwritten:
                    await self.socket.send(message_of(self._unwritten.pop(0)))
                self._idle.set()
                if self._link.needs_proof and (proving is None or proving.done()):
                    proving = asyncio.get_running_loop().create_task(self._prove())
        finally:
            if proving is not None:
                proving.cancel()

    async def _prove(self) -> None:
        """What was written before a ping has arrived once its pong is here."""
        with suppress(SocketClosed):
            while self._link.needs_proof:
                await self._idle.wait()
                mark = self._link.mark()
                await self.socket.ping()
                if not self.done.is_set():
                    self._link.proved(mark)

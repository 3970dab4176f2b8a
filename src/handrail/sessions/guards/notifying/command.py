"""Notifies by running a command: the notices as JSON on its standard input, a few of their fields as variables."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import tempfile
from collections.abc import Mapping, Sequence
from typing import IO

from handrail.sessions.guards.notifying.message import Message, NotDelivered, plain

__all__ = ["Command"]

PASSED_ON = (
    *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR"),
    *("DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR"),
)
"""All that a command sees of our environment: enough to find programs and the desktop, and no secrets."""


class Command:
    """A command that is run for each message, and ended with all it started if it takes too long."""

    def __init__(
        self, argv: Sequence[str], *, environ: Mapping[str, str], timeout: float = 10.0, grace: float = 2.0
    ) -> None:
        self.name = os.path.basename(argv[0])
        self._argv = list(argv)
        self._environ = {name: environ[name] for name in PASSED_ON if name in environ}
        self._timeout = timeout
        self._grace = grace

    async def deliver(self, message: Message) -> None:
        """Raises `NotDelivered`."""
        # Files, not pipes: whether the command reads, writes or leaves children behind, nobody waits for that.
        with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as complaints:
            given.write(message.body)
            given.seek(0)
            process = await self._start(message, given, complaints)
            try:
                async with asyncio.timeout(self._timeout):
                    exit_code = await process.wait()
            except TimeoutError:
                await self._end(process)
                raise NotDelivered(f"it did not end within {self._timeout:g} s") from None
            except asyncio.CancelledError:
                await self._kill(process)
                raise
            if exit_code != 0:
                raise NotDelivered(f"it ended with {exit_code}", detail=f": {_tail(complaints)}")

    async def _start(self, message: Message, given: IO[bytes], complaints: IO[bytes]) -> asyncio.subprocess.Process:
        try:
            return await asyncio.create_subprocess_exec(
                *self._argv,
                stdin=given,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=complaints,
                env={**self._environ, **message.variables},
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            raise NotDelivered(f"it cannot be run: {error}") from error

    async def _end(self, process: asyncio.subprocess.Process) -> None:
        _signal(process, signal.SIGTERM)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._grace):
                await process.wait()
        await self._kill(process)

    async def _kill(self, process: asyncio.subprocess.Process) -> None:
        _signal(process, signal.SIGKILL)  # also what is left of its group
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._grace):
                await process.wait()


def _signal(process: asyncio.subprocess.Process, number: signal.Signals) -> None:
    """Signal the command and what it started: it leads a group of its own."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


def _tail(complaints: IO[bytes]) -> str:
    size = complaints.seek(0, os.SEEK_END)
    complaints.seek(max(0, size - 200))
    return plain(complaints.read().decode(errors="replace")) or "it said nothing"

"""The stage for bots, as the measuring process sees it."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Protocol

from bench.common import ROOT, Place, clean_environment

__all__ = ["BotModule", "Staged", "Watched", "staged"]

LONGEST_LINE = 1 << 22
STARTING = 60.0
DOING = 100.0


class Staged:
    """What runs in the other process, and where it can be reached."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self.facts: dict[str, Any] = {}

    async def open(self) -> None:
        async with asyncio.timeout(STARTING):
            self.facts = await self._line()

    async def do(self, command: str, **arguments: Any) -> dict[str, Any]:
        """Have something played, and hear what came of it."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps([command, arguments]).encode() + b"\n")
        async with asyncio.timeout(DOING):
            return await self._line()

    async def _line(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = await self._process.stdout.readline()
        assert line, "the stage ended"
        said: dict[str, Any] = json.loads(line)
        return said


class Watched(Protocol):
    """A bot that is at work."""

    async def caught_up(self, ends: dict[str, int]) -> None:
        """Wait until it knows of these events, each the last of a session."""

    async def sent(self, count: int) -> list[float]:
        """Send as many messages, one after the other; when each was begun. Only for those that follow nothing."""


class BotModule(Protocol):
    """A module of the contenders that has a bot."""

    def serving(self, stage: Staged, look: str) -> AbstractAsyncContextManager[Watched]: ...


@asynccontextmanager
async def staged(place: Place, *, sessions: int, where: str = "private") -> AsyncIterator[Staged]:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "bench.telegram_stage", str(place.path), str(sessions), where),
        cwd=ROOT,
        env=clean_environment(),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        limit=LONGEST_LINE,
    )
    stage = Staged(process)
    try:
        await stage.open()
        yield stage
    finally:
        await _ended(process)


async def _ended(process: asyncio.subprocess.Process) -> None:
    """Have it end by itself, so that it stops its CLIs."""
    assert process.stdin is not None
    process.stdin.close()
    try:
        async with asyncio.timeout(20):
            await process.wait()
    except TimeoutError:
        process.kill()
        await process.wait()

"""An agent at work: until a signal ends it or its hub does not want it any more, and then gently to its end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from handrail.cli.hosting.telling import HubTold, Say
from handrail.cli.serving.hosting import drained, until_told_to_stop
from handrail.cli.showing.amounts import count
from handrail.cli.showing.style import FAILED, QUIET
from handrail.errors import HandrailError, SessionError
from handrail.host.agent import HostAgent
from handrail.sessions.manager import Manager

__all__ = ["Shift"]

FLUSH_SECONDS: Final = 5.0
"""How long a stop waits for the hub to hear that sessions have ended. If it does not, it hears of it the next time."""


class Shift:
    """One agent over an open manager. What runs has `drain_seconds` to end by itself."""

    def __init__(self, agent: HostAgent, manager: Manager, told: HubTold, say: Say, *, drain_seconds: float) -> None:
        self._agent = agent
        self._manager = manager
        self._told = told
        self._say = say
        self._drain_seconds = drain_seconds

    async def work(self) -> bool:
        """Work to the end; returns whether it was a signal that ended it, and not the hub."""
        loop = asyncio.get_running_loop()
        stopped = loop.create_task(until_told_to_stop())
        working = loop.create_task(self._agent.run())
        try:
            await asyncio.wait((stopped, working), return_when=asyncio.FIRST_COMPLETED)
            refusal = _refusal_of(working)
            if refusal is not None:
                self._say(FAILED, str(refusal))
            enough = 1 if refusal is not None else 2
            await self._end(hurried=lambda: _signals(stopped) >= enough)
        finally:
            stopped.cancel()
            working.cancel()
            await asyncio.gather(stopped, working, return_exceptions=True)
        return refusal is None

    async def _end(self, *, hurried: Callable[[], bool]) -> None:
        """Take no more sessions, let those that run finish for a while, and let the hub hear of their end."""
        self._told.leaving = True
        self._agent.drain()
        left = await drained(self._manager, self._drain_seconds, hurried=hurried, say=self._wait_for)
        interrupted = f"; {count(left, 'session')} interrupted" if left else ""
        self._say(QUIET, f"stopping{interrupted}: nothing is lost")
        with suppress(SessionError):  # one that cannot be stopped now is stopped when the manager is closed
            await self._manager.stop_all()
        await self._agent.flushed(FLUSH_SECONDS)

    def _wait_for(self, running: int) -> None:
        self._say(QUIET, f"waiting for {count(running, 'session')} to finish; Ctrl-C again stops at once")


def _refusal_of(working: asyncio.Task[None]) -> HandrailError | None:
    """Why the agent stopped working by itself, if it did."""
    if not working.done():
        return None
    try:
        working.result()
    except HandrailError as error:
        return error
    return None


def _signals(stopped: asyncio.Task[Callable[[], int]]) -> int:
    """How many signals there have been."""
    return stopped.result()() if stopped.done() else 0

"""Tries Claude Code out again when it was updated: for a hub or a host that runs for weeks."""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
import signal
import sys
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from importlib.metadata import version as installed_version_of
from types import TracebackType
from typing import Self, TypeAlias

from handrail.cli.checkup.claude import installed_claude
from handrail.cli.checkup.probing.kept import KeptProbe, ProbesUnreadable, kept_probe
from handrail.cli.checkup.surroundings import Surroundings
from handrail.errors import HandrailError

__all__ = ["ProbeFailed", "ProbeWatch", "Tell", "TryOut", "log_probe", "probe_now"]

logger = logging.getLogger("handrail.probe")

FIRST_LOOK = 600.0
"""How long after the start the first look is taken: a start is when people want to work."""

LONGEST = 240.0
NICENESS = "15"

Tell: TypeAlias = Callable[[KeptProbe], None]
TryOut: TypeAlias = Callable[[Surroundings], Awaitable[KeptProbe]]


class ProbeFailed(HandrailError):
    """No probe could be made; the message says why."""


class ProbeWatch:
    """Looks every so many hours whether Claude Code (or Handrail) is another one, and tries it out if so.

    Opened and closed with `async with`. `tell` hears of each probe that was made. With 0 hours nothing is done.
    """

    def __init__(
        self,
        around: Surroundings,
        *,
        hours: float,
        tell: Tell,
        try_out: TryOut | None = None,
        first_look: float = FIRST_LOOK,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._around = around
        self._seconds = hours * 3600
        self._tell = tell
        self._try_out = try_out or probe_now
        self._first_look = first_look
        self._sleep = sleep
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        if self._seconds:
            self._task = asyncio.get_running_loop().create_task(self._watch())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    async def look(self) -> KeptProbe | None:
        """Try the installed version out unless that was done before; returns what was found, if it was."""
        number = await asyncio.to_thread(_installed, self._around)
        if number is None or self._is_known(number):
            return None
        logger.info("Claude Code %s was never probed: trying it out", number)
        probe = await self._try_out(self._around)
        self._tell(probe)
        return probe

    async def _watch(self) -> None:
        await self._sleep(self._first_look)
        while True:
            try:
                await self.look()
            except ProbeFailed as error:
                logger.warning("Claude Code could not be probed: %s", error)
            except Exception:  # whatever is wrong with one look, the next one is taken
                logger.exception("Claude Code could not be probed")
            await self._sleep(self._seconds)

    def _is_known(self, number: str) -> bool:
        try:
            kept = kept_probe(self._around.places, number)
        except ProbesUnreadable:
            return False
        return kept is not None and kept.handrail == installed_version_of("handrail")


def log_probe(probe: KeptProbe) -> None:
    """Write what a probe found into the log."""
    logger.log(logging.INFO if probe.status == "fine" else logging.WARNING, "%s", probe.text)
    for words in probe.findings:
        logger.warning("%s", words)


async def probe_now(around: Surroundings, argv: Sequence[str] | None = None) -> KeptProbe:
    """Try the installed Claude Code out in a process of its own, so that nothing here waits. Raises `ProbeFailed`."""
    command = list(argv or [sys.executable, "-m", "handrail", "doctor", "--probe", "--json"])
    nice = shutil.which("nice")
    process = await asyncio.create_subprocess_exec(
        *([nice, "-n", NICENESS] if nice else []),
        *command,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=dict(around.environ),
        cwd=around.home,
        start_new_session=True,
    )
    try:
        async with asyncio.timeout(LONGEST):
            _, said = await process.communicate()
    except TimeoutError:
        raise ProbeFailed(f"no end within {LONGEST:g} s") from None
    finally:
        await _end(process)
    return await asyncio.to_thread(_found, around, said.decode("utf-8", "replace").strip())


def _found(around: Surroundings, said: str) -> KeptProbe:
    number = _installed(around)
    if number is None:
        raise ProbeFailed("there is no Claude Code that answers")
    try:
        kept = kept_probe(around.places, number)
    except ProbesUnreadable as error:
        raise ProbeFailed(str(error)) from error
    if kept is None:
        raise ProbeFailed(said.splitlines()[-1] if said else "it left no result")
    return kept


def _installed(around: Surroundings) -> str | None:
    found = installed_claude(around)
    return None if found is None else found.number


async def _end(process: asyncio.subprocess.Process) -> None:
    if process.returncode is not None:
        return
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
    try:
        async with asyncio.timeout(10):
            await process.wait()
    except TimeoutError:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()

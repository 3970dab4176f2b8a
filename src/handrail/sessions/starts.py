"""The processes that are started for a session, noted in its journal before they run."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Mapping, Sequence

from handrail.sessions.journal import Journal
from handrail.sessions.owning.locks import SessionLock
from handrail.sessions.owning.reaping import process_started
from handrail.store.base import StartRow
from handrail.transports.base import Transport
from handrail.transports.stdio import StdioTransport
from handrail.transports.tapped import TappedTransport

__all__ = ["RUNNING", "Starts"]

RUNNING = "running"
"""What a start is called that only adds which process it became."""


class Starts:
    """Starts the CLIs of one session. Each holds the session's lock for as long as anything of it may live."""

    def __init__(self, journal: Journal, lock: SessionLock) -> None:
        self._journal = journal
        self._lock = lock
        self._marker = ""

    def launch(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str],
        cwd: str | os.PathLike[str] | None,
        holds: Sequence[int] = (),
        why: str,
    ) -> Transport:
        """A transport that starts a CLI, and notes that before it does."""
        process = StdioTransport(argv, env=env, cwd=cwd, holds=(*self._lock.fds, *holds))
        self._lock.kept_by(process.hold)
        return TappedTransport(process, before_open=lambda: self.note(process.marker, why))

    async def note(self, marker: str, why: str) -> None:
        """Before it runs: whoever finds the session after a crash must know what to look for."""
        self._marker = marker
        self._journal.add(starts=[StartRow(at=time.time(), why=why, marker=marker)], durable=True)
        await self._journal.stored()

    async def note_running(self, pid: int | None) -> None:
        """Which process it became."""
        if pid is not None:
            started = await asyncio.to_thread(process_started, pid)
            row = StartRow(at=time.time(), why=RUNNING, marker=self._marker, pid=pid, process_started=started)
            self._journal.add(starts=[row])

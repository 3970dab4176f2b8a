"""Handrail with its journal: a `Manager` over a real SQLite file, read through `Session.subscribe`."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager
from pathlib import Path

from bench.common import cpu_seconds
from bench.contenders import VIEWERS, Tally
from handrail import Allow, Ask, Options
from handrail.events.model import Completed
from handrail.places import Places
from handrail.policy.storage.loading import Asked
from handrail.sessions.manager import Manager
from handrail.sessions.session import Session


@asynccontextmanager
async def session(cli: str) -> AsyncIterator[JournalledSession]:
    async with sessions(cli, 1) as opened:
        yield opened[0]


@asynccontextmanager
async def sessions(cli: str, count: int) -> AsyncIterator[list[JournalledSession]]:
    """All in one journal, as a program has them."""
    async with managed() as manager:
        options = Options(cli_path=cli, include_partial_messages=True)
        yield [JournalledSession(await manager.start(options, on_ask=allow)) for _ in range(count)]


@asynccontextmanager
async def managed() -> AsyncIterator[Manager]:
    with tempfile.TemporaryDirectory(prefix="handrail-bench-") as directory:
        async with Manager.local(places_in(Path(directory))) as manager:
            yield manager


@asynccontextmanager
async def works(cli: str, hosts: int) -> AsyncIterator[LocalWorks]:
    """Sessions, their journal and their readers in this process."""
    async with managed() as manager:
        yield LocalWorks(manager, cli)


class LocalWorks:
    def __init__(self, manager: Manager, cli: str) -> None:
        self._manager = manager
        self._options = Options(cli_path=cli, include_partial_messages=True)

    async def start(self, count: int) -> list[Session]:
        return [await self._manager.start(self._options, policy=Asked()) for _ in range(count)]

    async def spent(self) -> Mapping[str, float]:
        return {"local": cpu_seconds()}


def places_in(directory: Path) -> Places:
    return Places(*(str(directory / name) for name in ("config", "state", "cache", "run")))


async def allow(ask: Ask) -> Allow:
    return Allow()


class JournalledSession:
    def __init__(self, session: Session) -> None:
        self._session = session

    async def consume(self, tally: Tally, look: str) -> None:
        """As many readers as `look` says follow the session to the end of the run. Counts events and deltas."""
        deltas = look != "events"
        readers = [self._read(tally, deltas=deltas) for _ in range(VIEWERS if look == "viewers" else 1)]
        async with asyncio.TaskGroup() as group:
            for reader in readers:
                group.create_task(reader)
            await self._session.send("go")

    async def _read(self, tally: Tally, *, deltas: bool) -> None:
        async with aclosing(self._session.subscribe(deltas=deltas)) as items:
            async for item in items:
                tally.frames += 1
                if isinstance(item, Completed):
                    return

"""Many sessions in one process, for the gates that need them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager

from bench.common import Place
from bench.contenders import Client, Session, Shared, Tally

__all__ = ["consume_all", "opened"]


@asynccontextmanager
async def opened(client: Client, place: Place, count: int) -> AsyncIterator[list[Session]]:
    """`count` sessions, initialized."""
    if isinstance(client, Shared):
        async with client.sessions(str(place.cli), count) as shared:
            yield shared
        return
    async with AsyncExitStack() as stack:
        yield [await stack.enter_async_context(client.session(str(place.cli))) for _ in range(count)]


async def consume_all(sessions: Sequence[Session], look: str, tallies: Sequence[Tally]) -> None:
    """A turn in every session, at the same time."""
    async with asyncio.TaskGroup() as group:
        for session, tally in zip(sessions, tallies, strict=True):
            group.create_task(session.consume(tally, look))

"""A store in memory whose every append the test holds in its hand: it is committed, told of, refused or fenced off.

Only what a journal and its readers use is there. `cast` it to a `Store` where the type matters.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import cast

from handrail.errors import StoreError
from handrail.store.base import Batch, EventRow, Lease, Store

__all__ = ["FakeStore", "a_lease", "as_store", "settled"]


def a_lease(last_seq: int = 0) -> Lease:
    return Lease(session_id="s1", owner="me", fence=1, last_seq=last_seq)


def as_store(store: FakeStore) -> Store:
    return cast("Store", store)


async def settled() -> None:
    """Let everything that can run do so. Nothing here waits for anything but the test."""
    for _ in range(15):
        await asyncio.sleep(0)


@dataclass
class _Append:
    batch: Batch
    told: asyncio.Future[None]
    committed: bool = False


@dataclass
class FakeStore:
    """With `at_once`, an append is stored and told of by itself; otherwise it waits for `commit` and `tell`."""

    at_once: bool = False
    events: list[EventRow] = field(default_factory=list)
    """What is stored."""
    batches: list[Batch] = field(default_factory=list)
    attempts: int = 0
    reads: int = 0
    _append: _Append | None = None

    async def append(self, lease: Lease, batch: Batch) -> None:
        assert self._append is None, "a journal has one batch on its way"
        self.attempts += 1
        if self.at_once:
            await asyncio.sleep(0)
            self._store(batch)
            return
        self._append = _Append(batch, asyncio.get_running_loop().create_future())
        try:
            await self._append.told
        finally:
            self._append = None

    async def read(self, session_id: str, *, after: int = 0, limit: int = 1000) -> list[EventRow]:
        self.reads += 1
        found = self.events[after : after + limit]
        await asyncio.sleep(0)
        return found

    # ------------------------------------------------------------ the test's hand

    @property
    def is_waiting(self) -> bool:
        """Whether there is an append that nothing has become of."""
        return self._append is not None and not self._append.committed

    @property
    def is_committed(self) -> bool:
        """Whether there is an append that is stored, and whose owner does not know it."""
        return self._append is not None and self._append.committed

    def commit(self) -> None:
        """What is being appended can be read from now on."""
        assert self._append is not None
        self._store(self._append.batch)
        self._append.committed = True

    def tell(self) -> None:
        """Whoever appended learns that it is stored."""
        assert self._append is not None
        self._append.told.set_result(None)

    def take(self) -> None:
        """Store what is being appended, and say so."""
        self.commit()
        self.tell()

    def refuse(self, error: Exception) -> None:
        """What is being appended is not stored."""
        assert self._append is not None
        self._append.told.set_exception(error)

    async def recover(self) -> None:
        """From now on everything is stored at once."""
        self.at_once = True
        if self.is_waiting:
            self.take()
        elif self.is_committed:
            self.tell()
        await settled()

    def _store(self, batch: Batch) -> None:
        if batch.events and batch.events[0].seq != len(self.events) + 1:
            raise StoreError(f"event {batch.events[0].seq} does not follow {len(self.events)}")
        self.events += batch.events
        self.batches.append(batch)

"""The guards that count in the store, on a real one: it survives Handrail, and all processes see it."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from handrail.errors import SessionLimit
from handrail.sessions.guards.restarts import RestartLimit, check_restart
from handrail.sessions.guards.spending import DayPurse, midnight_before
from handrail.store.base import Batch, RunRow, SessionRow, StartRow
from handrail.store.sqlite import SqliteStore


@pytest.fixture
async def path(tmp_path: Path) -> AsyncIterator[str]:
    """A store with one session."""
    where = str(tmp_path / "handrail.db")
    store = SqliteStore(where)
    await store.open()
    await store.create_session(SessionRow(id="s1", cwd="/", created_at=1.0, updated_at=1.0))
    await store.close()
    return where


async def append(path: str, batch: Batch) -> None:
    """What a process does that then ends."""
    store = SqliteStore(path)
    await store.open()
    try:
        lease = await store.acquire("s1", "a process", now=time.time())
        await store.append(lease, batch)
        await store.release(lease)
    finally:
        await store.close()


async def test_restarts_are_counted_over_restarts_of_handrail(path: str) -> None:
    now = time.time()
    for number, why in enumerate(["new", "running", "resume", "recovery", "recovery", "recovery"]):
        await append(path, Batch(starts=[StartRow(at=now - 60 + number, why=why)]))
    store = SqliteStore(path)
    await store.open()
    try:
        with pytest.raises(SessionLimit, match="restarted 3 times"):
            await check_restart(store, "s1", RestartLimit(), now=now)
        await check_restart(store, "s1", RestartLimit(restarts=4), now=now)
        await check_restart(store, "s1", RestartLimit(), now=now + 3600)
    finally:
        await store.close()


async def test_a_day_counts_what_other_processes_have_stored(path: str, tmp_path: Path) -> None:
    now = time.time()
    midnight = midnight_before(now)
    store = SqliteStore(path)
    await store.open()

    async def read_spent(since: float) -> float:
        return await store.spent(since=since)

    try:
        async with DayPurse(5.0, read_spent=read_spent, directory=tmp_path / "today", clock=lambda: now) as today:
            assert today.spent == 0.0
            rows = [
                RunRow(number=1, started_seq=1, started_at=1.0, completed_seq=2, completed_at=midnight - 1, cost_usd=9),
                RunRow(number=2, started_seq=3, started_at=1.0, completed_seq=4, completed_at=midnight + 1, cost_usd=4),
                RunRow(number=3, started_seq=5, started_at=2.0),
            ]
            await append(path, Batch(runs=rows))
            await today.look()
            assert today.spent == 4.0
    finally:
        await store.close()

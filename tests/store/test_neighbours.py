"""The look at what others store: a thread while somebody watches, and none otherwise."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import pytest

from handrail.testing._store_checks.support import batch_of, new_session, session

from .support import opened

PATIENCE = 30


def lookers() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "handrail-neighbours"]


async def nobody_looks() -> None:
    async with asyncio.timeout(PATIENCE):
        while lookers():
            await asyncio.sleep(0.01)


@pytest.mark.slow
async def test_a_thread_looks_only_while_somebody_watches(tmp_path: Path) -> None:
    async with opened(tmp_path / "handrail.db", between_looks=0.01) as store:
        assert not lookers()
        stops = [store.watch(lambda session_id, last_seq: None) for _ in range(3)]
        assert len(lookers()) == 1
        for stop in stops:
            assert len(lookers()) == 1
            stop()
            stop()
        await nobody_looks()
        for _ in range(50):
            store.watch(lambda session_id, last_seq: None)()
        store.watch(lambda session_id, last_seq: None)
        assert lookers()
    assert not lookers()


async def test_whoever_watched_before_a_store_was_opened_hears_too(tmp_path: Path) -> None:
    told = asyncio.Event()
    path = tmp_path / "handrail.db"
    async with opened(path, between_looks=0.01) as store, opened(path) as other:
        await store.close()
        store.watch(lambda session_id, last_seq: told.set())
        assert not lookers()
        await store.open()
        await other.create_session(session("s1"))
        await asyncio.wait_for(told.wait(), PATIENCE)


@pytest.mark.slow
async def test_what_one_stores_oneself_is_told_once(tmp_path: Path) -> None:
    """Also when looks come at the same time."""
    told: list[tuple[str, int]] = []
    seen = asyncio.Event()

    def hear(session_id: str, last_seq: int) -> None:
        if session_id == "mine":
            told.append((session_id, last_seq))
        else:
            seen.set()

    path = tmp_path / "handrail.db"
    async with opened(path, between_looks=0.01) as store, opened(path) as other:
        lease = await new_session(store, "mine")
        store.watch(hear)
        for number in range(1, 31):
            await store.append(lease, batch_of(number))
            seen.clear()
            await other.create_session(session(f"theirs{number}"))
            await asyncio.wait_for(seen.wait(), PATIENCE)
    assert told == [("mine", number) for number in range(1, 31)]

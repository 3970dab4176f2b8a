"""One thread writes, in groups; those who wait and those who watch hear of it on their own event loops."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from handrail.errors import AlreadyDecided, StoreError
from handrail.store import SqliteStore
from handrail.store.base import Batch, Watcher
from handrail.testing._store_checks.support import ask, batch_of, decision, event, new_session, outcome

from .support import numbers, opened


class HeldUp:
    """Keeps the writer waiting, so that what is asked for meanwhile makes one group."""

    def __init__(self, path: Path) -> None:
        self._connection = sqlite3.connect(path, isolation_level=None)

    def __enter__(self) -> None:
        self._connection.execute("BEGIN IMMEDIATE")

    def __exit__(self, *error: object) -> None:
        self._connection.execute("ROLLBACK")
        self._connection.close()


async def submitted() -> None:
    """Let the tasks that were created reach the store: one step of each does that."""
    await asyncio.sleep(0)


async def test_what_waits_together_is_stored_together_and_fails_alone(tmp_path: Path) -> None:
    path = tmp_path / "handrail.db"
    async with opened(path) as store:
        lease = await new_session(store)
        await store.append(lease, Batch(asks=[ask()]))
        with HeldUp(path):
            first = asyncio.create_task(store.append(lease, batch_of(1)))
            calls = [
                store.append(lease, batch_of(2)),
                store.append(lease, batch_of(9)),
                store.decide(decision(by="ann")),
                store.decide(decision(by="bob")),
                store.append(lease, batch_of(3)),
            ]
            rest = [asyncio.create_task(outcome(call)) for call in calls]
            await submitted()
        await first
        kinds = [type(await task) for task in rest]
        assert kinds == [type(None), StoreError, type(None), AlreadyDecided, type(None)]
        assert await numbers(store) == [1, 2, 3]


async def test_a_row_that_sqlite_refuses_fails_alone(tmp_path: Path) -> None:
    path = tmp_path / "handrail.db"
    async with opened(path) as store:
        good, bad = await new_session(store, "good"), await new_session(store, "bad")
        with HeldUp(path):
            calls = [
                store.append(good, batch_of(1)),
                store.append(bad, Batch(events=[event(1, type=None)])),
                store.append(bad, Batch(events=[event(1, run={"not": "storable"})])),
                store.append(good, batch_of(2)),
            ]
            tasks = [asyncio.create_task(outcome(call)) for call in calls]
            await submitted()
        outcomes = [await task for task in tasks]
        assert outcomes[0] is None
        assert outcomes[3] is None
        assert all(isinstance(found, StoreError) for found in outcomes[1:3])
        assert await numbers(store, "good") == [1, 2]
        assert await numbers(store, "bad") == []
        await store.append(bad, batch_of(1))


async def test_a_group_comes_back_in_one_call_and_wakes_once_for_each_session(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "handrail.db"
    async with opened(path) as store:
        lease = await new_session(store)
        wakes: list[tuple[str, int]] = []
        store.watch(lambda session_id, last_seq: wakes.append((session_id, last_seq)))
        calls = counted(monkeypatch, asyncio.get_running_loop())
        with HeldUp(path):
            tasks = [asyncio.create_task(store.append(lease, batch_of(seq))) for seq in range(1, 101)]
            await submitted()
        await asyncio.gather(*tasks)
        # The first may have been taken before the others came.
        assert len(calls) <= 2
        own = [wake for wake in wakes if wake[1]]  # of what was there before, a watcher may hear late
        assert len(own) <= 2
        assert own[-1] == ("s1", 100)


def counted(monkeypatch: pytest.MonkeyPatch, loop: asyncio.AbstractEventLoop) -> list[object]:
    """Calls into the event loop from the writer's thread."""
    calls: list[object] = []
    original = loop.call_soon_threadsafe

    def call_soon_threadsafe(*arguments: object, **named: object) -> object:
        if threading.current_thread().name == "handrail-writer":
            calls.append(arguments)
        return original(*arguments, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(loop, "call_soon_threadsafe", call_soon_threadsafe)
    return calls


async def test_an_append_is_seen_through_when_its_caller_goes_away(tmp_path: Path) -> None:
    path = tmp_path / "handrail.db"
    async with opened(path) as store:
        lease = await new_session(store)
        with HeldUp(path):
            task = asyncio.create_task(store.append(lease, batch_of(1)))
            await submitted()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        await store.append(lease, batch_of(2))
        assert await numbers(store) == [1, 2]


async def test_a_decision_is_dropped_when_its_caller_goes_away_in_time(tmp_path: Path) -> None:
    path = tmp_path / "handrail.db"
    async with opened(path) as store:
        lease = await new_session(store)
        await store.append(lease, Batch(asks=[ask()]))
        with HeldUp(path):
            # The writer takes the append, and waits with it; the decision is behind it.
            append = asyncio.create_task(store.append(lease, batch_of(1)))
            await submitted()
            await asyncio.to_thread(writer_is_waiting, store)
            task = asyncio.create_task(store.decide(decision(by="ann")))
            await submitted()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        await append
        assert [row.state for row in await store.asks("s1")] == ["pending"]
        await store.decide(decision(by="bob"))


def writer_is_waiting(store: SqliteStore) -> None:
    """Until the queue is empty: what was in it has been taken."""
    deadline = time.monotonic() + 30
    while not store._engine._writer._queue.empty():
        assert time.monotonic() < deadline
        time.sleep(0.001)


async def test_closing_finishes_what_was_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "handrail.db"
    async with opened(path) as store:
        lease = await new_session(store)
        tasks = [asyncio.create_task(store.append(lease, batch_of(seq))) for seq in range(1, 51)]
        await submitted()
        await store.close()
        await asyncio.gather(*tasks)
        await store.open()
        assert await numbers(store) == list(range(1, 51))


async def test_event_loops_in_several_threads_share_a_store(tmp_path: Path) -> None:
    async with opened(tmp_path / "handrail.db") as store:
        lease = await new_session(store)
        woken: list[tuple[str, int]] = []

        async def elsewhere() -> list[int]:
            done = asyncio.Event()
            threads: list[int] = []

            def watcher(session_id: str, last_seq: int) -> None:
                threads.append(threading.get_ident())
                done.set()

            stop = store.watch(watcher)
            asyncio.run_coroutine_threadsafe(store.append(lease, batch_of(1)), home)
            await asyncio.wait_for(done.wait(), 30)
            stop()
            assert set(threads) == {threading.get_ident()}
            return [row.seq for row in await store.read("s1")]

        home = asyncio.get_running_loop()
        store.watch(lambda session_id, last_seq: woken.append((session_id, last_seq)))
        assert await asyncio.to_thread(asyncio.run, elsewhere()) == [1]
        await store.append(lease, batch_of(2))
        # That the session was made may be told once more, by the look at what other processes did.
        assert [told for told in woken if told != ("s1", 0)] == [("s1", 1), ("s1", 2)]


async def test_a_watcher_on_a_loop_that_is_gone_does_no_harm(tmp_path: Path) -> None:
    async with opened(tmp_path / "handrail.db") as store:
        lease = await new_session(store)

        async def watch_and_leave(watcher: Watcher) -> Callable[[], None]:
            return store.watch(watcher)

        await asyncio.to_thread(asyncio.run, watch_and_leave(lambda session_id, last_seq: None))
        await store.append(lease, batch_of(1))
        assert await numbers(store) == [1]


async def test_decisions_and_durable_batches_are_synced_and_events_are_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What SQLite does then is its own business; that it is told is ours."""
    told: list[str] = []
    connect = sqlite3.connect

    def traced(*arguments: Any, **named: Any) -> sqlite3.Connection:
        connection: sqlite3.Connection = connect(*arguments, **named)
        connection.set_trace_callback(told.append)
        return connection

    monkeypatch.setattr(sqlite3, "connect", traced)
    async with opened(tmp_path / "handrail.db") as store:
        lease = await new_session(store)
        await store.append(lease, batch_of(1, asks=[ask()]))
        told.clear()
        await store.append(lease, batch_of(2, durable=True))
        await store.append(lease, batch_of(3))
        await store.append(lease, batch_of(4))
        await store.decide(decision())
    wanted = ("PRAGMA synchronous", "INSERT INTO events", "UPDATE asks")
    assert [line for line in told if line.startswith("PRAGMA sync")] == [
        "PRAGMA synchronous = FULL",
        "PRAGMA synchronous = NORMAL",
        "PRAGMA synchronous = FULL",
    ]
    order = ["".join(name[0] for name in wanted if line.startswith(name)) for line in told]
    assert "".join(order) == "PIPIIPU"


async def test_many_commits_are_moved_into_the_database(tmp_path: Path) -> None:
    path = tmp_path / "handrail.db"
    async with opened(path) as store:
        lease = await new_session(store)
        before = path.stat().st_size
        seq = 0
        while path.stat().st_size == before:
            seq += 1
            assert seq < 2000
            await store.append(lease, batch_of(seq))
        assert await numbers(store) == list(range(1, seq + 1))
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT count(*) FROM events").fetchone() == (seq,)

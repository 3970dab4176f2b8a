"""Several processes use one database, and any of them may be killed at any moment."""

from __future__ import annotations

import asyncio
import json
import random
import subprocess
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from handrail.store.base import Batch
from handrail.testing._store_checks.support import ask, new_session

from .support import DEADLINE, finished, numbers, opened, python

PROCESSES = 3
ASKS = 25

COMPETE = """
import asyncio, json, sys
from handrail.errors import AlreadyDecided, LeaseHeld
from handrail.store import SqliteStore
from handrail.testing._store_checks.support import NOW, ask, batch_of, decision, new_session

path, name, asks = sys.argv[1], sys.argv[2], int(sys.argv[3])

async def won(call, refusal):
    try:
        await call
    except refusal:
        return False
    return True

async def main():
    store = SqliteStore(path)
    await store.open()
    print("ready", flush=True)
    sys.stdin.readline()
    lease = await new_session(store, name, name)
    holds = await won(store.acquire("contested", name, now=NOW), LeaseHeld)
    decided = []
    for number in range(1, asks + 1):
        await store.append(lease, batch_of(number))
        if await won(store.decide(decision(f"ask{number}", name)), AlreadyDecided):
            decided.append(number)
    print(json.dumps({"decided": decided, "holds": holds}))
    await store.close()

asyncio.run(main())
"""


@pytest.mark.slow
async def test_processes_that_want_the_same(tmp_path: Path) -> None:
    path = tmp_path / "handrail.db"
    async with opened(path) as store:
        lease = await new_session(store)
        await store.append(lease, Batch(asks=[ask(f"ask{number}") for number in range(1, ASKS + 1)]))
        await new_session(store, "contested")
        await store.release(await store.acquire("contested", "nobody", now=0, force=True))
    processes = [python(COMPETE, path, f"process{number}", ASKS) for number in range(PROCESSES)]
    outcomes = race(processes)
    async with opened(path) as store:
        winners = {row.id: row.decided_by for row in await store.asks("s1", states=("decided",))}
        told = {
            f"ask{number}": f"process{index}" for index, found in enumerate(outcomes) for number in found["decided"]
        }
        assert sum(len(found["decided"]) for found in outcomes) == ASKS
        assert winners == told
        assert sum(found["holds"] for found in outcomes) == 1
        for number in range(PROCESSES):
            assert await numbers(store, f"process{number}") == list(range(1, ASKS + 1))
        assert await store.check() == []


def race(processes: list[subprocess.Popen[str]]) -> list[dict[str, Any]]:
    """Let all begin when all are ready; what each said at its end."""
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    return [json.loads(finished(process)) for process in processes]


APPEND = """
import asyncio, sys
from handrail.store import SqliteStore
from handrail.store.base import Batch
from handrail.testing._store_checks.support import NOW, ask, batch_of, new_session

async def main():
    async with SqliteStore(sys.argv[1]) as store:
        lease = await new_session(store, "theirs", "worker")
        await store.append(lease, batch_of(1, 3, asks=[ask(session_id="theirs")]))
        print("stored", flush=True)
        sys.stdin.readline()
        await store.append(lease, Batch(session={"status": "running"}))
        await store.release(lease)
        await store.delete_session("theirs")

asyncio.run(main())
"""


@pytest.mark.slow
async def test_a_watcher_hears_of_what_another_process_does(tmp_path: Path) -> None:
    path = tmp_path / "handrail.db"
    told: asyncio.Queue[tuple[str, int]] = asyncio.Queue()
    async with opened(path) as store:
        stop = store.watch(lambda session_id, last_seq: told.put_nowait((session_id, last_seq)))
        process = python(APPEND, path)
        async with asyncio.timeout(DEADLINE):
            while await told.get() != ("theirs", 3):
                pass
            assert [row.session_id for row in await store.asks(states=("pending",))] == ["theirs"]
            await asyncio.to_thread(finished, process)
            while await told.get() != ("theirs", 0):
                pass
        assert await store.get_session("theirs") is None
        stop()


OPEN = """
import asyncio, sys
from handrail.store import SqliteStore

async def main():
    store = SqliteStore(sys.argv[1])
    print("ready", flush=True)
    sys.stdin.readline()
    await store.open()
    print(len(await store.list_sessions()))
    await store.close()

asyncio.run(main())
"""


@pytest.mark.slow
async def test_processes_that_create_the_database_at_once(tmp_path: Path) -> None:
    path = tmp_path / "state" / "handrail.db"
    assert race([python(OPEN, path) for _ in range(PROCESSES)]) == [0] * PROCESSES
    async with opened(path) as store:
        await new_session(store)


# Each batch has three events, an ask, a message and a frame; every second ask is decided, twice. What was promised is
# printed after it was.
WORK = """
import asyncio, sys
from handrail.errors import AlreadyDecided
from handrail.store import SqliteStore
from handrail.store.base import MessageRow
from handrail.testing._store_checks.support import NOW, ask, batch_of, decision, frame

async def decided(store, number, by):
    try:
        await store.decide(decision(f"ask{number}", by))
    except AlreadyDecided:
        return
    print("decided", number, by, flush=True)

async def main():
    store = SqliteStore(sys.argv[1])
    await store.open()
    lease = await store.acquire("s1", "worker", now=NOW, force=True)
    number = lease.last_seq // 3
    while True:
        number += 1
        message = MessageRow(uuid=f"m{number}", content=b"{}", at=NOW)
        await store.append(
            lease,
            batch_of(3 * number - 2, 3, asks=[ask(f"ask{number}")], messages=[message], frames=[frame(number)]),
        )
        print("stored", number, flush=True)
        if number % 2 == 0:
            await asyncio.gather(decided(store, number, "ann"), decided(store, number, "bob"))

asyncio.run(main())
"""


@pytest.mark.slow
async def test_a_process_is_killed_at_any_moment(tmp_path: Path) -> None:
    path = tmp_path / "handrail.db"
    chance = random.Random(7)
    async with opened(path) as store:
        await new_session(store)
    stored, decided = 0, dict[str, str]()
    for _ in range(20):
        promises = killed_after(python(WORK, path), chance.uniform(0.0, 0.15))
        stored = max([stored, *(int(words[1]) for words in promises if words[0] == "stored")])
        decided |= {f"ask{words[1]}": words[2] for words in promises if words[0] == "decided"}
        async with opened(path) as store:
            assert await store.check() == []
            events = await numbers(store)
            batches = len(events) // 3
            assert batches >= stored
            assert events == list(range(1, 3 * batches + 1))
            asks = {row.id: row for row in await store.asks("s1")}
            assert asks.keys() == {f"ask{number}" for number in range(1, batches + 1)}
            assert len(await store.messages("s1")) == len(await store.frames("s1", limit=1_000_000)) == batches
            assert {name: asks[name].decided_by for name in decided} == decided
            assert all((row.state == "decided") == (row.answer is not None) for row in asks.values())
    assert stored > 20
    assert len(decided) > 10


def killed_after(process: subprocess.Popen[str], seconds: float) -> list[list[str]]:
    """What a process had said when it was killed, so long after it said something for the first time."""
    assert process.stdout is not None
    first = process.stdout.readline()
    time.sleep(seconds)  # the moment itself is what is tested
    process.kill()
    output, errors = process.communicate()
    assert errors == ""
    lines = (first + output).splitlines(keepends=True)
    words = [line.split() for line in lines if line.endswith("\n")]
    assert Counter(word[0] for word in words).keys() <= {"stored", "decided"}
    return words

"""Many sessions that each wait until what they wrote is stored: what they gain from sharing commits."""

from __future__ import annotations

import asyncio
import sqlite3
import tempfile
import time
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

from bench.common import Contender, Place, Samples, SessionGate, Verdict, cpu_seconds
from bench.contenders import Client
from handrail.events.codec import encode_event
from handrail.events.model import Text
from handrail.sessions.feed import Feed
from handrail.sessions.journal import Journal
from handrail.store.base import SessionRow
from handrail.store.sqlite import SqliteStore

SESSIONS = 50
TEXT = "What a model says in one block of an answer. " * 12

MANY = Contender(f"{SESSIONS} sessions", "journal", look=str(SESSIONS))
ONE = Contender("1 session", "journal", look="1")
EACH = Contender("a commit each", "floor", look="rows")


class GroupCommit(SessionGate):
    name = "group-commit"
    title = f"{SESSIONS} sessions that wait for each event to be stored"
    contenders = (MANY, ONE, EACH)
    rounds = 5
    quick_rounds = 1

    def prepare(self, place: Place, *, quick: bool) -> None:
        place.write("saturated", b"", events=2_000 if quick else 10_000)

    async def measure(self, client: Client, contender: Contender, place: Place) -> Mapping[str, float]:
        events = int(place.settings()["events"])
        with tempfile.TemporaryDirectory(prefix="handrail-bench-") as directory:
            if contender is EACH:
                return commit_each(Path(directory), events)
            return await commit_together(Path(directory), int(contender.look), events)

    def verdicts(self, samples: Samples) -> list[Verdict]:
        def ratios(metric: str, above: Contender, below: Contender) -> list[float]:
            return samples.ratios(metric, above.name, below.name)

        return [
            Verdict("more events a second than one session", ratios("per_second", MANY, ONE)),
            Verdict("events a second, of bare SQLite with a commit each", ratios("per_second", MANY, EACH)),
            Verdict("of one session, CPU an event", ratios("us_per_event", MANY, ONE)),
            Verdict("events a second", samples.values("per_second", MANY.name), unit="", digits=0),
        ]


async def commit_together(directory: Path, sessions: int, events: int) -> Mapping[str, float]:
    """Each session adds an event when the one before it is stored."""
    store = SqliteStore(str(directory / "journal.db"))
    async with store:
        journals = [await new_journal(store, f"{number:032x}") for number in range(sessions)]
        before, began = cpu_seconds(), time.perf_counter()
        async with asyncio.TaskGroup() as group:
            for journal in journals:
                group.create_task(write(journal, events // sessions))
        return _rates(events, before, began)


async def new_journal(store: SqliteStore, session_id: str) -> Journal:
    await store.create_session(SessionRow(id=session_id, cwd="/", created_at=1.0, updated_at=1.0))
    lease = await store.acquire(session_id, "bench", now=1.0)
    return Journal(store, lease, Feed(session_id, store))


async def write(journal: Journal, count: int) -> None:
    for number in range(count):
        journal.add([Text(block=f"block-{number}", text=TEXT)])
        await journal.stored()


def commit_each(directory: Path, events: int) -> Mapping[str, float]:
    """One connection, no threads, the same settings: what a row costs that is committed alone."""
    with closing(sqlite3.connect(directory / "rows.db", isolation_level=None)) as database:
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("PRAGMA synchronous = NORMAL")
        database.execute("CREATE TABLE events (session_id TEXT, seq INTEGER, body BLOB, PRIMARY KEY (session_id, seq))")
        before, began = cpu_seconds(), time.perf_counter()
        for number in range(events):
            body = encode_event(Text(block=f"block-{number}", text=TEXT))
            database.execute("INSERT INTO events VALUES (?, ?, ?)", ("0" * 32, number, body))
        return _rates(events, before, began)


def _rates(events: int, before: float, began: float) -> Mapping[str, float]:
    return {
        "per_second": events / (time.perf_counter() - began),
        "us_per_event": (cpu_seconds() - before) / events * 1e6,
    }

"""A session of 100,000 events: reading all of it into a view, and joining at its end."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import aclosing, closing
from pathlib import Path

import msgspec

from bench import traffic
from bench.common import Contender, Place, Samples, SessionGate, Verdict, cpu_seconds
from bench.contenders import Client
from bench.contenders.journal import places_in
from bench.gates.memory import Peak
from handrail.events.codec import decode_event
from handrail.events.model import Event
from handrail.events.translate import Translator
from handrail.places import Places
from handrail.protocol.codec import decode_line
from handrail.sessions.feed import Feed
from handrail.sessions.journal import Journal
from handrail.sessions.manager import Manager
from handrail.store.base import SessionRow
from handrail.store.place import store_path
from handrail.store.sqlite import SqliteStore

EVENTS = 100_000
SESSION = "0" * 32
TAIL = 100
CHUNK = 1_000

VIEW = Contender("Session.view", "journal", look="view")
READ = Contender("subscribe", "journal", look="read")
ROWS = Contender("rows, decoded", "floor", look="rows")
JSON = Contender("rows, json.loads", "floor", look="json")


class Replay(SessionGate):
    name = "replay"
    title = f"a session of {EVENTS:,} events"
    contenders = (VIEW, READ, ROWS, JSON)
    rounds = 5
    quick_rounds = 1

    def prepare(self, place: Place, *, quick: bool) -> None:
        count = EVENTS // 10 if quick else EVENTS
        place.write("saturated", b"", events=count)
        asyncio.run(write_session(places_in(place.path), count))

    async def measure(self, client: Client, contender: Contender, place: Place) -> Mapping[str, float]:
        events = int(place.settings()["events"])
        places = places_in(place.path)
        if contender in (ROWS, JSON):
            return measure_rows(places, events, typed=contender is ROWS)
        async with Manager.local(places) as manager:
            tail = await read_tail(manager, events)
            peak = Peak()
            before, began = cpu_seconds(), time.perf_counter()
            seen = await (view_all if contender is VIEW else read_all)(manager)
            took = _per_event(events, before, began)
            assert seen == events, f"{seen} of {events} events were read"
            return {**took, "peak_mb": peak.rise() / 1e6, "tail_ms": tail * 1e3}

    def verdicts(self, samples: Samples) -> list[Verdict]:
        def ratios(above: Contender, below: Contender) -> list[float]:
            return samples.ratios("us_per_event", above.name, below.name)

        return [
            Verdict("a view of all: CPU an event", samples.values("us_per_event", VIEW.name), unit=" µs"),
            Verdict("reading all: CPU an event", samples.values("us_per_event", READ.name), unit=" µs"),
            Verdict("reading all, of rows decoded in one loop", ratios(READ, ROWS)),
            Verdict("reading all, of rows with json.loads", ratios(READ, JSON)),
            Verdict("a view of all: memory", samples.values("peak_mb", VIEW.name), unit=" MB", digits=0),
            Verdict("reading all: memory", samples.values("peak_mb", READ.name), unit=" MB", digits=0),
            Verdict(f"the last {TAIL} events", samples.values("tail_ms", READ.name), unit=" ms", digits=1),
        ]


async def write_session(places: Places, count: int) -> None:
    """A session whose events are those of a long conversation."""
    store = SqliteStore(store_path(places))
    async with store:
        row = SessionRow(id=SESSION, cwd="/", created_at=1.0, updated_at=1.0, title="A long one")
        await store.create_session(row)
        lease = await store.acquire(SESSION, "bench", now=1.0)
        journal = Journal(store, lease, Feed(SESSION, store))
        events = conversation_events()
        while journal.seq < count:
            journal.add([next(events) for _ in range(min(CHUNK, count - journal.seq))])
            await journal.stored()
        await journal.close()
        await store.release(lease)


def conversation_events() -> Iterator[Event]:
    """The events of a conversation that does not end."""
    translator = Translator()
    for frame in traffic.conversation(EVENTS * 10):
        for item in translator.receive(decode_line(msgspec.json.encode(frame))):
            if isinstance(item, Event):
                yield item


async def view_all(manager: Manager) -> int:
    return (await (await manager.get(SESSION)).view()).seq


async def read_all(manager: Manager) -> int:
    count = 0
    async with aclosing((await manager.get(SESSION)).subscribe(follow=False)) as items:
        async for _ in items:
            count += 1
    return count


async def read_tail(manager: Manager, events: int) -> float:
    """Seconds from `subscribe` to the last event, for somebody who saw all but the last few."""
    session = await manager.get(SESSION)
    began = time.perf_counter()
    async with aclosing(session.subscribe(after=events - TAIL)) as items:
        for _ in range(TAIL):
            await anext(items)
        return time.perf_counter() - began


def measure_rows(places: Places, events: int, *, typed: bool) -> Mapping[str, float]:
    """The floor: one query, and each body decoded, into events or into dictionaries."""
    decode: Callable[[bytes], object] = decode_event if typed else json.loads
    peak = Peak()
    before, began = cpu_seconds(), time.perf_counter()
    with closing(sqlite3.connect(f"file:{Path(store_path(places))}?mode=ro", uri=True)) as database:
        rows = database.execute("SELECT body FROM events WHERE session_id = ? ORDER BY seq", (SESSION,))
        seen = sum(1 for (body,) in rows if decode(body) is not None)
    assert seen == events
    return {**_per_event(events, before, began), "peak_mb": peak.rise() / 1e6}


def _per_event(events: int, before: float, began: float) -> Mapping[str, float]:
    cpu, wall = cpu_seconds() - before, time.perf_counter() - began
    return {"us_per_event": cpu / events * 1e6, "wall_us_per_event": wall / events * 1e6}

"""Copies of other machines' sessions, beyond what every store must do: backups, older databases, long journals."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from handrail.errors import CopyDiverged, StoreCorrupt
from handrail.store import SqliteStore, restore
from handrail.store.base import Batch, CopyHead, MessageRow
from handrail.store.copies_out import read_page
from handrail.testing._store_checks.copies import HOST, busy_session, copy_all, expect_copied
from handrail.testing._store_checks.support import NOW, ask, batch_of, decision, event, new_session

from .support import numbers, opened
from .test_upgrades import VERSIONS, load

LONG = 30_000
STEP = 1_000
NORMAL, FULL = 1, 2
"""The modes of SQLite."""


async def heads(store: SqliteStore) -> list[CopyHead]:
    return await store.heads()


# ------------------------------------------------------------ backups


async def test_a_host_that_lost_its_journal_is_found_out_though_it_went_on(tmp_path: Path) -> None:
    path, backup = tmp_path / "host.db", tmp_path / "backup.db"
    async with opened(tmp_path / "hub.db") as hub:
        async with opened(path) as source:
            lease = await busy_session(source)
            await source.backup(str(backup))
            await source.append(lease, batch_of(5, 3))
            await copy_all(source, hub)
        await asyncio.to_thread(lambda: restore(str(backup), str(path), force=True))
        async with opened(path) as source:
            for _ in range(2):
                lease = await source.acquire("s1", "me", now=NOW, force=True)
            others = [event(seq, body=b'{"other":%d}' % seq) for seq in range(5, 10)]
            await source.append(lease, Batch(events=others))
            (source_head,), (copy,) = await heads(source), await hub.copied(HOST)
            assert copy.is_behind(source_head)
            assert not copy.has_other_past(source_head)
            page = await source.copy_page("s1", after=copy.last_seq)
            assert page is not None
            with pytest.raises(CopyDiverged, match=r"event 7 of session s1 is another one .* set the copy aside"):
                await hub.take_copy(HOST, page)
            await hub.set_copy_aside("s1", as_id="aside", title="Lost")
            await copy_all(source, hub)
            await expect_copied(source, hub)
            assert await numbers(hub, "aside") == list(range(1, 8))


@pytest.mark.slow
async def test_rows_that_a_restored_host_never_had_leave_the_copy(tmp_path: Path) -> None:
    path, backup = tmp_path / "host.db", tmp_path / "backup.db"
    async with opened(tmp_path / "hub.db") as hub:
        async with opened(path) as source:
            lease = await busy_session(source)
            await source.backup(str(backup))
            await source.decide(decision("ask2"))
            await source.append(
                lease, Batch(asks=[ask("ask3")], messages=[MessageRow(uuid="m9", content=b"1", at=NOW)])
            )
            await copy_all(source, hub)
        await asyncio.to_thread(lambda: restore(str(backup), str(path), force=True))
        async with opened(path) as source:
            (source_head,), (copy,) = await heads(source), await hub.copied(HOST)
            assert copy.journal != source_head.journal
            assert copy.is_behind(source_head)
            assert not copy.has_other_past(source_head)
            page = await source.copy_page("s1", after=copy.last_seq, revision=0)
            assert page is not None
            await hub.take_copy(HOST, page)
            await expect_copied(source, hub)
            assert await heads(source) == await hub.copied(HOST)


async def test_a_restored_hub_goes_on_where_its_copies_stand(tmp_path: Path) -> None:
    path, backup = tmp_path / "hub.db", tmp_path / "backup.db"
    async with opened(tmp_path / "host.db") as source:
        lease = await busy_session(source)
        async with opened(path) as hub:
            await copy_all(source, hub)
            await hub.backup(str(backup))
            await source.append(lease, batch_of(5, 3))
            await copy_all(source, hub)
        assert await asyncio.to_thread(restore, str(backup), str(path))  # a copy that is live there is in nobody's way
        async with opened(path) as hub:
            row = await hub.get_session("s1")
            assert row is not None
            assert (row.last_seq, row.owner) == (4, f"host:{HOST}")
            await copy_all(source, hub)
            await expect_copied(source, hub)
            assert await hub.check() == []


# ------------------------------------------------------------ older databases


@pytest.mark.slow
@pytest.mark.parametrize("dump", sorted(VERSIONS.glob("*.sql")), ids=lambda dump: f"version {dump.stem}")
async def test_what_an_older_database_has_is_copied_too(dump: Path, tmp_path: Path) -> None:
    path = tmp_path / "handrail.db"
    load(dump, path)
    async with opened(path) as source, opened(tmp_path / "hub.db") as hub:
        assert [head.session_id for head in await heads(source)] == ["s1"]
        pages = await copy_all(source, hub, limit_bytes=1)
        assert pages > 2
        await expect_copied(source, hub)
        assert await hub.copied(HOST) == await heads(source)
        assert [hit.seq for hit in await hub.search("remember")] == [2]


async def test_many_sessions_of_an_older_database_are_offered_in_pages(tmp_path: Path) -> None:
    path = tmp_path / "handrail.db"
    load(VERSIONS / "1.sql", path)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executemany(
            "INSERT INTO sessions SELECT ?, cwd, created_at, updated_at, title, NULL, status, archived, forked_from, "
            "model, cost_usd, settings, 0, 0, 0, NULL, NULL FROM sessions WHERE id = 's1'",
            [(f"more{number}",) for number in range(50)],
        )
    async with opened(path) as source:
        found: list[CopyHead] = []
        while page := await source.heads(after=found[-1].changed if found else 0, limit=7):
            found += page
        assert len(found) == len({head.session_id for head in found}) == 51


async def test_sessions_that_changed_in_one_step_are_offered_together(tmp_path: Path) -> None:
    async with opened(tmp_path / "handrail.db") as source:
        await asyncio.gather(*(new_session(source, f"s{number}") for number in range(40)))
        found: list[CopyHead] = []
        while page := await source.heads(after=found[-1].changed if found else 0, limit=3):
            found += page
        assert sorted(head.session_id for head in found) == sorted(f"s{number}" for number in range(40))


# ------------------------------------------------------------ long journals


def steps_of(path: Path, work: Callable[[sqlite3.Connection], Any]) -> int:
    """How many steps SQLite took, in hundreds."""
    steps = 0

    def count() -> int:
        nonlocal steps
        steps += 1
        return 0

    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.set_progress_handler(count, 100)
        work(connection)
    return steps


@pytest.mark.slow
async def test_a_page_of_a_long_journal_is_read_without_looking_at_the_rest(tmp_path: Path) -> None:
    path = tmp_path / "handrail.db"
    async with opened(path, full_text=False) as store:
        lease = await new_session(store)
        for first in range(1, LONG, STEP):
            events = [event(seq, text="words") for seq in range(first, first + STEP)]
            asks = [ask(f"ask{number}") for number in range(first, first + STEP // 10)]
            await store.append(lease, Batch(events=events, asks=asks))
        (head,) = await heads(store)

    def page(after: int, revision: int) -> int:
        return steps_of(path, lambda connection: read_page(connection, "s1", after, revision, 20_000))

    assert steps_of(path, lambda connection: connection.execute("SELECT sum(at) FROM events").fetchone()) > 600
    assert page(0, 0) < 100  # the first of many
    assert page(LONG // 2, head.revision // 2) < 100
    assert page(LONG - 3, head.revision - 1) < 10  # as of a live session
    assert page(LONG, head.revision) < 10


# ------------------------------------------------------------ the disk


async def test_a_durable_store_waits_for_the_disk_each_time(tmp_path: Path) -> None:
    for durable, wanted in ((True, FULL), (False, NORMAL)):
        async with opened(tmp_path / f"{durable}.db", durable=durable) as store:
            lease = await new_session(store)
            await store.append(lease, batch_of(1))
            assert await store._engine.write(how_it_waits) == wanted


def how_it_waits(connection: sqlite3.Connection) -> int:
    (mode,) = connection.execute("PRAGMA synchronous").fetchone()
    return int(mode)


async def test_a_copy_that_is_damaged_is_said_to_be(tmp_path: Path) -> None:
    path = tmp_path / "hub.db"
    async with opened(tmp_path / "host.db") as source, opened(path) as hub:
        lease = await new_session(source)
        await source.append(lease, Batch(events=[event(1, body=b'{"a":"' + b"x" * 100_000 + b'"}')]))
        await copy_all(source, hub)
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute("UPDATE artefacts SET data = x'00'")
        await source.append(lease, batch_of(2))
        with pytest.raises(StoreCorrupt, match=r"the artefact .* cannot be unpacked"):
            await copy_all(source, hub)
        assert numbers_of(path) == [1]


def numbers_of(path: Path) -> list[int]:
    with closing(sqlite3.connect(path)) as connection:
        return [seq for (seq,) in connection.execute("SELECT seq FROM events ORDER BY seq")]

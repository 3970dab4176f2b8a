"""Older databases are brought up to date, with a copy kept; newer ones are refused."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from handrail.errors import StoreError, StoreLocked, StoreTooNew
from handrail.store import SCHEMA_VERSION, SqliteStore
from handrail.store.base import KeptReply
from handrail.store.migrations import MIGRATIONS, Migration
from handrail.store.schema import APPLICATION_ID
from handrail.testing._store_checks.support import ask, batch_of, new_session

from .support import names, numbers, opened, query

VERSIONS = Path(__file__).parent / "versions"


def add_a_colour(connection: sqlite3.Connection) -> None:
    connection.execute("ALTER TABLE sessions ADD COLUMN colour TEXT NOT NULL DEFAULT 'red'")


def paint_it_blue(connection: sqlite3.Connection) -> None:
    connection.execute("UPDATE sessions SET colour = 'blue'")


def stumble(connection: sqlite3.Connection) -> None:
    connection.execute("UPDATE sessions SET colour = 'black'")
    connection.execute("SELECT * FROM missing")


LATER: Sequence[Migration] = (*MIGRATIONS, add_a_colour, paint_it_blue)
NEXT = SCHEMA_VERSION + 2


async def with_events(path: Path) -> None:
    async with opened(path) as store:
        lease = await new_session(store)
        await store.append(lease, batch_of(1, 5, asks=[ask()]))
        await store.release(lease)


def load(dump: Path, path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(dump.read_text())
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {dump.stem}")


@pytest.mark.parametrize("dump", sorted(VERSIONS.glob("*.sql")), ids=lambda dump: f"version {dump.stem}")
async def test_every_version_that_ever_was_can_be_opened(dump: Path, tmp_path: Path) -> None:
    path = tmp_path / "handrail.db"
    load(dump, path)
    async with opened(path) as store:
        assert await numbers(store) == [1, 2, 3]
        session = await store.get_session("s1")
        assert session is not None
        assert session.title == "From the past"
        assert [row.state for row in await store.asks("s1")] == ["decided"]
        assert [row.uuid for row in await store.messages("s1")] == ["m1"]
        assert len(await store.frames("s1")) == 2
        assert [hit.seq for hit in await store.search("remember")] == [2]
        assert await store.check() == []
        lease = await store.acquire("s1", "me", now=0, force=True)
        await store.append(lease, batch_of(4))
    assert query(path, "PRAGMA user_version") == SCHEMA_VERSION


def test_there_is_a_dump_of_every_version() -> None:
    assert {int(dump.stem) for dump in VERSIONS.glob("*.sql")} == set(range(1, SCHEMA_VERSION + 1))


@pytest.mark.parametrize("dump", sorted(VERSIONS.glob("[!1].sql")), ids=lambda dump: f"version {dump.stem}")
async def test_what_the_hub_kept_is_still_there(dump: Path, tmp_path: Path) -> None:
    path = tmp_path / "handrail.db"
    load(dump, path)
    async with opened(path) as store:
        assert [row.name for row in await store.tokens()] == ["phone"]
        assert [row.action for row in await store.audit_log()] == ["decide"]
        assert [(row.day, row.input_tokens, row.cost_usd) for row in await store.usage()] == [("2023-11-14", 10, 0.5)]
        request = KeptReply(caller="t1", key="k1", request_hash="h1", at=0.0)
        kept = await store.begin_reply(request, forget_before=0.0)
        assert kept is not None
        assert kept.status == 201


def used(tokens: int, cost_usd: float) -> dict[str, Any]:
    return {"inputTokens": tokens, "outputTokens": 2 * tokens, "cacheReadInputTokens": 3, "costUSD": cost_usd}


ENDINGS: Sequence[dict[str, Any] | None] = (
    {"modelUsage": {"opus": used(10, 0.1)}, "cost_usd": 0.1, "total_cost_usd": 0.1},
    {"modelUsage": {"opus": used(30, 0.3), "haiku": used(5, 0.1)}, "cost_usd": 0.3, "total_cost_usd": 0.4},
    {"cost_usd": 0.0, "total_cost_usd": 0.4, "ok": False},
    {"modelUsage": {"opus": used(1000, 9.0)}, "cost_usd": 9.0, "total_cost_usd": 9.0},  # another process
    None,
    {"usage": {"input_tokens": 7, "output_tokens": 8}, "cost_usd": 0.5, "total_cost_usd": 10.0},
)


async def test_what_runs_used_is_read_from_how_they_ended(tmp_path: Path) -> None:
    path = tmp_path / "handrail.db"
    load(VERSIONS / "1.sql", path)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE sessions SET last_seq = 9, model = 'sonnet'")
        for number, ending in enumerate(ENDINGS, 4):
            body = b"damaged" if ending is None else json.dumps({"type": "completed", "answer": "x", **ending}).encode()
            at = 1_700_000_000.0 + number
            connection.execute("INSERT INTO events VALUES ('s1', ?, ?, 'completed', ?, ?, NULL)", (number, at, 1, body))
            connection.execute("INSERT INTO runs VALUES ('s1', ?, 1, ?, ?, ?, 1, 0.0)", (number, at, number, at))
    async with opened(path) as store:
        rows = await store.usage(by=("model",))
        facts = [(row.model, row.input_tokens, row.output_tokens, row.runs, round(row.cost_usd, 6)) for row in rows]
        assert facts == [("haiku", 5, 10, 1, 0.1), ("opus", 1030, 2060, 3, 9.3), ("sonnet", 7, 8, 1, 0.5)]
        assert await store.check() == []


async def test_steps_are_taken_in_order_and_a_copy_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "handrail.db"
    await with_events(path)
    async with opened(path, migrations=LATER) as store:
        assert await numbers(store) == [1, 2, 3, 4, 5]
        assert (await store.statistics())["version"] == NEXT
    assert query(path, "SELECT colour FROM sessions") == "blue"
    copy = tmp_path / f"handrail.db.before-{NEXT}"
    assert oct(copy.stat().st_mode & 0o777) == "0o600"
    assert query(copy, "PRAGMA user_version") == SCHEMA_VERSION
    assert query(copy, "SELECT count(*) FROM events") == 5
    async with opened(path, migrations=LATER):
        pass
    assert names(tmp_path, "*.before*") == [copy.name]


async def test_a_new_database_takes_every_step_and_needs_no_copy(tmp_path: Path) -> None:
    path = tmp_path / "handrail.db"
    async with opened(path, migrations=LATER):
        pass
    assert query(path, "PRAGMA user_version") == NEXT
    assert names(tmp_path) == ["handrail.db", "handrail.db.lock"]


async def test_a_step_that_fails_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "handrail.db"
    await with_events(path)
    for _ in range(2):
        with pytest.raises(StoreError, match=r"handrail\.db could not be brought up to date \(stumble: no such table"):
            await SqliteStore(str(path), migrations=(*MIGRATIONS, add_a_colour, stumble)).open()
    assert query(path, "PRAGMA user_version") == SCHEMA_VERSION
    assert query(path, "SELECT count(*) FROM pragma_table_info('sessions') WHERE name = 'colour'") == 0
    assert names(tmp_path, "*.before*") == [
        f"handrail.db.before-{NEXT}",
        f"handrail.db.before-{NEXT}.2",
    ]
    async with opened(path) as store:
        assert await numbers(store) == [1, 2, 3, 4, 5]


async def test_a_newer_database_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "handrail.db"
    async with opened(path, migrations=LATER):
        pass
    before = path.read_bytes()
    with pytest.raises(
        StoreTooNew, match=rf"newer Handrail \(its version is {NEXT}.*upgrade Handrail, or set HANDRAIL_"
    ):
        await SqliteStore(str(path)).open()
    assert path.read_bytes() == before


@pytest.mark.slow
async def test_nobody_else_may_have_it_open_during_an_upgrade(tmp_path: Path) -> None:
    path = tmp_path / "handrail.db"
    async with opened(path) as store:
        with pytest.raises(StoreLocked, match="other processes have it open: end every other `handrail`"):
            await SqliteStore(str(path), migrations=LATER, lock_timeout=0.1).open()
        lease = await new_session(store)
        await store.append(lease, batch_of(1))
    async with opened(path, migrations=LATER) as store:
        assert await numbers(store) == [1]

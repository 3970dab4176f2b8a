"""The bridge's database: made, brought up to date, and what is said when something is wrong with it."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import sqlite3
import stat
import subprocess
import sys
from contextlib import closing, suppress
from pathlib import Path

import pytest

from handrail.errors import StoreCorrupt, StoreError, StoreLocked, StoreTooNew, StoreUnavailable
from handrail.telegram.state import BridgeState, Tables
from handrail.telegram.state.schema import MIGRATIONS


def names(tables: Tables) -> dict[str, str]:
    return tables.notes("")


def add_colours(connection: sqlite3.Connection) -> None:
    connection.execute("CREATE TABLE colours (name TEXT)")


def fail(connection: sqlite3.Connection) -> None:
    connection.execute("CREATE TABLE half (name TEXT)")
    connection.execute("SELECT nothing")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "telegram.db"


async def made(path: Path) -> None:
    async with BridgeState(str(path)) as state:
        await state.write(lambda t: t.note("kept", "yes"))


async def kept(path: Path) -> bool:
    async with BridgeState(str(path)) as state:
        return await state.read(lambda t: t.noted("kept")) == "yes"


async def test_it_is_made_where_it_is_wanted_and_private(path: Path) -> None:
    async with BridgeState(str(path)) as state:
        await state.write(lambda t: t.note("a", "b"))
        for name in path.parent.iterdir():
            assert stat.S_IMODE(name.stat().st_mode) == 0o600
        assert state.path == str(path)
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (len(MIGRATIONS),)


async def test_what_was_written_is_there_the_next_time(path: Path) -> None:
    await made(path)
    assert await kept(path)


async def test_an_older_one_is_brought_up_to_date_and_kept_beside(path: Path) -> None:
    await made(path)
    async with BridgeState(str(path), migrations=(*MIGRATIONS, add_colours)) as state:
        assert await state.read(names) == {"kept": "yes"}
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("SELECT * FROM colours")
    (backup,) = path.parent.glob("*.before-*")
    assert await kept(backup)


async def test_a_newer_one_is_left_alone(path: Path) -> None:
    async with BridgeState(str(path), migrations=(*MIGRATIONS, add_colours)) as state:
        await state.write(lambda t: t.note("kept", "yes"))
    with pytest.raises(StoreTooNew, match="upgrade Handrail"):
        await made(path)


async def test_a_step_that_fails_changes_nothing(path: Path) -> None:
    await made(path)
    with pytest.raises(StoreError, match="it is as it was"):
        async with BridgeState(str(path), migrations=(*MIGRATIONS, fail)):
            pass
    assert await kept(path)


async def test_the_journal_is_not_taken_for_it(path: Path) -> None:
    path.parent.mkdir()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE events (id)")
    with pytest.raises(StoreUnavailable, match="not one of Handrail's Telegram bridge"):
        await made(path)


@pytest.mark.parametrize("content", [b"", b"this is not a database, whatever its name says" * 100])
def test_what_is_no_database_is_said_and_left_alone(path: Path, content: bytes) -> None:
    path.parent.mkdir()
    path.write_bytes(content)
    with pytest.raises(StoreCorrupt, match="move the file away, and the Telegram bridge starts afresh"):
        asyncio.run(made(path))
    assert path.read_bytes() == content


def test_damage_is_said_and_left_alone(path: Path) -> None:
    asyncio.run(made(path))
    with closing(sqlite3.connect(path)) as connection:
        connection.executemany(
            "INSERT INTO notes (key, value) VALUES (?, ?)", [(str(n), "value" * 200) for n in range(200)]
        )
        connection.commit()
    content = bytearray(path.read_bytes())
    content[len(content) // 2 : len(content) // 2 + 20_000] = b"\xff" * 20_000
    path.write_bytes(content)
    with pytest.raises(StoreCorrupt, match="is damaged"):
        asyncio.run(made(path))
    assert path.read_bytes() == content


async def test_a_place_that_cannot_be(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreUnavailable):
        await made(tmp_path / "file" / "telegram.db")


async def test_a_lock_of_somebody_else(path: Path) -> None:
    await made(path)
    async with BridgeState(str(path), lock_timeout=0.05) as state:
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(StoreLocked, match="locked by another process"):
                await state.write(lambda t: t.note("kept", "no"))
            assert await state.read(names) == {"kept": "yes"}
        await state.write(lambda t: t.note("more", "yes"))
        assert await state.read(names) == {"kept": "yes", "more": "yes"}


async def test_what_is_not_open_says_so(path: Path) -> None:
    state = BridgeState(str(path))
    with pytest.raises(StoreUnavailable, match="async with"):
        await state.read(names)
    async with state:
        pass
    with pytest.raises(StoreUnavailable, match="async with"):
        await state.write(lambda t: t.note("a", "b"))


async def test_who_reads_cannot_write(path: Path) -> None:
    async with BridgeState(str(path)) as state:
        with pytest.raises(StoreError):
            await state.read(lambda t: t.note("a", "b"))
        assert await state.read(names) == {}


async def test_what_was_begun_is_seen_through_and_said(path: Path) -> None:
    begun, go_on = asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()

    def slow(tables: Tables) -> None:
        loop.call_soon_threadsafe(begun.set)
        asyncio.run_coroutine_threadsafe(go_on.wait(), loop).result(20)
        tables.note("slow", "done")

    async with BridgeState(str(path)) as state:
        writing = asyncio.create_task(state.write(slow))
        await begun.wait()
        writing.cancel()
        with suppress(asyncio.CancelledError):
            await writing
        go_on.set()
        await state.write(lambda t: t.note("next", "done"))
        assert await state.read(names) == {"slow": "done", "next": "done"}


async def test_many_at_once(path: Path) -> None:
    def count(tables: Tables) -> None:
        tables.note("count", str(int(tables.noted("count") or 0) + 1))

    async with BridgeState(str(path)) as state:
        await asyncio.gather(*(state.write(count) for _ in range(100)))
        assert await state.read(lambda t: t.noted("count")) == "100"


WRITE_UNTIL_KILLED = """
import asyncio, sys
from handrail.telegram.state import BridgeState

async def main():
    async with BridgeState(sys.argv[1]) as state:
        for number in range(1_000_000):
            await state.write(lambda t: t.keep([(number, b"{}")]))
            print(number, flush=True)

asyncio.run(main())
"""


@pytest.mark.slow
def test_whatever_was_acknowledged_survives_a_kill(path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", WRITE_UNTIL_KILLED, str(path)], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        said = [process.stdout.readline() for _ in range(50)]
        os.kill(process.pid, signal.SIGKILL)
        said += process.stdout.readlines()
    last = max(int(line) for line in said if re.fullmatch(r"\d+\n", line))

    async def stored() -> set[int]:
        async with BridgeState(str(path)) as state:
            return {update.update_id for update in await state.read(lambda t: t.undone())}

    assert set(range(last + 1)) <= asyncio.run(stored())


FILL = """
import asyncio, resource, sys
from handrail.errors import StoreError
from handrail.telegram.state import BridgeState

async def main():
    async with BridgeState(sys.argv[1]) as state:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, resource.RLIM_INFINITY))
        stored = 0
        try:
            while True:
                await state.write(lambda t: t.keep([(stored, b"x" * 50_000)]))
                stored += 1
        except StoreError as error:
            print(type(error).__name__, error)
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        await state.write(lambda t: t.note("goes on", "yes"))
        print(await state.read(lambda t: (t.noted("goes on"), len(t.undone()) == stored)))

asyncio.run(main())
"""


@pytest.mark.slow
def test_when_there_is_no_space_nothing_is_lost_and_then_it_goes_on(path: Path) -> None:
    said = subprocess.run([sys.executable, "-c", FILL, str(path)], capture_output=True, text=True, check=True).stdout
    assert said.startswith(("StoreUnavailable", "StoreFull"))
    assert said.endswith("('yes', True)\n")

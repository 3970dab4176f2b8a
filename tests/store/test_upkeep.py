"""Backups, restoring, pruning, checking: while others use the store, and without losing anything."""

from __future__ import annotations

import asyncio
import os
import shutil
import sqlite3
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from handrail.errors import LeaseHeld, StoreCorrupt, StoreError, StoreLocked, StoreTooNew, StoreUnavailable
from handrail.store import SCHEMA_VERSION, SqliteStore, restore
from handrail.store.base import Batch, Retention
from handrail.testing._store_checks.support import NOW, ask, batch_of, event, frame, new_session

from .support import finished, names, numbers, opened, python, query

DAY = 86_400.0


async def fill(store: SqliteStore, name: str, kilobytes: int, *, archived: bool = False, at: float = NOW) -> None:
    """A session with incompressible events and frames, half of each."""
    lease = await new_session(store, name, archived=archived, updated_at=at)
    for seq in range(1, kilobytes // 20 + 1):
        row = event(seq, at=at, body=os.urandom(5_000).hex().encode(), text=f"something about {name}")
        await store.append(lease, Batch(events=[row], frames=[frame(seq, at=at, line=os.urandom(10_000))]))
    await store.release(lease)


# ------------------------------------------------------------ backups


async def test_a_backup_while_others_write(tmp_path: Path) -> None:
    path, copy = tmp_path / "handrail.db", tmp_path / "copy.db"
    async with opened(path) as store, opened(path) as other:
        await fill(store, "s1", 2_000)
        lease = await new_session(other, "busy")
        stop = asyncio.Event()

        async def write() -> int:
            seq = 0
            while not stop.is_set():
                seq += 1
                await other.append(lease, batch_of(seq, asks=[ask(f"ask{seq}", "busy")]))
            return seq

        writing = asyncio.create_task(write())
        while not await other.read("busy"):
            await asyncio.sleep(0)
        await store.backup(str(copy))
        stop.set()
        written = await writing
        assert await numbers(store, "busy") == list(range(1, written + 1))
    assert names(tmp_path) == ["copy.db", "handrail.db", "handrail.db.lock"]
    async with opened(copy) as backup:
        assert await backup.check() == []
        assert len(await numbers(backup)) == 100
        held = await numbers(backup, "busy")
        assert 0 < len(held) <= written
        assert len(await backup.asks("busy")) == len(held)


async def test_a_backup_never_replaces_a_file(tmp_path: Path) -> None:
    target = tmp_path / "precious.txt"
    target.write_text("precious")
    async with opened(tmp_path / "handrail.db") as store:
        with pytest.raises(StoreError, match=r"precious\.txt exists already, and a backup replaces nothing"):
            await store.backup(str(target))
        with pytest.raises(StoreUnavailable, match="the backup cannot be written to"):
            await store.backup(str(tmp_path / "nowhere" / "copy.db"))
    assert target.read_text() == "precious"
    assert names(tmp_path, "*.partial") == []


# ------------------------------------------------------------ restoring


async def backed_up(path: Path, backup: Path) -> None:
    """A database whose backup lacks its last event; the session was owned when the backup was made."""
    async with opened(path) as store:
        lease = await new_session(store)
        await store.append(lease, batch_of(1, 3))
        await store.backup(str(backup))
        await store.append(lease, batch_of(4))
        await store.release(lease)


async def test_a_backup_is_restored_and_what_it_replaces_kept(tmp_path: Path) -> None:
    path, backup = tmp_path / "state" / "handrail.db", tmp_path / "backup.db"
    await backed_up(path, backup)
    before = backup.read_bytes()
    aside = await asyncio.to_thread(restore, str(backup), str(path))
    assert aside == f"{path}.replaced"
    assert backup.read_bytes() == before
    assert oct(path.stat().st_mode & 0o777) == "0o600"
    async with opened(path) as store, opened(Path(aside)) as old:
        assert await numbers(store) == [1, 2, 3]
        assert await numbers(old) == [1, 2, 3, 4]
        lease = await store.acquire("s1", "me", now=NOW)
        await store.append(lease, batch_of(4))
    assert "handrail.db.restoring" not in names(tmp_path / "state")


async def test_restoring_where_nothing_is(tmp_path: Path) -> None:
    await backed_up(tmp_path / "handrail.db", tmp_path / "backup.db")
    elsewhere = tmp_path / "elsewhere" / "handrail.db"
    assert await asyncio.to_thread(restore, str(tmp_path / "backup.db"), str(elsewhere)) is None
    async with opened(elsewhere) as store:
        assert await numbers(store) == [1, 2, 3]


async def test_restoring_over_a_damaged_database(tmp_path: Path) -> None:
    path, backup = tmp_path / "handrail.db", tmp_path / "backup.db"
    await backed_up(path, backup)
    path.write_bytes(b"rubbish" * 1000)
    (tmp_path / "handrail.db-wal").write_bytes(b"more rubbish")
    assert await asyncio.to_thread(restore, str(backup), str(path)) == f"{path}.replaced"
    assert (tmp_path / "handrail.db.replaced").read_bytes() == b"rubbish" * 1000
    assert (tmp_path / "handrail.db.replaced-wal").read_bytes() == b"more rubbish"
    async with opened(path) as store:
        assert await numbers(store) == [1, 2, 3]


@pytest.mark.slow
async def test_restoring_is_refused_while_anybody_has_it_open(tmp_path: Path) -> None:
    path, backup = tmp_path / "handrail.db", tmp_path / "backup.db"
    impatient = partial(restore, str(backup), str(path), lock_timeout=0.05)
    await backed_up(path, backup)
    async with opened(path) as store:
        with pytest.raises(StoreLocked, match="end every other `handrail`"):
            await asyncio.to_thread(impatient)
        assert await numbers(store) == [1, 2, 3, 4]
    program = (
        "import asyncio, sys; from handrail.store import SqliteStore\n"
        "async def main():\n"
        "    store = SqliteStore(sys.argv[1]); await store.open(); print('open', flush=True); sys.stdin.read()\n"
        "    await store.close()\n"
        "asyncio.run(main())"
    )
    process = python(program, path)
    assert process.stdout is not None
    assert process.stdout.readline() == "open\n"
    with pytest.raises(StoreLocked):
        await asyncio.to_thread(impatient)
    finished(process)
    await asyncio.to_thread(restore, str(backup), str(path))


async def test_restoring_is_refused_while_a_session_is_owned(tmp_path: Path) -> None:
    path, backup = tmp_path / "handrail.db", tmp_path / "backup.db"
    await backed_up(path, backup)
    async with opened(path) as store:
        await store.acquire("s1", "somebody", now=NOW)
    with pytest.raises(LeaseHeld, match=r"session s1 .* is owned by somebody: stop it first \(`handrail stop s1`\)"):
        await asyncio.to_thread(restore, str(backup), str(path))
    async with opened(path) as store:
        assert await numbers(store) == [1, 2, 3, 4]
    assert await asyncio.to_thread(lambda: restore(str(backup), str(path), force=True))


@pytest.mark.parametrize("kind", ["missing", "rubbish", "damaged", "foreign", "newer"])
async def test_a_backup_that_is_not_sound_is_not_restored(tmp_path: Path, kind: str) -> None:
    path, backup = tmp_path / "handrail.db", tmp_path / "backup.db"
    await backed_up(path, backup)
    before = path.read_bytes()
    spoil(backup, kind)
    wanted = {"missing": StoreUnavailable, "newer": StoreTooNew}.get(kind, StoreCorrupt)
    with pytest.raises(wanted, match=r"backup\.db"):
        await asyncio.to_thread(restore, str(backup), str(path))
    assert path.read_bytes() == before
    assert [name for name in names(tmp_path) if "restoring" in name or "replaced" in name] == []


def spoil(backup: Path, kind: str) -> None:
    data = backup.read_bytes()
    backup.unlink()
    if kind == "rubbish":
        backup.write_bytes(b"rubbish" * 1000)
    elif kind == "damaged":
        backup.write_bytes(data[: 2 * 4096] + bytes(len(data) - 2 * 4096))
    elif kind == "foreign":
        with closing(sqlite3.connect(backup)) as connection:
            connection.execute("CREATE TABLE photos (name TEXT)")
    elif kind == "newer":
        backup.write_bytes(data)
        with closing(sqlite3.connect(backup)) as connection:
            connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")


# ------------------------------------------------------------ pruning


@pytest.mark.slow
async def test_pruning_makes_the_file_smaller(tmp_path: Path) -> None:
    path = tmp_path / "handrail.db"
    async with opened(path) as store, opened(path) as reader:
        await fill(store, "old", 2_000, archived=True, at=NOW - 100 * DAY)
        await fill(store, "new", 500)
        await reader.search("something")
        pruned = await store.prune(Retention(frames_days=None, sessions_days=30), now=NOW)
        assert (pruned.sessions, pruned.frames) == (1, 0)
        assert pruned.bytes_after < pruned.bytes_before - 2_000_000
        assert path.stat().st_size == pruned.bytes_after < 1_000_000
        assert await store.check() == []
        assert {hit.session_id for hit in await reader.search("something")} == {"new"}
        assert len(await numbers(reader, "new")) == 25


@pytest.mark.slow
async def test_a_size_cap_takes_frames_first_then_archived_sessions_and_nothing_else(tmp_path: Path) -> None:
    async with opened(tmp_path / "handrail.db") as store:
        await fill(store, "oldest", 400, archived=True, at=NOW - 3 * DAY)
        await fill(store, "middle", 400, at=NOW - 2 * DAY)
        await fill(store, "latest", 400, archived=True, at=NOW - DAY)

        async def left() -> dict[str, tuple[int, int]]:
            rows = [row for row in ("oldest", "middle", "latest") if await store.get_session(row)]
            return {row: (len(await store.read(row)), len(await store.frames(row))) for row in rows}

        everything = {"oldest": (20, 20), "middle": (20, 20), "latest": (20, 20)}
        roomy = await store.prune(Retention(frames_days=None, max_bytes=100_000_000), now=NOW)
        assert (roomy.frames, roomy.sessions) == (0, 0)
        assert await left() == everything
        await store.prune(Retention(frames_days=None, max_bytes=1_010_000), now=NOW)
        assert all(frames == 0 for _, frames in (await left()).values())
        assert {name: events for name, (events, _) in (await left()).items()} == dict.fromkeys(everything, 20)
        pruned = await store.prune(Retention(frames_days=None, max_bytes=740_000), now=NOW)
        assert pruned.sessions == 1
        assert (await left()).keys() == {"middle", "latest"}
        await store.prune(Retention(frames_days=None, max_bytes=1), now=NOW)
        assert await left() == {"middle": (20, 0)}
        assert await store.check() == []


async def test_an_archived_session_that_somebody_holds_stays(tmp_path: Path) -> None:
    async with opened(tmp_path / "handrail.db") as store:
        await new_session(store, "held", archived=True, updated_at=NOW - 100 * DAY)
        pruned = await store.prune(Retention(sessions_days=1, max_bytes=1), now=NOW)
        assert pruned.sessions == 0
        assert await store.get_session("held") is not None


@pytest.mark.slow
async def test_others_write_while_a_large_session_is_deleted(tmp_path: Path) -> None:
    async with opened(tmp_path / "handrail.db") as store:
        lease = await new_session(store, "large")
        rows = [event(seq, text=f"text number {seq}") for seq in range(1, 6_001)]
        await store.append(lease, Batch(events=rows))
        await store.search("number")
        await store.release(lease)
        other = await new_session(store, "other")
        deleting = asyncio.create_task(store.delete_session("large"))
        seq = 0
        while not deleting.done():
            seq += 1
            await store.append(other, batch_of(seq))
        await deleting
        assert seq > 3
        assert await store.check() == []


async def test_a_deletion_that_was_cut_short_is_finished_by_the_next_pruning(tmp_path: Path) -> None:
    path = tmp_path / "handrail.db"
    async with opened(path) as store:
        lease = await new_session(store, "gone")
        body = b'{"a":"' + b"x" * 50_000 + b'"}'
        await store.append(lease, Batch(events=[event(seq, body=body, text="word") for seq in range(1, 5)]))
        await store.release(lease)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("INSERT INTO deletions VALUES ('gone')")
        connection.execute("DELETE FROM sessions WHERE id = 'gone'")
    async with opened(path) as store:
        assert await store.check() == []
        assert await store.search("word") == []
        with pytest.raises(StoreError, match="already"):
            await new_session(store, "gone")
        pruned = await store.prune(Retention(), now=NOW)
        assert pruned.artefacts == 1
        assert await numbers(store, "gone") == []
        await new_session(store, "gone")


# ------------------------------------------------------------ artefacts, checking, figures


@pytest.mark.slow
async def test_a_large_body_is_kept_once(tmp_path: Path) -> None:
    path = tmp_path / "handrail.db"
    large = os.urandom(100_000).hex().encode()
    async with opened(path) as store:
        for name in ("s1", "s2"):
            lease = await new_session(store, name)
            bodies = [b'{"number":%d,"text":"%s"}' % (seq, large) for seq in range(1, 11)]
            await store.append(lease, Batch(events=[event(seq, body=body) for seq, body in enumerate(bodies, 1)]))
            assert [row.body for row in await store.read(name)] == bodies
            await store.append(lease, Batch(asks=[ask(session_id=name, body=bodies[0])]))
            assert (await store.asks(name))[0].body == bodies[0]
            await store.release(lease)
        assert query(path, "SELECT count(*) FROM artefacts") == 1
        assert (await store.statistics())["bytes"] < 1_000_000
        await store.delete_session("s1")
        assert query(path, "SELECT count(*) FROM artefacts") == 1
        await store.delete_session("s2")
        assert query(path, "SELECT count(*) FROM artefacts") == 0


@pytest.mark.parametrize(
    ("statement", "finding"),
    [
        ("DELETE FROM events WHERE seq = 2", "should have 3 events, and has 2"),
        ("UPDATE sessions SET last_seq = 4", "should have 4 events, and has 3"),
        ("DELETE FROM sessions", "events of a session s1 that is not there"),
        ("UPDATE asks SET state = 'decided'", "the ask ask1 of session s1 is decided, but has no answer"),
        ("DELETE FROM artefacts", "is missing"),
        ("UPDATE artefacts SET data = x'00'", "cannot be unpacked"),
        ("UPDATE artefacts SET data = x'789c4b040000620062'", "has another content"),
    ],
)
async def test_a_check_says_what_is_wrong(tmp_path: Path, statement: str, finding: str) -> None:
    path = tmp_path / "handrail.db"
    async with opened(path) as store:
        lease = await new_session(store)
        large = event(3, body=b'{"a":"' + b"x" * 50_000 + b'"}')
        await store.append(lease, Batch(events=[event(1), event(2), large], asks=[ask()]))
        assert await store.check() == []
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute(statement)
        (found,) = await store.check()
        assert finding in found


async def test_an_artefact_that_is_damaged_is_not_given_out(tmp_path: Path) -> None:
    path = tmp_path / "handrail.db"
    async with opened(path) as store:
        lease = await new_session(store)
        await store.append(lease, Batch(events=[event(1, body=b'{"a":"' + b"x" * 50_000 + b'"}')]))
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute("UPDATE artefacts SET data = x'00'")
        with pytest.raises(StoreCorrupt, match="cannot be unpacked"):
            await store.read("s1")
        await store.append(lease, batch_of(2))


async def test_statistics(tmp_path: Path) -> None:
    path = tmp_path / "handrail.db"
    async with opened(path) as store:
        lease = await new_session(store)
        await store.append(lease, batch_of(1, 3, asks=[ask()]))
        figures = await store.statistics()
    assert figures["path"] == str(path)
    assert figures["version"] == SCHEMA_VERSION
    assert figures["bytes"] > 4096
    assert figures["rows"]["events"] == 3
    assert figures["rows"]["asks"] == 1


async def test_a_database_that_was_moved_works_where_it_is_now(tmp_path: Path) -> None:
    path, moved = tmp_path / "handrail.db", tmp_path / "with ? and % and ü" / "handrail.db"
    async with opened(path) as store:
        await store.append(await new_session(store), batch_of(1))
    moved.parent.mkdir()
    shutil.move(path, moved)
    async with opened(moved) as store:
        assert await numbers(store) == [1]

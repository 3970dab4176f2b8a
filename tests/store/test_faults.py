"""Whatever is wrong with the place, the disk or the file: a clear error, and nothing that was stored is lost."""

from __future__ import annotations

import asyncio
import hashlib
import os
import random
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from handrail.errors import StoreCorrupt, StoreLocked, StoreUnavailable
from handrail.store import SqliteStore
from handrail.store.filesystems import filesystem_type, is_network, type_among
from handrail.testing._store_checks.support import batch_of, new_session

from .support import finished, numbers, opened, ordinary_user, python, run


async def with_events(path: Path, count: int = 50) -> None:
    async with opened(path) as store:
        lease = await new_session(store)
        await store.append(lease, batch_of(1, count))
        await store.release(lease)


def content(directory: Path) -> dict[str, str]:
    return {
        file.name: hashlib.sha256(file.read_bytes()).hexdigest()
        for file in directory.iterdir()
        if not file.name.endswith("-shm") and file.stat().st_size
    }


# ------------------------------------------------------------ the place


async def test_a_directory_in_place_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "handrail.db").mkdir()
    with pytest.raises(StoreUnavailable, match="it is a directory; set HANDRAIL_STATE_DIR"):
        await SqliteStore(str(tmp_path / "handrail.db")).open()


async def test_a_file_in_place_of_the_directory(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("")
    with pytest.raises(StoreUnavailable, match="state cannot be used"):
        await SqliteStore(str(tmp_path / "state" / "handrail.db")).open()


@pytest.mark.parametrize("kind", ["nfs4", "cifs", "fuse.sshfs"])
async def test_a_network_file_system(tmp_path: Path, kind: str) -> None:
    store = SqliteStore(str(tmp_path / "handrail.db"), filesystem_of=lambda path: kind)
    with pytest.raises(StoreUnavailable, match=rf"network file system \({kind}\).*HANDRAIL_STATE_DIR"):
        await store.open()
    assert not (tmp_path / "handrail.db").exists()


def test_the_innermost_mount_counts() -> None:
    mounts = [("/", "ext4"), ("/home", "nfs4"), ("/home/ann/local", "xfs"), ("/home/ann/local", "tmpfs")]
    assert type_among(mounts, "/home/ann/.local/state") == "nfs4"
    assert type_among(mounts, "/home/ann/local/x") == "tmpfs"
    assert type_among(mounts, "/homes") == "ext4"
    assert type_among([], "/") == ""


def test_types_of_file_systems(tmp_path: Path) -> None:
    assert not is_network(filesystem_type(str(tmp_path)))
    assert all(map(is_network, ("nfs", "fuse.rclone", "9p")))
    assert not any(map(is_network, ("ext4", "fuse.bindfs", "")))


async def test_a_read_only_directory() -> None:
    with ordinary_user() as directory:
        directory.chmod(0o500)
        with pytest.raises(StoreUnavailable, match=r"its directory is read-only.*HANDRAIL_STATE_DIR"):
            await SqliteStore(str(directory / "handrail.db")).open()
        directory.chmod(0o700)


async def test_a_file_that_may_not_be_written() -> None:
    with ordinary_user() as directory:
        path = directory / "handrail.db"
        await with_events(path)
        path.chmod(0o400)
        with pytest.raises(StoreUnavailable, match="the file is read-only, or may not be read"):
            await SqliteStore(str(path)).open()
        path.chmod(0o600)
        async with opened(path) as store:
            assert len(await numbers(store)) == 50


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away: run the tests as root too")
async def test_a_file_of_another_user(tmp_path: Path) -> None:
    path = tmp_path / "handrail.db"
    await with_events(path)
    os.chown(path, 4321, -1)
    with pytest.raises(StoreUnavailable, match=r"another user \(uid 4321\)"):
        await SqliteStore(str(path)).open()


async def test_what_is_stored_is_private(tmp_path: Path) -> None:
    path = tmp_path / "state" / "handrail.db"
    before = os.umask(0)
    try:
        async with opened(path) as store:
            await store.append(await new_session(store), batch_of(1))
            await store.backup(str(tmp_path / "backup.db"))
            files = [*(tmp_path / "state").iterdir(), tmp_path / "backup.db"]
    finally:
        os.umask(before)
    assert {file.name for file in files} >= {"handrail.db", "handrail.db-wal", "handrail.db-shm"}
    assert {oct(file.stat().st_mode & 0o777) for file in files if file.exists()} == {"0o600"}
    assert oct((tmp_path / "state").stat().st_mode & 0o777) == "0o700"


async def test_a_file_that_others_can_read_is_made_private(tmp_path: Path) -> None:
    path = tmp_path / "handrail.db"
    await with_events(path)
    path.chmod(0o644)
    async with opened(path):
        assert oct(path.stat().st_mode & 0o777) == "0o600"


# ------------------------------------------------------------ damaged files


def garbage(path: Path) -> None:
    path.write_bytes(random.Random(1).randbytes(path.stat().st_size))


def truncated(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def emptied(path: Path) -> None:
    os.truncate(path, 0)


def header_destroyed(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[0:100] = bytes(100)
    path.write_bytes(data)


@pytest.mark.parametrize("damage", [garbage, truncated, emptied, header_destroyed])
async def test_a_damaged_database_is_refused_and_left_alone(tmp_path: Path, damage: Callable[[Path], None]) -> None:
    path = tmp_path / "handrail.db"
    await with_events(path)
    damage(path)
    before = content(tmp_path)
    for _ in range(2):
        with pytest.raises(StoreCorrupt, match=r"handrail\.db is damaged .* `handrail backup --restore FILE`"):
            await SqliteStore(str(path)).open()
    assert content(tmp_path) == before


async def test_the_log_of_a_damaged_database_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "handrail.db"
    async with opened(path) as store:
        await store.append(await new_session(store), batch_of(1))
        shutil.copytree(tmp_path, tmp_path / "crashed")
    crashed = tmp_path / "crashed"
    os.truncate(crashed / "handrail.db-wal", 100)
    garbage(crashed / "handrail.db")
    before = content(crashed)
    with pytest.raises(StoreCorrupt):
        await SqliteStore(str(crashed / "handrail.db")).open()
    assert content(crashed) == before


async def test_pages_that_are_damaged_later(tmp_path: Path) -> None:
    path = tmp_path / "handrail.db"
    await with_events(path, 8000)
    half = path.stat().st_size // 2
    with path.open("r+b") as file:
        file.seek(half)
        file.write(random.Random(1).randbytes(half))
    async with opened(path) as store:
        with pytest.raises(StoreCorrupt, match="damaged"):
            await store.read("s1", limit=100_000)
        assert await store.check() != []


async def test_a_log_without_its_database_is_not_taken_for_anothers(tmp_path: Path) -> None:
    path = tmp_path / "handrail.db"
    async with opened(path) as store:
        await store.append(await new_session(store), batch_of(1))
        shutil.copy(f"{path}-wal", tmp_path / "log")
    path.unlink()
    shutil.move(tmp_path / "log", f"{path}-wal")
    with pytest.raises(StoreCorrupt, match=r"handrail\.db is missing, but what was last written to it is still in"):
        await SqliteStore(str(path)).open()
    assert not path.exists()


async def test_somebody_elses_database(tmp_path: Path) -> None:
    path = tmp_path / "handrail.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE photos (name TEXT)")
    with pytest.raises(StoreUnavailable, match="not one of Handrail's"):
        await SqliteStore(str(path)).open()


# ------------------------------------------------------------ locks


@pytest.mark.slow
async def test_a_lock_that_is_held_too_long(tmp_path: Path) -> None:
    path = tmp_path / "handrail.db"
    async with opened(path, lock_timeout=0.1) as store:
        lease = await new_session(store)
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(StoreLocked, match="locked by another process: wait for it"):
                await store.append(lease, batch_of(1))
            assert await numbers(store) == []
            other.execute("ROLLBACK")
        await store.append(lease, batch_of(1))
        assert await numbers(store) == [1]


async def test_a_lock_that_is_held_for_a_moment_is_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "handrail.db"
    async with opened(path) as store:
        lease = await new_session(store)
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            append = asyncio.create_task(store.append(lease, batch_of(1)))
            assert await numbers(store) == []
            other.execute("ROLLBACK")
            await append
        assert await numbers(store) == [1]


# ------------------------------------------------------------ a full disk

FILL = """
import asyncio, os, resource, sys
from handrail.errors import StoreError
from handrail.store import SqliteStore
from handrail.store.base import Batch
from handrail.testing._store_checks.support import ask, batch_of, decision, event, new_session

directory, quota = sys.argv[1:]
if quota != "-":
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(quota), resource.RLIM_INFINITY))


def make_room():
    os.unlink(os.path.join(directory, "ballast"))
    if quota != "-":
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))

async def main():
    with open(os.path.join(directory, "ballast"), "wb") as file:
        file.write(bytes(1_000_000))
    store = SqliteStore(os.path.join(directory, "state", "handrail.db"))
    await store.open()
    lease = await new_session(store)
    await store.append(lease, Batch(asks=[ask()]))
    stored = 0
    try:
        while True:
            await store.append(lease, Batch(events=[event(stored + 1, body=os.urandom(10_000).hex().encode())]))
            stored += 1
    except StoreError as error:
        print(type(error).__name__, str(error))
    assert [row.seq for row in await store.read("s1")] == list(range(1, stored + 1)), "what was stored is there"
    assert await store.check() == []
    try:
        await store.append(lease, Batch(events=[event(stored + 1, body=os.urandom(300_000).hex().encode())]))
    except StoreError as error:
        print(type(error).__name__)
    make_room()
    await store.append(lease, batch_of(stored + 1, 3))
    await store.decide(decision())
    assert len(await store.read("s1")) == stored + 3
    assert (await store.asks("s1"))[0].state == "decided"
    await store.close()
    print("stored", stored)

asyncio.run(main())
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="a small file system for a test needs Linux: run it there too")
def test_a_full_disk(tmp_path: Path) -> None:
    namespace = ["unshare", "--mount", *(["--map-root-user"] if os.geteuid() else []), "sh", "-c"]
    if subprocess.run([*namespace, f"mount -t tmpfs none {tmp_path}"], capture_output=True, check=False).returncode:
        pytest.skip("a small file system needs root or user namespaces: run it as root")
    fill = f'mount -t tmpfs -o size=3m none {tmp_path} && exec {sys.executable} -c "$FILL" {tmp_path} -'
    output = finished(run([*namespace, fill], env={**os.environ, "FILL": FILL}))
    assert output.startswith("StoreFull")
    assert "free some space, and storing goes on" in output
    assert int(output.split()[-1]) > 10


@pytest.mark.slow
def test_a_quota(tmp_path: Path) -> None:
    output = finished(python(FILL, tmp_path, 2_000_000))
    assert output.startswith("StoreUnavailable")
    assert "look at the disk and at its quota" in output
    assert int(output.split()[-1]) > 10

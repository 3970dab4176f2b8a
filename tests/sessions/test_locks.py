"""A lock is held for as long as anything may live that was started under it, and by nobody else."""

from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from handrail.errors import ConfigError, SessionBusy, SessionError
from handrail.sessions.owning.locks import Holder, SessionLock, holder_of

DEADLINE = 30.0


@pytest.fixture
def directory(tmp_path: Path) -> str:
    return str(tmp_path / "locks")


async def is_free(directory: str, name: str) -> bool:
    try:
        lock = await SessionLock.take(directory, [name])
    except SessionBusy:
        return False
    lock.release()
    return True


async def eventually(condition: Callable[[], object], what: str) -> None:
    async with asyncio.timeout(DEADLINE):
        while not condition():
            await asyncio.sleep(0.01)


# ------------------------------------------------------------ one process


async def test_a_lock_is_taken_once(directory: str) -> None:
    lock = await SessionLock.take(directory, ["s1", "c1"])
    assert lock.names == ("s1", "c1")
    assert len(lock.fds) == 2
    with pytest.raises(SessionBusy, match="this process has the session c1 already"):
        await SessionLock.take(directory, ["c1"])
    assert await is_free(directory, "s2")
    lock.release()
    lock.release()
    assert lock.fds == ()
    assert await is_free(directory, "s1")
    assert await is_free(directory, "c1")


async def test_all_names_are_taken_or_none(directory: str) -> None:
    lock = await SessionLock.take(directory, ["c1"])
    with pytest.raises(SessionBusy):
        await SessionLock.take(directory, ["s2", "c1"])
    assert await is_free(directory, "s2")
    lock.release()


async def test_whoever_waits_gets_it_when_it_is_free(directory: str) -> None:
    lock = await SessionLock.take(directory, ["s1"])
    waiting = asyncio.create_task(SessionLock.take(directory, ["s1"], patience=DEADLINE))
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(asyncio.shield(waiting), 0.05)
    lock.release()
    (await waiting).release()


async def test_of_several_that_wait_each_gets_it_in_turn(directory: str) -> None:
    held = 0

    async def use() -> None:
        nonlocal held
        lock = await SessionLock.take(directory, ["s1"], patience=DEADLINE)
        held += 1
        assert held == 1
        await asyncio.sleep(0)
        held -= 1
        lock.release()

    await asyncio.gather(*(use() for _ in range(20)))
    assert os.listdir(directory) == []


async def test_patience_ends(directory: str) -> None:
    lock = await SessionLock.take(directory, ["s1"])
    with pytest.raises(SessionBusy):
        await SessionLock.take(directory, ["s1"], patience=0.02)
    lock.release()
    # Whoever gave up waiting does not get it after all.
    (await SessionLock.take(directory, ["s1"], patience=DEADLINE)).release()


async def test_a_wait_that_is_cancelled_takes_nothing(directory: str) -> None:
    lock = await SessionLock.take(directory, ["s1"])
    waiting = asyncio.create_task(SessionLock.take(directory, ["s1"], patience=DEADLINE))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    lock.release()
    (await SessionLock.take(directory, ["s1"], patience=DEADLINE)).release()


async def test_it_follows_the_id_and_tells_who_keeps_it(directory: str) -> None:
    kept: list[int] = []
    lock = await SessionLock.take(directory, ["s1", "c1"])
    lock.kept_by(kept.append)
    await lock.follow("c2")
    await lock.follow("c2")
    assert kept == [lock.fds[-1]]
    assert lock.names == ("s1", "c1", "c2")
    assert not await is_free(directory, "c1")
    assert not await is_free(directory, "c2")
    lock.release()
    assert await is_free(directory, "c2")


async def test_it_does_not_follow_to_an_id_that_is_anothers(directory: str) -> None:
    other = await SessionLock.take(directory, ["c2"])
    lock = await SessionLock.take(directory, ["s1"])
    with pytest.raises(SessionBusy):
        await lock.follow("c2")
    assert lock.names == ("s1",)
    lock.release()
    other.release()


async def test_the_files_are_private_and_go_with_the_lock(directory: str) -> None:
    lock = await SessionLock.take(directory, ["s1"])
    assert stat.S_IMODE(os.stat(directory).st_mode) == 0o700
    (name,) = os.listdir(directory)
    assert stat.S_IMODE(os.stat(os.path.join(directory, name)).st_mode) == 0o600
    lock.release()
    assert os.listdir(directory) == []


@pytest.mark.parametrize("name", ["../escape", "", ".", "a/b", "x" * 300, "\udce4", "nul\0"])
async def test_no_name_leaves_the_directory(tmp_path: Path, directory: str, name: str) -> None:
    lock = await SessionLock.take(directory, [name])
    assert len(os.listdir(directory)) == 1
    assert os.listdir(tmp_path) == ["locks"]
    assert not await is_free(directory, name)
    lock.release()


async def test_the_holder_says_who_it_is(directory: str) -> None:
    assert holder_of(directory, "s1") is None
    me = Holder(os.getpid(), 12.5, "/run/owner.sock")
    lock = await SessionLock.take(directory, ["s1"], holder=me)
    assert holder_of(directory, "s1") == me
    os.truncate(os.path.join(directory, "s1.lock"), 3)
    assert holder_of(directory, "s1") is None
    with pytest.raises(SessionBusy, match="another process"):
        await SessionLock.take(directory, ["s1"])
    lock.release()


async def test_a_place_that_cannot_be_used_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="cannot be used"):
        await SessionLock.take(str(tmp_path / "file" / "locks"), ["s1"])
    (tmp_path / "locks" / "s1.lock").mkdir(parents=True)
    with pytest.raises(SessionError, match="cannot be taken"):
        await SessionLock.take(str(tmp_path / "locks"), ["s1"])

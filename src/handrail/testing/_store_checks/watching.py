"""Checks of waking: whoever watches hears of what is stored, by whichever handle or process."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from handrail.errors import StoreError
from handrail.store.base import Batch, Store
from handrail.testing._store_checks.support import (
    NOW,
    Check,
    Handles,
    batch_of,
    expect,
    expect_error,
    new_session,
    session,
)

__all__ = ["CHECKS"]

PATIENCE = 20.0


async def numbers(store: Store, session_id: str = "s1") -> list[int]:
    return [row.seq for row in await store.read(session_id, limit=10_000)]


class Heard:
    """What a watcher was told, and a way to wait for it."""

    def __init__(self) -> None:
        self.told: list[tuple[str, int]] = []
        self._news = asyncio.Event()

    def __call__(self, session_id: str, last_seq: int) -> None:
        self.told.append((session_id, last_seq))
        self._news.set()

    async def until(self, wanted: Callable[[list[tuple[str, int]]], bool], what: str) -> None:
        try:
            async with asyncio.timeout(PATIENCE):
                while not wanted(self.told):
                    self._news.clear()
                    await self._news.wait()
        except TimeoutError:
            raise AssertionError(f"{what}: a watcher was told only {self.told}") from None

    async def of(self, wake: tuple[str, int], what: str) -> None:
        """Wait for one call, and forget those up to now: the same may have been told before, more than once."""
        await self.until(lambda told: wake in told, what)
        self.told.clear()


async def whoever_watches_is_woken_once_it_can_be_read(handles: Handles) -> None:
    store = await handles.open()
    lease, other = await new_session(store), await new_session(store, "s2")
    seen: dict[str, list[tuple[str, int]]] = {"all": [], "one": []}
    reads: list[asyncio.Task[list[int]]] = []

    def failing(session_id: str, last_seq: int) -> None:
        raise RuntimeError("a bug in a watcher")

    def reading(session_id: str, last_seq: int) -> None:
        if (session_id, last_seq) == ("s1", 2):
            reads.append(asyncio.ensure_future(numbers(store, session_id)))

    store.watch(failing)
    store.watch(lambda session_id, last_seq: seen["all"].append((session_id, last_seq)))
    stop = store.watch(lambda session_id, last_seq: seen["one"].append((session_id, last_seq)), session_id="s2")
    store.watch(reading)
    await store.append(lease, batch_of(1, 2))
    await store.append(other, batch_of(1))
    await store.append(other, Batch(session={"status": "running"}))
    await expect_error(StoreError, store.append(other, batch_of(9)), "a gap")
    stop()
    stop()
    await store.append(other, batch_of(2))
    expect(told_once(seen["all"]), [("s1", 2), ("s2", 1), ("s2", 2)], "what a watcher of all was told")
    expect(told_once(seen["one"]), [("s2", 1)], "what a watcher of one was told until it stopped")
    expect((await asyncio.gather(*reads))[0], [1, 2], "what could be read when woken")


def told_once(seen: list[tuple[str, int]]) -> list[tuple[str, int]]:
    """What a watcher was told of appends: it may be told again, and of what was done before the first of them."""
    return list(dict.fromkeys(each for each in seen if each[1]))


async def whoever_watches_hears_of_more_than_appends(handles: Handles) -> None:
    store = await handles.open()
    heard = Heard()
    store.watch(heard)
    await store.create_session(session("s1"))
    await heard.of(("s1", 0), "a session that is made")
    lease = await store.acquire("s1", "me", now=NOW)
    await heard.of(("s1", 0), "a session that is taken")
    await store.append(lease, batch_of(1))
    await heard.of(("s1", 1), "an append")
    await store.change_session("s1", title="another")
    await heard.of(("s1", 1), "a session that is renamed")
    await store.release(lease)
    await heard.of(("s1", 1), "a session that is given up")
    await store.delete_session("s1")
    await heard.of(("s1", 0), "a session that is deleted")


async def whoever_watches_hears_of_what_others_store(handles: Handles) -> None:
    store, other = await handles.open(), await handles.open()
    await other.create_session(session("s0"))
    lease = await new_session(other)
    await other.append(lease, batch_of(1, 2))
    everything, one = Heard(), Heard()
    store.watch(everything)
    stop = store.watch(one, session_id="s1")
    await other.append(lease, batch_of(3))
    await one.until(lambda told: told[-1:] == [("s1", 3)], "an append of another handle")
    await other.append(lease, Batch(session={"status": "running"}))
    await one.until(lambda told: told.count(("s1", 3)) >= 2, "a change of status by another handle")
    stop()
    before = len(one.told)
    await other.release(lease)
    mine = await store.acquire("s1", "me", now=NOW)
    await store.append(mine, batch_of(4))
    await other.create_session(session("s2"))
    await other.change_session("s0", archived=True)
    await other.delete_session("s2")
    await everything.until(lambda told: ("s2", 0) in told and ("s0", 0) in told, "sessions of another handle")
    expect(("s1", 4) in everything.told, True, "whether one's own append was told")
    expect(len(one.told), before, "how often one was told that no longer watches")


async def a_watch_that_comes_late_misses_nothing_that_follows(handles: Handles) -> None:
    store, other = await handles.open(), await handles.open()
    lease = await new_session(other)
    for number in range(1, 3):
        heard = Heard()
        stop = store.watch(heard, session_id="s1")
        await other.append(lease, batch_of(number))
        await heard.until(lambda told, number=number: ("s1", number) in told, f"append {number}")  # type: ignore[misc]
        stop()


CHECKS: tuple[Check, ...] = (
    whoever_watches_is_woken_once_it_can_be_read,
    whoever_watches_hears_of_more_than_appends,
    whoever_watches_hears_of_what_others_store,
    a_watch_that_comes_late_misses_nothing_that_follows,
)

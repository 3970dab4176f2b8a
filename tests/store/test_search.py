"""Searching: what the index does that looking at every text does not, and how the two get along."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from handrail.store.base import Batch
from handrail.testing._store_checks.support import event, new_session

from .support import opened


async def found(path: Path, text: str, *, full_text: bool = True) -> list[int]:
    async with opened(path, full_text=full_text) as store:
        return sorted(hit.seq for hit in await store.search(text))


async def test_the_best_comes_first(tmp_path: Path) -> None:
    async with opened(tmp_path / "handrail.db") as store:
        lease = await new_session(store)
        texts = ["a rail among many other words that say nothing of it", "rail rail rail", "nothing"]
        await store.append(lease, Batch(events=[event(seq, text=text) for seq, text in enumerate(texts, 1)]))
        assert [hit.seq for hit in await store.search("rail")] == [2, 1]


async def test_accents_and_case_do_not_matter_to_the_index(tmp_path: Path) -> None:
    async with opened(tmp_path / "handrail.db") as store:
        lease = await new_session(store)
        await store.append(lease, Batch(events=[event(1, text="Ein GELÄNDER an der Treppe")]))
        assert [hit.seq for hit in await store.search("gelander")] == [1]


@pytest.mark.parametrize("full_text", [True, False])
async def test_a_snippet_shows_what_is_around(tmp_path: Path, full_text: bool) -> None:
    async with opened(tmp_path / "handrail.db", full_text=full_text) as store:
        lease = await new_session(store)
        text = "before " * 500 + "the needle in the hay " + "after " * 500
        await store.append(lease, Batch(events=[event(1, text=text)]))
        (hit,) = await store.search("needle")
        assert "the needle in the" in hit.snippet
        assert hit.snippet.startswith("…")
        assert hit.snippet.endswith("…")
        assert len(hit.snippet) < 300


async def test_many_texts_are_indexed_in_slices(tmp_path: Path) -> None:
    async with opened(tmp_path / "handrail.db") as store:
        lease = await new_session(store)
        rows = [event(seq, text=f"word number{seq}") for seq in range(1, 1_203)]
        await store.append(lease, Batch(events=rows))
        assert [hit.seq for hit in await store.search("number1202")] == [1202]
        assert [hit.seq for hit in await store.search("number1")] != []
        assert len(await store.search("word", limit=2_000)) == 1_202


async def test_what_was_stored_and_removed_without_the_index_is_made_up_for(tmp_path: Path) -> None:
    path = tmp_path / "handrail.db"
    async with opened(path) as store:
        for name in ("s1", "s2"):
            lease = await new_session(store, name)
            await store.append(lease, Batch(events=[event(1, text="common words")]))
            await store.release(lease)
        assert len(await store.search("common")) == 2
    async with opened(path, full_text=False) as store:
        await store.delete_session("s2")
        lease = await new_session(store, "s3")
        await store.append(lease, Batch(events=[event(1, text="common as well")]))
        assert {hit.session_id for hit in await store.search("common")} == {"s1", "s3"}
    async with opened(path) as store:
        assert {hit.session_id for hit in await store.search("common")} == {"s1", "s3"}
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("INSERT INTO texts_index (texts_index) VALUES ('integrity-check')")


async def test_numbers_of_removed_texts_are_indexed_when_they_come_again(tmp_path: Path) -> None:
    async with opened(tmp_path / "handrail.db") as store:
        for name, text in (("s1", "first words"), ("s2", "second words")):
            lease = await new_session(store, name)
            await store.append(lease, Batch(events=[event(1, text=text)]))
            assert len(await store.search(text)) == 1
            await store.release(lease)
            await store.delete_session(name)
        assert await store.search("words") == []


async def test_where_the_index_cannot_grow_a_search_does_without(tmp_path: Path) -> None:
    path = tmp_path / "handrail.db"
    async with opened(path, lock_timeout=0.05) as store:
        lease = await new_session(store)
        await store.append(lease, Batch(events=[event(1, text="needle in hay")]))
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            assert [hit.seq for hit in await store.search("needle")] == [1]

"""Which host a start was given to: known until it is taken back or a day has passed, whatever else is asked for."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handrail.errors import SessionExists
from handrail.server.hosts.placed import KEPT_FOR, Placed
from handrail.store.base import Store
from handrail.store.sqlite import SqliteStore


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    store = SqliteStore(str(tmp_path / "hub.db"))
    await store.open()
    yield store
    await store.close()


async def test_it_is_known_for_a_day_also_to_the_next_hub(store: Store) -> None:
    await Placed(store, clock=lambda: 0.0).give("s1", "r1", "h1")
    assert await Placed(store, clock=lambda: KEPT_FOR).host_of("s1", "r1") == "h1"
    assert await Placed(store, clock=lambda: KEPT_FOR + 1).host_of("s1", "r1") is None


async def test_a_hub_that_is_started_forgets_what_it_only_looked_for(store: Store) -> None:
    """As it forgets requests that it had not answered: what was given to a host is not one of those."""
    placed = Placed(store, clock=lambda: 1.0)
    await placed.give("s1", "r1", "h1")
    assert await placed.host_of("s2", "r1") is None
    await store.forget_replies(before=0.0, unfinished_before=2.0)
    assert await placed.host_of("s1", "r1") == "h1"


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["host_of", "check_free", "give", "take_back"]),
        st.sampled_from(["s1", "s2"]),
        st.sampled_from(["r1", "r2"]),
        st.sampled_from(["h1", "h2"]),
    ),
    max_size=12,
)


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(STEPS)
def test_a_start_has_the_host_that_it_was_last_given_to(steps: list[tuple[str, str, str, str]]) -> None:
    async def run() -> None:
        with TemporaryDirectory() as directory:
            store = SqliteStore(f"{directory}/hub.db", durable=False)
            await store.open()
            try:
                await _follow(Placed(store), steps)
            finally:
                await store.close()

    asyncio.run(run())


async def _follow(placed: Placed, steps: list[tuple[str, str, str, str]]) -> None:
    given_to: dict[str, tuple[str, str]] = {}
    for what, session, request, host in steps:
        known = given_to.get(session)
        match what:
            case "give":
                await placed.give(session, request, host)
                given_to[session] = (request, host)
            case "take_back":
                await placed.take_back(session, request)
                given_to.pop(session, None)
            case _:
                assert await _asked(getattr(placed, what), session, request) == _expected(what, known, request)


async def _asked(look: Any, session: str, request: str) -> Any:
    try:
        return await look(session, request)
    except SessionExists:
        return SessionExists


def _expected(what: str, known: tuple[str, str] | None, request: str) -> Any:
    if known is not None and known[0] != request:
        return SessionExists
    return known[1] if known is not None and what == "host_of" else None

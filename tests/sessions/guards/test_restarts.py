"""Restarts: counted in the store, limited in a window, and never what a person asked for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.errors import SessionLimit
from handrail.sessions.guards.restarts import AUTOMATIC, RestartLimit, check_restart, refusal
from handrail.store.base import StartRow

LIMIT = RestartLimit(restarts=3, window=600)


def recoveries(*times: float) -> list[StartRow]:
    return [StartRow(at=at, why="recovery") for at in times]


def test_the_fourth_restart_within_ten_minutes_is_refused() -> None:
    assert refusal(recoveries(100, 200), LIMIT, now=300) is None
    words = refusal(recoveries(100, 200, 300), LIMIT, now=400)
    assert words is not None
    assert "3 times within 10 minutes" in words
    assert "handrail resume" in words
    assert refusal(recoveries(100, 200, 300), LIMIT, now=701) is None


def test_what_a_person_asked_for_does_not_count() -> None:
    starts = [StartRow(at=at, why=why) for at, why in enumerate(["new", "resume", "fork", "resume", "resume"])]
    assert refusal(starts, LIMIT, now=10) is None


def test_no_restarts_at_all() -> None:
    assert "not restarted by itself" in str(refusal([], RestartLimit(restarts=0), now=0))


def test_a_clock_that_is_set_back_does_not_help() -> None:
    assert refusal(recoveries(1000, 1001, 1002), LIMIT, now=10) is not None


class Store:
    def __init__(self) -> None:
        self.rows: list[StartRow] = []

    async def starts(self, session_id: str, *, since: float = 0.0) -> list[StartRow]:
        return [row for row in self.rows if row.at >= since]


async def test_a_crash_loop_ends_whatever_restarts_in_between() -> None:
    store = Store()
    for now in (0.0, 10.0, 20.0):
        await check_restart(store, "0123456789abcdef", LIMIT, now=now)
        store.rows.append(StartRow(at=now, why="recovery"))
    with pytest.raises(SessionLimit, match="session 01234567: it was restarted 3 times"):
        await check_restart(store, "0123456789abcdef", LIMIT, now=30.0)
    await check_restart(store, "0123456789abcdef", LIMIT, now=700.0)


@given(st.lists(st.floats(0, 10_000), max_size=200), st.integers(0, 5), st.floats(1, 1000))
def test_no_window_ever_has_more_restarts_than_allowed(times: list[float], restarts: int, window: float) -> None:
    limit = RestartLimit(restarts=restarts, window=window)
    made: list[StartRow] = []
    for now in sorted(times):
        if refusal(made, limit, now=now) is None:
            made.append(StartRow(at=now, why=sorted(AUTOMATIC)[len(made) % 2]))
    for start in made:
        assert len([other for other in made if start.at <= other.at < start.at + window]) <= restarts

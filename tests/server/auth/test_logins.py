"""Login links: one browser, once, within five minutes, and nobody can guess them."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.server.auth.logins import LIFETIME, MOST_CODES, Login, Logins
from handrail.server.auth.rate_limit import RateLimit, network_of
from handrail.server.problems import Problem

from .support import Clock

HOME = "192.0.2.1"


def refusal(logins: Logins, code: str, address: str = HOME) -> Problem:
    with pytest.raises(Problem) as caught:
        logins.exchange(code, address)
    return caught.value


def test_the_code_is_in_the_fragment_of_the_link() -> None:
    logins = Logins()
    link = logins.link("https://hub.example.org/", role="approver", name="Ann's phone")
    address, _, code = link.partition("#login=")
    assert address == "https://hub.example.org/"
    login = logins.exchange(code, HOME)
    assert (login.role, login.name) == ("approver", "Ann's phone")


def test_a_code_works_once() -> None:
    logins = Logins()
    code = logins.offer()
    assert logins.exchange(code, HOME).role == "owner"
    assert refusal(logins, code).code == "wrong_code"


def test_a_code_works_for_five_minutes() -> None:
    clock = Clock()
    logins = Logins(clock)
    early, late = logins.offer(), logins.offer()
    clock.pass_(LIFETIME - 1)
    logins.exchange(early, HOME)
    clock.pass_(1)
    assert refusal(logins, late).code == "wrong_code"
    assert logins.pending == 0


@pytest.mark.parametrize("code", ["", "hrl_", "hrl_" + "a" * 43, "\0", "\ud800", "ä" * 10_000])
def test_what_is_no_code(code: str) -> None:
    assert refusal(Logins(), code).code == "wrong_code"


async def test_of_twenty_who_use_a_code_at_once_one_gets_in() -> None:
    logins = Logins(limit=RateLimit(each=100))
    code = logins.offer()

    async def attempt() -> Login | Problem:
        await asyncio.sleep(0)
        try:
            return logins.exchange(code, HOME)
        except Problem as problem:
            return problem

    results = await asyncio.gather(*(attempt() for _ in range(20)))
    assert sum(isinstance(result, Login) for result in results) == 1


def test_a_code_that_was_given_back_works_again() -> None:
    logins = Logins()
    code = logins.offer()
    logins.give_back(code, logins.exchange(code, HOME))
    assert logins.exchange(code, HOME).role == "owner"


@pytest.mark.parametrize(("name", "role"), [("a\nb", "owner"), ("a" * 101, "owner"), ("a", "admin")])
def test_a_link_for_whom_there_cannot_be(name: str, role: Any) -> None:
    """Said to whoever makes the link, not to whoever follows it."""
    with pytest.raises(Problem) as caught:
        Logins().link("http://localhost", role=role, name=name)
    assert caught.value.code == "invalid"


def test_codes_are_kept_hashed_and_in_bounds() -> None:
    logins = Logins()
    codes = [logins.offer() for _ in range(MOST_CODES + 1)]
    assert logins.pending == MOST_CODES
    assert refusal(logins, codes[0]).code == "wrong_code"
    logins.exchange(codes[1], HOME)
    assert codes[-1] not in repr(vars(logins))


# ---------------------------------------------------------------- rate limits


def test_who_tries_too_often_waits() -> None:
    clock = Clock()
    logins = Logins(limit=RateLimit(each=5, period=60, clock=clock))
    code = logins.offer()
    assert {refusal(logins, "wrong").code for _ in range(5)} == {"wrong_code"}
    problem = refusal(logins, code)
    assert (problem.code, problem.headers) == ("too_many_requests", {"retry-after": "12"})
    clock.pass_(12)
    logins.exchange(code, HOME)


def test_others_do_not_wait_for_them() -> None:
    logins = Logins(limit=RateLimit(each=1))
    refusal(logins, "wrong")
    assert refusal(logins, "wrong").code == "too_many_requests"
    assert refusal(logins, "wrong", "192.0.2.2").code == "wrong_code"


def test_all_together_are_limited_too() -> None:
    limit = RateLimit(each=5, in_all=8, clock=Clock())
    assert [limit.take(f"192.0.2.{number}") == 0 for number in range(10)] == [True] * 8 + [False] * 2


def test_a_network_that_one_person_has_counts_as_one() -> None:
    assert network_of("2001:db8:1:2::1") == network_of("2001:db8:1:2:ffff::2")
    assert network_of("2001:db8:1:3::1") != network_of("2001:db8:1:2::1")
    assert network_of("192.0.2.1") == network_of("::ffff:192.0.2.1")
    assert network_of("192.0.2.1") != network_of("192.0.2.2")


@given(st.lists(st.tuples(st.integers(0, 30), st.floats(0, 5)), max_size=200))
def test_however_people_try_the_limits_and_the_memory_hold(tries: list[tuple[int, float]]) -> None:
    clock = Clock()
    limit = RateLimit(each=3, in_all=10, period=10, clock=clock, remembered=20)
    taken: list[tuple[int, float]] = []
    for address, pause in tries:
        clock.pass_(pause)
        wait = limit.take(f"192.0.2.{address}")
        assert 0 <= wait <= 10
        if wait == 0:
            taken.append((address, clock.now))
        assert limit.addresses <= 20
        lately = [who for who, at in taken if at > clock.now - 10]
        assert len(lately) <= 20  # what was saved up, and what came back meanwhile


@given(st.floats(0.001, 100))
def test_after_the_wait_there_is_a_try(period: float) -> None:
    clock = Clock(0.0)
    limit = RateLimit(each=1, period=period, clock=clock)
    assert limit.take(HOME) == 0
    wait = limit.take(HOME)
    clock.pass_(wait * 1.001)
    assert limit.take(HOME) == 0

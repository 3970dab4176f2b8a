"""Tokens: good until they are revoked or expire, stored as hashes, and whatever is open for one ends with it."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.server.auth.secret_words import TOKEN_PREFIX, contains_secret, hashed, new_secret, redacted
from handrail.server.auth.tokens import DAY, Tokens
from handrail.server.problems import Problem

from .support import Clock, opened, stored_in


async def test_a_token_is_found_by_its_secret_alone(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        tokens = Tokens(store)
        row, secret = await tokens.mint("laptop", "approver", created_by="ann")
        found = await tokens.find(secret)
        assert found is not None
        assert (found.id, found.name, found.role, found.kind, found.created_by) == (
            row.id,
            "laptop",
            "approver",
            "program",
            "ann",
        )
        for wrong in (
            "",
            "hr_",
            secret[:-1],
            secret + "a",
            secret.upper(),
            secret.removeprefix("hr_"),
            "\ud800",
            row.id,
        ):
            assert await tokens.find(wrong) is None
        assert await tokens.find(hashed(secret)) is None


async def test_only_a_hash_is_stored(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        _, secret = await Tokens(store).mint("laptop", "owner")
        (row,) = await store.tokens()
        assert row.secret_hash == hashed(secret)
    stored = stored_in(tmp_path)
    assert row.secret_hash.encode() in stored
    assert secret.removeprefix(TOKEN_PREFIX).encode() not in stored


async def test_a_browsers_token_is_none_for_programs_and_the_other_way_round(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        tokens = Tokens(store)
        _, cookie = await tokens.mint("phone", "owner", kind="browser")
        _, program = await tokens.mint("script", "owner")
        assert await tokens.find(cookie, kind="program") is None
        assert await tokens.find(program, kind="browser") is None
        assert await tokens.find(cookie, kind="browser") is not None


async def test_a_revoked_token_is_good_for_nothing_but_still_listed(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        tokens = Tokens(store)
        row, secret = await tokens.mint("laptop", "owner")
        await tokens.revoke(row.id)
        assert await tokens.find(secret) is None
        assert await Tokens(store).find(secret) is None
        assert [(each.id, each.revoked_at is not None) for each in await tokens.list()] == [(row.id, True)]
        await tokens.revoke(row.id)  # once more does no harm


async def test_a_token_that_another_process_revoked_is_good_for_nothing(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        here, there = Tokens(store), Tokens(store)
        row, secret = await here.mint("laptop", "owner")
        assert await here.find(secret) is not None
        await there.revoke(row.id)
        assert await here.find(secret) is None


async def test_revoking_what_is_not_there(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        with pytest.raises(Problem, match="no token abc") as caught:
            await Tokens(store).revoke("abc")
        assert caught.value.code == "token_not_found"


async def test_a_token_expires(tmp_path: Path) -> None:
    clock = Clock(time.time())
    async with opened(tmp_path) as store:
        tokens = Tokens(store, clock)
        _, secret = await tokens.mint("laptop", "owner", days=2)
        _, eternal = await tokens.mint("server", "owner")
        clock.pass_(2 * DAY - 1)
        assert await tokens.find(secret) is not None
        clock.pass_(1)
        assert await tokens.find(secret) is None
        clock.pass_(10_000 * DAY)
        assert await tokens.find(eternal) is not None
        tokens.close()


async def test_the_last_use_is_noted_once_a_minute(tmp_path: Path) -> None:
    clock, touched = Clock(), []
    async with opened(tmp_path) as store:
        touch = store.touch_token

        async def noted(token_id: str, at: float) -> None:
            touched.append(at)
            await touch(token_id, at)

        store.touch_token = noted  # type: ignore[method-assign]
        tokens = Tokens(store, clock)
        _, secret = await tokens.mint("laptop", "owner")
        for _ in range(10):
            await asyncio.gather(*(tokens.find(secret) for _ in range(5)))
            clock.pass_(12)
        (row,) = await tokens.list()
        assert touched == [1_000_000.0, 1_000_060.0]
        assert row.last_used_at == touched[-1]


async def test_listeners_are_told_of_a_revocation_even_if_one_of_them_fails(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with opened(tmp_path) as store:
        tokens, told = Tokens(store), list[str]()

        def failing(token_id: str) -> None:
            raise LookupError(token_id)

        tokens.on_revoked(failing)
        tokens.on_revoked(told.append)
        stop = tokens.on_revoked(lambda token_id: told.append(f"{token_id} again"))
        stop()
        row, _ = await tokens.mint("laptop", "owner")
        await tokens.revoke(row.id)
        assert told == [row.id]
        assert "could not be closed" in caplog.text


async def test_a_token_that_is_revoked_while_it_is_looked_up_opens_nothing(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        tokens = Tokens(store)
        row, secret = await tokens.mint("laptop", "owner")

        async def revoked_meanwhile(token_id: str, at: float) -> None:
            await tokens.revoke(row.id)

        store.touch_token = revoked_meanwhile  # type: ignore[method-assign]
        assert await tokens.find(secret) is None


@pytest.mark.slow
async def test_listeners_are_told_when_a_token_expires_that_is_in_use(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        tokens = Tokens(store)
        ended = asyncio.get_running_loop().create_future()
        tokens.on_revoked(ended.set_result)
        row, secret = await tokens.mint("laptop", "owner", days=0.2 / DAY)
        assert await tokens.find(secret) is not None
        assert await asyncio.wait_for(ended, 30) == row.id
        assert await tokens.find(secret) is None


@pytest.mark.slow
async def test_a_clock_that_went_slower_than_the_loops_ends_no_token_early(tmp_path: Path) -> None:
    clock = Clock()
    async with opened(tmp_path) as store:
        tokens, told = Tokens(store, clock), list[str]()
        tokens.on_revoked(told.append)
        row, secret = await tokens.mint("laptop", "owner", days=0.05 / DAY)
        assert await tokens.find(secret) is not None
        looks = await timer_runs(tokens, 3)
        assert (told, looks) == ([], 3)
        clock.pass_(1)
        while not told:
            await asyncio.sleep(0.01)
        assert told == [row.id]


async def timer_runs(tokens: Tokens, times: int) -> int:
    """Wait until a timer has been set anew so often."""
    seen = set[Any]()
    while len(seen) < times:
        seen |= set(tokens._expiries.values())
        await asyncio.sleep(0.01)
    return times


@pytest.mark.parametrize(
    ("name", "role", "days", "words"),
    [
        ("", "owner", None, "name"),
        (" ", "owner", None, "name"),
        ("a\nb", "owner", None, "name"),
        ("a\u202eb", "owner", None, "name"),
        ("a" * 101, "owner", None, "name"),
        ("a", "admin", None, "there is viewer, approver and owner"),
        ("a", "owner", 0, "days"),
        ("a", "owner", -1, "days"),
        ("a", "owner", float("nan"), "days"),
        ("a", "owner", float("inf"), "days"),
    ],
)
async def test_a_token_that_cannot_be_made(tmp_path: Path, name: str, role: Any, days: float, words: str) -> None:
    async with opened(tmp_path) as store:
        with pytest.raises(Problem, match=words) as caught:
            await Tokens(store).mint(name, role, days=days)
        assert caught.value.code == "invalid"
        assert await store.tokens() == []


@pytest.mark.slow
@given(st.text(), st.text(), st.sampled_from(["hr_", "hrl_"]))
def test_a_secret_is_taken_out_of_any_text(before: str, after: str, prefix: str) -> None:
    secret = new_secret(prefix)
    text = before + secret + after
    assert contains_secret(text)
    assert secret not in redacted(text)
    assert secret.removeprefix(prefix)[:40] not in redacted(text)


def test_other_text_stays_as_it_is() -> None:
    text = "hr_ hr_short a_chr_function hr-rule " + "a" * 60
    assert not contains_secret(text)
    assert redacted(text) == text

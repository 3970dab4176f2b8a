"""Checks of tokens, the audit log, kept replies, and what runs used."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec

from handrail.errors import StoreError
from handrail.store.base import AuditRow, Batch, KeptReply, Retention, RunUsageRow, TokenRow, UsageRow
from handrail.testing._store_checks.support import NOW, Check, Handles, expect, expect_error, new_session

__all__ = ["CHECKS"]

DAY = 86_400.0
MANY = 20


def token(token_id: str, **fields: Any) -> TokenRow:
    wanted = {"name": "phone", "role": "owner", "kind": "browser", "secret_hash": f"hash of {token_id}", **fields}
    return TokenRow(**{"id": token_id, "created_at": NOW, **wanted})


async def tokens_are_found_by_what_their_secret_hashes_to(handles: Handles) -> None:
    store, other = await handles.open(), await handles.open()
    late = token("t1", created_at=NOW + 1, created_by="ann", expires_at=NOW + DAY)
    early = token("t2", role="viewer", kind="program", name="a name \u00e4")
    for row in (late, early):
        await store.add_token(row)
    expect(await other.tokens(), [early, late], "tokens, oldest first")
    expect(await other.token_by_hash("hash of t1"), late, "the token with a hash")
    expect(await other.token_by_hash("hash of t9"), None, "the token with a hash that none has")
    expect(await other.token_by_hash(""), None, "the token with no hash")
    same_id = msgspec.structs.replace(late, secret_hash="another")  # noqa: S106 - no secret
    same_hash = msgspec.structs.replace(late, id="t3")
    await expect_error(StoreError, store.add_token(same_id), "a token of the same id")
    await expect_error(StoreError, store.add_token(same_hash), "a token of the same hash")


async def a_token_stays_revoked(handles: Handles) -> None:
    store, other = await handles.open(), await handles.open()
    await store.add_token(token("t1"))
    await store.touch_token("t1", NOW + 5)
    await store.touch_token("t9", NOW + 5)
    expect(await store.revoke_token("t1", NOW + 9), True, "whether it could be revoked")
    expect(await other.revoke_token("t1", NOW + 99), False, "whether it could be revoked again")
    expect(await other.revoke_token("t9", NOW), False, "whether a token that is not there could be revoked")
    found = await other.token_by_hash("hash of t1")
    expect(found, token("t1", last_used_at=NOW + 5, revoked_at=NOW + 9), "the revoked token")
    await store.prune(Retention(), now=NOW + DAY)
    expect(len(await store.tokens()), 1, "how many tokens there are the day after")


async def the_audit_log_is_read_from_its_end(handles: Handles) -> None:
    store, other = await handles.open(), await handles.open()
    rows = [
        AuditRow(
            at=NOW + number,
            actor="ann",
            surface="web",
            action="decide",
            session_id=f"s{number % 2}",
            ask_id="ask1",
            outcome="ok",
            detail=f"\u00e4 {number}",
        )
        for number in range(5)
    ]
    for row in rows:
        await store.audit(row)
    first = await other.audit_log(limit=2)
    second = await other.audit_log(limit=2, before=first[-1].number)
    found = [msgspec.structs.replace(row, number=0) for row in (*first, *second)]
    expect(found, rows[:0:-1], "two pages, the latest first")
    numbers = [row.number for row in (*first, *second)]
    expect(numbers, sorted(set(numbers), reverse=True), "their numbers")
    expect([row.detail for row in await other.audit_log(session_id="s1")], ["ä 3", "ä 1"], "entries of a session")
    expect(await other.audit_log(before=0), [], "entries before the first")


def request(key: str = "k1", **fields: Any) -> KeptReply:
    return KeptReply(**{"caller": "t1", "key": key, "request_hash": "h1", "at": NOW, **fields})


async def of_many_who_make_a_request_one_does_it(handles: Handles) -> None:
    stores = [await handles.open() for _ in range(3)]
    calls = [
        stores[number % 3].begin_reply(request(request_hash=f"h{number}"), forget_before=NOW - DAY)
        for number in range(MANY)
    ]
    outcomes = await asyncio.gather(*calls)
    winners = [number for number, found in enumerate(outcomes) if found is None]
    expect(len(winners), 1, "how many were told to do it")
    kept = request(request_hash=f"h{winners[0]}")
    expect([found for found in outcomes if found is not None], [kept] * (MANY - 1), "what the others were told")
    for other in (request(caller="t2"), request("k2")):
        expect(await stores[0].begin_reply(other, forget_before=NOW - DAY), None, "another caller, or another key")


async def a_kept_reply_is_given_again_until_it_is_old(handles: Handles) -> None:
    store, other = await handles.open(), await handles.open()
    expect(await store.begin_reply(request(), forget_before=0), None, "the first request")
    done = request(status=201, body=b'{"a":1}', headers=b'{"x":"y"}')
    await store.keep_reply(done)
    await other.drop_reply("t1", "k1")
    again = request(at=NOW + 5, request_hash="h2")
    expect(await other.begin_reply(again, forget_before=NOW), done, "the request made again")
    expect(await other.begin_reply(again, forget_before=NOW + 1), None, "the request made again, much later")
    expect(await other.begin_reply(again, forget_before=0), again, "what is being worked on")
    await other.drop_reply("t1", "k1")
    expect(await other.begin_reply(again, forget_before=0), None, "the request after nothing came of it")
    await store.keep_reply(request("k2", status=204, at=NOW + 5))
    expect(await store.forget_replies(before=NOW, unfinished_before=NOW + 6), 1, "how many were forgotten")
    expect(await store.begin_reply(request("k1", at=NOW + 7), forget_before=0), None, "the request that was forgotten")
    await store.prune(Retention(), now=NOW + 2 * DAY)
    expect(await store.begin_reply(request("k2"), forget_before=0), None, "a request two days later")


def used(run: int, model: str, day: str, tokens: int, **fields: Any) -> RunUsageRow:
    counts = {"input_tokens": tokens, "output_tokens": 2 * tokens, "cache_read_tokens": 3, "cache_write_tokens": 4}
    return RunUsageRow(**{"run": run, "model": model, "at": NOW + run, "day": day, "cost_usd": 0.5, **counts, **fields})


async def what_runs_used_is_summed_up(handles: Handles) -> None:
    store, other = await handles.open(), await handles.open()
    first, second = await new_session(store, "s1"), await new_session(store, "s2")
    await store.append(first, Batch(usage=[used(1, "opus", "2026-01-01", 999), used(1, "haiku", "2026-01-01", 10)]))
    await store.append(first, Batch(usage=[used(1, "opus", "2026-01-01", 100), used(2, "opus", "2026-01-02", 1)]))
    await store.append(second, Batch(usage=[used(1, "opus", "2026-01-01", 1000)]))

    async def facts(*by: Any, since: float = 0.0) -> list[tuple[str, str, str, int, int, float]]:
        rows = await other.usage(since=since, by=by)
        return [(row.day, row.model, row.session_id, row.input_tokens, row.runs, row.cost_usd) for row in rows]

    by_day = [("2026-01-01", "", "", 1110, 2, 1.5), ("2026-01-02", "", "", 1, 1, 0.5)]
    expect(await facts("day"), by_day, "usage by day")
    by_model = [("", "haiku", "", 10, 1, 0.5), ("", "opus", "", 1101, 3, 1.5)]
    expect(await facts("model"), by_model, "usage by model")
    by_both = [("", "haiku", "s1", 10, 1, 0.5), ("", "opus", "s1", 101, 2, 1.0), ("", "opus", "s2", 1000, 1, 0.5)]
    expect(await facts("model", "session"), by_both, "usage by model and session")
    expect(await facts("day", since=NOW + 2), by_day[1:], "usage since the second run")
    total = UsageRow(
        input_tokens=1111, output_tokens=2222, cache_read_tokens=12, cache_write_tokens=16, cost_usd=2.0, runs=3
    )
    expect(await other.usage(by=()), [total], "all usage")
    expect(await other.usage(since=NOW + 99, by=()), [], "no usage")
    await expect_error(StoreError, other.usage(by=("hour",)), "usage by something else")  # type: ignore[arg-type]
    await store.release(second)
    await store.delete_session("s2")
    expect([row[2] for row in await facts("session")], ["s1"], "usage after a session was deleted")


CHECKS: tuple[Check, ...] = (
    tokens_are_found_by_what_their_secret_hashes_to,
    a_token_stays_revoked,
    the_audit_log_is_read_from_its_end,
    of_many_who_make_a_request_one_does_it,
    a_kept_reply_is_given_again_until_it_is_old,
    what_runs_used_is_summed_up,
)

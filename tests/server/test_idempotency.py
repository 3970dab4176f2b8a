"""Requests that come twice: done once, and only if they are the same."""

from __future__ import annotations

import pytest

from handrail.errors import StoreUnavailable
from handrail.store.base import KeptReply

from .api.test_sessions import code
from .support import ServedHub


async def test_what_stands_behind_the_question_mark_is_part_of_a_request(served: ServedHub) -> None:
    async with served.client() as client:
        for rule in ("Bash(ls)", "Bash(pwd)"):
            await client.put("/api/policy/rules", json={"behavior": "allow", "rule": rule})
        headers = {"idempotency-key": "one"}
        path, first = "/api/policy/rules", {"behavior": "allow", "rule": "Bash(ls)"}
        assert (await client.delete(path, params=first, headers=headers)).status_code == 200
        other = await client.delete(path, params={**first, "rule": "Bash(pwd)"}, headers=headers)
        assert code(other) == (422, "idempotency_key_reused")
        again = await client.delete(path, params=first, headers=headers)
        assert again.headers["idempotent-replayed"] == "true"


async def test_who_has_another_token_is_somebody_else(served: ServedHub) -> None:
    headers = {"idempotency-key": "one"}
    body = {"behavior": "allow", "rule": "Bash(ls)"}
    _, secret = await served.hub.tokens.mint("owner of the tests", "owner")
    async with served.client() as one, served.client(None, authorization=f"Bearer {secret}") as other:
        first = await one.put("/api/policy/rules", json=body, headers=headers)
        second = await other.put("/api/policy/rules", json={**body, "rule": "Bash(pwd)"}, headers=headers)
    assert (first.status_code, second.status_code) == (200, 200)
    assert "idempotent-replayed" not in second.headers


async def test_what_was_done_is_not_called_a_failure_because_the_answer_cannot_be_kept(
    served: ServedHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def full(reply: KeptReply) -> None:
        raise StoreUnavailable("the disk is full")

    monkeypatch.setattr(served.manager.store, "keep_reply", full)
    headers = {"idempotency-key": "one"}
    body = {"behavior": "allow", "rule": "Bash(ls)"}
    async with served.client() as client:
        done = await client.put("/api/policy/rules", json=body, headers=headers)
        assert done.status_code == 200
        audited = (await client.get("/api/audit")).json()["items"][0]
        assert (audited["action"], audited["outcome"]) == ("policy.add_rule", "ok")

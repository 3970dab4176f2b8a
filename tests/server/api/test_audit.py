"""The audit log says what was done, not only that something was: which session, answer, rule and role."""

from __future__ import annotations

from typing import Any

import pytest

from ..support import ServedHub
from .test_sessions import started, until


async def audited(served: ServedHub, number: int = 1) -> list[dict[str, Any]]:
    """The last entries, the latest first."""
    async with served.client() as client:
        entries: list[dict[str, Any]] = (await client.get("/api/audit", params={"limit": number})).json()["items"]
    return entries


async def test_a_session_that_was_started_is_named(served: ServedHub) -> None:
    async with served.client() as client:
        session = await started(served, client, prompt="", mode="plan")
        (entry,) = await audited(served)
        assert (entry["action"], entry["session_id"]) == ("sessions.create", session["id"])
        assert "mode plan" in entry["detail"]


@pytest.mark.slow
async def test_what_was_answered_is_named(served: ServedHub) -> None:
    async with served.client() as client:
        session = await started(served, client)
        await until(client, f"/api/sessions/{session['id']}", lambda found: found["status"] == "needs_you")
        (ask,) = (await client.get("/api/asks")).json()["items"]
        path = f"/api/asks/{session['id']}/{ask['ask_id']}/answer"
        await client.post(path, json={"digest": "0" * 64, "answer": {"type": "allow"}})
        await client.post(path, json={"digest": ask["digest"], "answer": {"type": "deny", "message": "rather not"}})
    last, first = await audited(served, 2)
    assert (first["outcome"], first["detail"]) == ("stale_digest", "allow")
    assert (last["outcome"], last["detail"]) == ("ok", "deny")
    assert (last["session_id"], last["ask_id"]) == (session["id"], ask["ask_id"])
    assert "rather not" not in str(last)


async def test_requests_to_claude_code_are_named(served: ServedHub) -> None:
    async with served.client() as client:
        session = await started(served, client, prompt="")
        path = f"/api/sessions/{session['id']}/control"
        await client.post(path, json={"subtype": "set_permission_mode", "fields": {"mode": "acceptEdits"}})
    (entry,) = await audited(served)
    assert (entry["action"], entry["detail"]) == ("control.control", "set_permission_mode acceptEdits")
    async with served.client("viewer") as client:
        await client.post(path, json={"subtype": "set_permission_mode", "fields": {"mode": "bypassPermissions"}})
    (entry,) = await audited(served)
    assert (entry["outcome"], entry["detail"]) == ("role_needed", "set_permission_mode bypassPermissions")


async def test_rules_tokens_and_links_are_named(served: ServedHub) -> None:
    async with served.client() as client:
        await client.put("/api/policy/rules", json={"behavior": "allow", "rule": "Bash(ls)"})
        await client.request("DELETE", "/api/policy/rules", params={"behavior": "allow", "rule": "Bash(ls)"})
        token = (await client.post("/api/tokens", json={"name": "ci", "role": "approver"})).json()
        await client.post("/api/logins", json={"role": "viewer", "name": "phone"})
    link, minted, removed, added = await audited(served, 4)
    assert added["detail"] == removed["detail"] == "allow Bash(ls) (user)"
    assert minted["detail"] == f"token {token['id']} approver ci"
    assert link["detail"] == "viewer phone"
    assert token["token"] not in str([link, minted])

"""The hub itself over the API: health, what it is, check-up, audit log, usage, figures, tokens."""

from __future__ import annotations

import asyncio
import os
import time
from dataclasses import replace
from pathlib import Path

import pytest

from handrail.protocol.options import Options
from handrail.server.auth.secret_words import contains_secret
from handrail.server.hub import HubSettings
from handrail.testing import simulated as sim

from ..support import PATIENCE, Around, ServedHub, served_hub


async def test_health_needs_no_token_and_says_nothing_else(served: ServedHub) -> None:
    async with served.client(None) as client:
        assert (await client.get("/api/health")).json() == {"status": "ok"}
        for path in ("/api/hub", "/api/me", "/api/doctor", "/metrics", "/api/openapi.json", "/api/usage"):
            refused = await client.get(path)
            assert (refused.status_code, refused.json()["code"]) == (401, "not_authenticated"), path


@pytest.mark.slow
async def test_a_hub_that_stops_is_not_well(served: ServedHub) -> None:
    served.hub.stopping = True
    async with served.client(None) as client:
        assert (await client.get("/api/health")).json()["code"] == "stopping"


@pytest.mark.slow
async def test_a_start_that_the_stop_of_the_hub_ends_is_told_so(tmp_path: Path) -> None:
    started, ends = tmp_path / "started", tmp_path / "ends"
    os.mkfifo(ends)
    cli = tmp_path / "claude"
    cli.write_text(f'#!/bin/sh\ntouch "{started}"\nexec cat "{ends}"\n')
    cli.chmod(0o755)
    async with served_hub(tmp_path, options=Options(cli_path=str(cli))) as served, served.client() as client:
        starting = asyncio.create_task(client.post("/api/sessions", json={"cwd": str(served.directory)}))
        async with asyncio.timeout(PATIENCE):
            while not started.exists():
                await asyncio.sleep(0.01)
        served.hub.stopping = True
        await asyncio.to_thread(ends.write_text, "")
        refused = await starting
        assert (refused.status_code, refused.json()["code"]) == (503, "stopping")
        assert (await client.get("/api/sessions")).json()["items"] == []


async def test_who_one_is(served: ServedHub) -> None:
    async with served.client("approver") as client:
        me = (await client.get("/api/me")).json()
    assert me == {"name": "approver of the tests", "role": "approver", "surface": "api"}


async def test_what_the_hub_is(served: ServedHub) -> None:
    async with served.client("viewer") as client:
        hub = (await client.get("/api/hub")).json()
    assert hub["url"] == served.url
    assert hub["roots"] == [str(served.directory)]
    assert (hub["demo_offered"], hub["default_profile"]) == (True, "careful")
    assert hub["claude"]["version"] == "2.1.325"


async def test_no_demo_where_somebody_is_logged_in(tmp_path: Path) -> None:
    around = Around()
    around.status = type(around.status)(found=True, version="2.1.325", logged_in=True)
    async with served_hub(tmp_path, around=around) as served, served.client() as client:
        assert (await client.get("/api/hub")).json()["demo_offered"] is False


async def test_what_a_check_up_finds(served: ServedHub) -> None:
    async with served.client("viewer") as client:
        found = (await client.get("/api/doctor")).json()["items"]
    assert found == [
        {"name": "git", "area": "git", "level": "ok", "ok": True, "words": "git is there", "fix": ""},
    ]


async def test_what_was_done_is_in_the_audit_log(served: ServedHub) -> None:
    async with served.client() as client:
        await client.put("/api/policy/rules", json={"behavior": "allow", "rule": "Bash(ls)"})
        await client.put("/api/policy/rules", json={"behavior": "allow", "rule": "Bash("})
        first = (await client.get("/api/audit", params={"limit": 1})).json()
        second = (await client.get("/api/audit", params={"limit": 1, "cursor": first["next"]})).json()
    assert [(each["action"], each["outcome"]) for each in (*first["items"], *second["items"])] == [
        ("policy.add_rule", "invalid_policy"),
        ("policy.add_rule", "ok"),
    ]
    assert first["items"][0]["actor"] == "owner of the tests"
    async with served.client("approver") as client:
        assert (await client.get("/api/audit")).status_code == 403


@pytest.mark.slow
@pytest.mark.parametrize("by", ["day", "session", "model", "total"])
async def test_usage_is_summed_up(served: ServedHub, by: str) -> None:
    session = await served.session(sim.loop_turns("ok"))
    await session.run("one")
    await session.run("two")
    async with served.client("viewer") as client:
        usage = (await client.get("/api/usage", params={"by": by, "days": 1})).json()
    (used,) = usage["items"]
    assert used["runs"] == 2
    assert 0 <= time.time() - usage["since"] <= 26 * 3600
    assert {"day": "day", "session": "session_id", "model": "model", "total": "runs"}[by] in used
    assert by != "session" or used["title"] == "one"


async def test_figures_are_for_prometheus(served: ServedHub) -> None:
    async with served.client("viewer") as client:
        await client.get("/api/me")
        figures = await client.get("/metrics")
    assert figures.headers["content-type"].startswith("text/plain; version=0.0.4")
    assert 'handrail_http_requests_total{route="system.me",status="200"} 1.0' in figures.text


async def test_a_token_is_made_shown_once_used_and_revoked(served: ServedHub) -> None:
    async with served.client() as client:
        made = await client.post("/api/tokens", json={"name": "script", "role": "viewer", "days": 1})
        assert made.status_code == 201
        token = made.json()
        listed = await client.get("/api/tokens")
        (row,) = (each for each in listed.json()["items"] if each["id"] == token["id"])
        assert (row["name"], row["role"], row["kind"], row["created_by"], row["current"]) == (
            *("script", "viewer", "program", "owner of the tests"),
            False,
        )
        assert not contains_secret(listed.text)
        assert [each["name"] for each in listed.json()["items"] if each["current"]] == ["owner of the tests"]
        async with served.client(None, authorization=f"Bearer {token['token']}") as script:
            assert (await script.get("/api/me")).json()["name"] == "script"
            assert (await client.delete(f"/api/tokens/{token['id']}")).status_code == 204
            assert (await script.get("/api/me")).status_code == 401
        assert (await client.delete("/api/tokens/none")).json()["code"] == "token_not_found"


async def test_a_secret_is_not_kept_for_an_idempotency_key(served: ServedHub) -> None:
    async with served.client(**{"idempotency-key": "k1"}) as client:
        for path, body in (("/api/tokens", {"name": "x", "role": "viewer"}), ("/api/logins", {})):
            assert (await client.post(path, json=body)).json()["code"] == "invalid"


async def test_a_login_link_comes_with_a_picture(served: ServedHub) -> None:
    async with served.client() as client:
        made = (await client.post("/api/logins", json={"role": "approver", "name": "phone"})).json()
    assert made["link"].startswith(f"{served.url}/#login=")
    assert made["qr_svg"].startswith("<svg")
    assert made["expires_at"] > time.time()


async def test_only_owners_see_and_make_tokens(served: ServedHub) -> None:
    async with served.client("approver") as client:
        for method, path in (("GET", "/api/tokens"), ("POST", "/api/tokens"), ("POST", "/api/logins")):
            body = {"name": "x", "role": "viewer"} if path == "/api/tokens" and method == "POST" else None
            assert (await client.request(method, path, json=body)).json()["code"] == "role_needed"


async def test_the_address_of_a_proxy_is_in_the_link(tmp_path: Path) -> None:
    settings = replace(HubSettings(), public_url="https://hub.example", behind_proxy=True)
    async with served_hub(tmp_path, settings=settings) as served:
        link = served.hub.logins.link(served.hub.settings.url)
    assert link.startswith("https://hub.example/#login=")

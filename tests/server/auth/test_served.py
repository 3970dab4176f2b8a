"""The guards around the real hub, over real sockets: logging in, being thrown out, and what leaves no trace."""

from __future__ import annotations

import asyncio
import logging
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import httpx2
import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from handrail.server.app import make_app
from handrail.server.running import HubServer
from handrail.sessions.owning.owner_socket import HUB, OwnerSocket
from handrail.transports.process_tree import MARKER_VARIABLE, marked_environment, new_marker

from ..support import PATIENCE, ServedHub, served_hub
from .support import ELSEWHERE, stored_in

COOKIE = "handrail_session"


def code_of(link: str) -> str:
    return link.partition("#login=")[2]


@asynccontextmanager
async def logged_in(served: ServedHub, **login: Any) -> AsyncIterator[httpx2.AsyncClient]:
    """A browser that has followed a login link."""
    async with served.client(None, origin=served.url) as browser:
        code = code_of(served.hub.login_link(**login))
        answer = await browser.post("/api/login", json={"code": code})
        assert answer.status_code == 200, answer.text
        yield browser


def live(served: ServedHub, **headers: str) -> connect:
    url = served.url.replace("http", "ws", 1) + "/api/live"
    return connect(url, additional_headers=headers, proxy=None)


async def close_code(socket: ClientConnection) -> int:
    """With what a socket was closed, once it is."""
    async with asyncio.timeout(PATIENCE):
        with suppress(ConnectionClosed):
            while True:
                await socket.recv()
    assert socket.close_code is not None
    return socket.close_code


# ---------------------------------------------------------------- logging in and out


async def test_a_login_link_lets_a_browser_in_and_logging_out_ends_that(served: ServedHub) -> None:
    async with logged_in(served, role="approver", name="Ann") as browser:
        me = (await browser.get("/api/me")).json()
        assert (me["name"], me["role"]) == ("Ann", "approver")
        secret = browser.cookies[COOKIE]
        assert (await browser.post("/api/logout")).status_code == 204
        assert COOKIE not in browser.cookies
        again = await browser.get("/api/me", headers={"cookie": f"{COOKIE}={secret}"})
        assert again.status_code == 401


async def test_logging_in_again_ends_what_the_browser_had(served: ServedHub) -> None:
    async with logged_in(served) as browser:
        former = browser.cookies[COOKIE]
        code = code_of(served.hub.login_link(role="viewer"))
        assert (await browser.post("/api/login", json={"code": code})).status_code == 200
        assert await served.hub.tokens.find(former) is None
        assert (await browser.get("/api/me")).json()["role"] == "viewer"


async def test_of_twenty_exchanges_at_once_one_wins(served: ServedHub) -> None:
    served.hub.logins._limit._each = 100
    code = code_of(served.hub.login_link())
    async with served.client(None, origin=served.url) as browser:
        answers = await asyncio.gather(*(browser.post("/api/login", json={"code": code}) for _ in range(20)))
    assert sorted(answer.status_code for answer in answers) == [200] + [401] * 19
    assert sum("set-cookie" in answer.headers for answer in answers) == 1


async def test_who_guesses_codes_is_slowed_down(served: ServedHub) -> None:
    async with served.client(None, origin=served.url) as browser:
        answers = [await browser.post("/api/login", json={"code": "hrl_wrong"}) for _ in range(11)]
    assert [answer.status_code for answer in answers] == [401] * 10 + [429]
    assert 1 <= int(answers[-1].headers["retry-after"]) <= 60
    assert answers[-1].json()["code"] == "too_many_requests"


async def test_logins_are_in_the_audit_log(served: ServedHub) -> None:
    async with logged_in(served, name="Ann") as browser:
        await browser.post("/api/logout")
    actions = [(row.actor, row.surface, row.action, row.outcome) for row in await served.hub.audit.read(limit=2)]
    assert actions == [("Ann", "web", "login.logout", "ok"), ("Ann", "web", "login.login", "ok")]


# ---------------------------------------------------------------- sockets


async def test_revoking_a_token_closes_its_sockets_and_no_others(served: ServedHub) -> None:
    row, secret = await served.hub.tokens.mint("bot", "viewer")
    other = f"Bearer {served.tokens['viewer']}"
    async with live(served, authorization=f"Bearer {secret}") as socket, live(served, authorization=other) as kept:
        await socket.recv()
        await kept.recv()
        async with served.client() as owner:
            assert (await owner.delete(f"/api/tokens/{row.id}")).status_code == 204
        assert await close_code(socket) == 4401
        await kept.send('{"type": "ping", "n": 1}')
        async with asyncio.timeout(PATIENCE):
            while "pong" not in str(await kept.recv()):
                pass


async def test_logging_out_closes_the_browsers_socket(served: ServedHub) -> None:
    async with logged_in(served) as browser:
        cookie = f"{COOKIE}={browser.cookies[COOKIE]}"
        async with live(served, origin=served.url, cookie=cookie) as socket:
            await socket.recv()
            await browser.post("/api/logout")
            assert await close_code(socket) == 4401


async def test_a_page_elsewhere_cannot_open_a_socket_with_our_cookie(served: ServedHub) -> None:
    async with logged_in(served) as browser:
        cookie = f"{COOKIE}={browser.cookies[COOKIE]}"
    for headers in ({"origin": ELSEWHERE}, {"origin": "http://localhost:3000"}, {}):
        with pytest.raises(InvalidStatus) as caught:
            async with live(served, cookie=cookie, **headers):
                pass
        assert caught.value.response.status_code == 403
        assert b"wrong_origin" in (caught.value.response.body or b"")


async def test_a_socket_without_a_token_is_closed_with_a_code_that_the_page_understands(served: ServedHub) -> None:
    async with live(served, origin=served.url) as socket:
        assert await close_code(socket) == 4401


# ---------------------------------------------------------------- hosts and addresses


async def test_a_name_that_is_not_ours_leads_nowhere(served: ServedHub) -> None:
    async with served.client(host="evil.example") as owner:
        for path in ("/", "/api/sessions", "/api/health", "/nowhere"):
            answer = await owner.get(path)
            assert (answer.status_code, answer.json()["code"]) == (421, "wrong_host")


async def test_even_what_goes_wrong_carries_the_safe_headers(served: ServedHub) -> None:
    async with served.client(None) as nobody:
        for path in ("/", "/nowhere", "/api/sessions", "/api/nowhere", "/api/health"):
            answer = await nobody.get(path)
            assert answer.headers["x-content-type-options"] == "nosniff", path
            assert "default-src 'none'" in answer.headers["content-security-policy"], path


@pytest.mark.slow
async def test_everything_but_the_page_needs_a_token(served: ServedHub) -> None:
    async with served.client(None, origin=served.url) as nobody:
        from handrail.server.routes import ROUTES

        open_to_all = {route.path for route in ROUTES if route.role is None}
        assert open_to_all == {"/api/health", "/api/login", "/api/hosts/enrol"}
        for route in ROUTES:
            if route.role is not None:
                answer = await nobody.request(route.method, route.path.replace("{", "").replace("}", ""))
                assert (answer.status_code, answer.json()["code"]) == (401, "not_authenticated"), route.path


# ---------------------------------------------------------------- no trace of secrets


@pytest.mark.slow
async def test_secrets_are_in_no_log_and_no_file(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    secrets: list[str] = []
    async with served_hub(tmp_path / "hub") as served:
        secrets += served.tokens.values()
        async with served.client("owner", **{"idempotency-key": "k"}) as owner:
            for path in ("/api/tokens", "/api/logins"):
                answer = (await owner.post(path, json={"name": "bot", "role": "viewer"})).json()
                secrets += [str(answer[key]) for key in ("token", "link") if key in answer]
        async with served.client() as owner:
            secrets.append((await owner.post("/api/tokens", json={"name": "b", "role": "viewer"})).json()["token"])
            link = (await owner.post("/api/logins", json={})).json()["link"]
            secrets.append(code_of(link))
            await owner.get("/api/sessions", params={"token": secrets[0]})
            await owner.delete(f"/api/tokens/{secrets[0]}")
            await owner.get("/api/me", headers={"authorization": f"Basic {secrets[0]}"})
        async with served.client(None, origin=served.url) as browser:
            await browser.post("/api/login", json={"code": code_of(link)}, headers={"idempotency-key": "k2"})
            secrets.append(browser.cookies[COOKIE])
            await browser.post("/api/login", json={"code": code_of(link)})
            await browser.post("/api/logout", headers={"idempotency-key": "k3"})
        audited = repr(await served.hub.audit.read(limit=500))
    ours = [record for record in caplog.records if not record.name.startswith("http")]  # the test's own client
    said = "\n".join(f"{record.getMessage()} {record.__dict__}" for record in ours)
    stored = b"".join(stored_in(directory) for directory in directories(tmp_path))
    assert len(secrets) >= 6
    assert b"SQLite format 3" in stored
    for secret in secrets:
        bare = secret.partition("_")[2]
        assert bare not in said
        assert bare not in audited
        assert bare.encode() not in stored


def directories(root: Path) -> list[Path]:
    return [Path(path) for path, _, files in os.walk(root) if files and Path(path).name == "state"]


# ---------------------------------------------------------------- the hub's own socket

CALL = """
import sys, httpx2
transport = httpx2.HTTPTransport(uds=sys.argv[1])
with httpx2.Client(transport=transport, base_url="http://hub", timeout=60) as client:
    me = client.get("/api/me").json()
    link = client.post("/api/logins", json={})
    print(me["role"], link.status_code)
"""


@asynccontextmanager
async def local_socket(served: ServedHub, directory: Path) -> AsyncIterator[str]:
    local = OwnerSocket(str(directory), kind=HUB)
    local.listening.setblocking(False)
    try:
        async with HubServer(make_app(served.hub), [local.listening]):
            yield local.address
    finally:
        local.close()


async def said_by(address: str, **environment: str) -> str:
    command = [sys.executable, "-c", CALL, address]
    run = await asyncio.to_thread(
        subprocess.run, command, env={**os.environ, **environment}, capture_output=True, text=True, timeout=PATIENCE
    )
    assert run.returncode == 0, run.stderr
    return run.stdout.strip()


@pytest.mark.slow
async def test_through_its_own_socket_the_hub_knows_its_user_and_its_sessions(
    served: ServedHub, tmp_path: Path
) -> None:
    marker = marked_environment({}, new_marker())[MARKER_VARIABLE]
    async with local_socket(served, tmp_path / "run") as address:
        assert await said_by(address) == "owner 201"
        assert await said_by(address, **{MARKER_VARIABLE: marker}) == "viewer 403"

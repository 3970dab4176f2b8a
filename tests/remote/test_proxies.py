"""Proxies that the environment names: they are the way to hubs elsewhere, and never to one on this machine."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from handrail import Hub, HubUnreachable
from handrail.errors import ConfigError
from handrail.remote.connection import HubConnection
from handrail.remote.sockets import LastingSocket

from ..server.support import served_hub
from .support import eventually

VARIABLES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy", "socks_proxy")
HUB = "https://hub.invalid"


@pytest.fixture
def environ(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """An environment without proxies."""
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    return monkeypatch


@pytest.fixture
async def asked(environ: pytest.MonkeyPatch) -> AsyncIterator[list[str]]:
    """What is asked of a proxy that leads nowhere, and which the environment names."""
    lines: list[str] = []

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        lines.append((await reader.readuntil(b"\r\n\r\n")).decode().splitlines()[0])
        writer.write(b"HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(connected, "127.0.0.1", 0) as server:
        proxy = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        environ.setenv("HTTPS_PROXY", proxy)
        environ.setenv("HTTP_PROXY", proxy)
        yield lines


async def follow(url: str) -> None:
    """Open the live socket again and again."""
    watcher: Any = SimpleNamespace()
    async with HubConnection(url=url) as connection:
        await LastingSocket(connection, "/api/live", lambda *_: asyncio.sleep(0), watcher).run()


async def test_requests_go_through_the_proxy(asked: list[str]) -> None:
    with pytest.raises(HubUnreachable):
        async with Hub(HUB, "hr_token", patience=0.0):
            pass
    assert asked == ["CONNECT hub.invalid:443 HTTP/1.1"]


async def test_the_live_socket_goes_through_the_proxy(asked: list[str]) -> None:
    following = asyncio.create_task(follow(HUB))
    await eventually(lambda: asked)
    following.cancel()
    await asyncio.gather(following, return_exceptions=True)
    assert set(asked) == {"CONNECT hub.invalid:443 HTTP/1.1"}


async def test_a_hub_that_is_excepted_is_reached_without_the_proxy(
    asked: list[str], environ: pytest.MonkeyPatch
) -> None:
    environ.setenv("NO_PROXY", "hub.invalid")
    with pytest.raises(HubUnreachable):
        async with Hub(HUB, "hr_token", patience=0.0):
            pass
    assert asked == []


async def test_a_hub_on_this_machine_is_never_reached_through_a_proxy(asked: list[str], tmp_path: Path) -> None:
    errors: list[Exception] = []
    async with served_hub(tmp_path) as served, Hub(served.url, served.tokens["owner"], on_error=errors.append) as hub:
        await eventually(lambda: hub.is_connected)
        await hub.list()
    assert asked == []


async def test_a_proxy_that_cannot_be_used_is_named(environ: pytest.MonkeyPatch) -> None:
    environ.setenv("ALL_PROXY", "socks5://127.0.0.1:9")
    with pytest.raises(ConfigError, match="SOCKS proxy"):
        Hub(HUB, "hr_token")

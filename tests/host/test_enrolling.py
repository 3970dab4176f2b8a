"""Enrolling: a code becomes a key, or words say why not."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from handrail.errors import ConfigError, HostAway, HostError, HostRefused
from handrail.host.enrolling import enrol


@asynccontextmanager
async def answering(status: int, body: bytes, requests: list[bytes]) -> AsyncIterator[str]:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
        requests.append(head + await reader.readexactly(length))
        writer.write(b"HTTP/1.1 %d X\r\ncontent-length: %d\r\nconnection: close\r\n\r\n" % (status, len(body)) + body)
        await writer.drain()
        writer.close()
        await writer.wait_closed()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


def told(**fields: Any) -> bytes:
    return json.dumps(fields).encode()


async def test_a_code_becomes_an_identity() -> None:
    requests: list[bytes] = []
    body = told(host_id="h1", name="box", key="hrh_k", hub="http://elsewhere")
    async with answering(201, body, requests) as url:
        identity = await enrol(url, "hre_code", "box")
    assert (identity.hub, identity.host_id, identity.name, identity.key) == (url, "h1", "box", "hrh_k")
    (request,) = requests
    assert request.startswith(b"POST /api/hosts/enrol ")
    assert b"authorization: Bearer hre_code" in request or b"Authorization: Bearer hre_code" in request
    assert json.loads(request.partition(b"\r\n\r\n")[2]) == {"code": "hre_code", "name": "box"}


@pytest.mark.parametrize(
    ("status", "body", "kind", "words"),
    [
        (401, told(detail="this code was used"), HostRefused, "^this code was used$"),
        (401, b"", HostRefused, "handrail host enrol"),
        (409, told(detail="there is a host box already"), HostRefused, "there is a host box already"),
        (429, told(detail="wait a minute"), HostRefused, "wait a minute"),
        (503, told(detail="it is stopping"), HostAway, "it is stopping"),
        (404, b"nothing", HostError, "takes no hosts"),
        (500, b"\xff", HostError, "answered with 500"),
        (201, b"{}", HostError, "no hub of this version"),
        (201, b"<html>", HostError, "no hub of this version"),
    ],
)
async def test_what_goes_wrong_is_said(status: int, body: bytes, kind: type[Exception], words: str) -> None:
    async with answering(status, body, []) as url:
        with pytest.raises(kind, match=words) as refused:
            await enrol(url, "hre_code", "box")
    assert "hre_code" not in str(refused.value)


async def test_a_hub_that_is_not_there_is_away() -> None:
    with pytest.raises(HostAway, match="cannot be reached"):
        await enrol("http://127.0.0.1:9", "hre_code", "box")


async def test_a_proxy_that_cannot_be_used_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("no_proxy", "NO_PROXY", "https_proxy", "HTTPS_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("all_proxy", "socks5://127.0.0.1:9")
    with pytest.raises(HostError, match="SOCKS proxy"):
        await enrol("https://hub.example.com", "hre_code", "box")


async def test_a_code_is_not_sent_where_others_could_read_it() -> None:
    with pytest.raises(ConfigError, match="TLS"):
        await enrol("http://hub.example.com", "hre_code", "box")

"""The way to the hub: only safe addresses, and tries that do not come all at once."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from websockets.asyncio.client import connect
from websockets.asyncio.server import ServerConnection, serve
from websockets.extensions.permessage_deflate import PerMessageDeflate

from handrail.errors import ConfigError
from handrail.host.dialling import Backoff, deflate, http_address, link_address
from handrail.server.live.compression import SharedDeflateFactory


@pytest.mark.parametrize(
    ("hub", "http", "link"),
    [
        ("https://hub.example.com", "https://hub.example.com", "wss://hub.example.com/api/hosts/link"),
        ("wss://hub.example.com:8443/", "https://hub.example.com:8443", "wss://hub.example.com:8443/api/hosts/link"),
        ("https://example.com/handrail/", "https://example.com/handrail", "wss://example.com/handrail/api/hosts/link"),
        ("http://127.0.0.1:4280", "http://127.0.0.1:4280", "ws://127.0.0.1:4280/api/hosts/link"),
        ("ws://[::1]:4280", "http://[::1]:4280", "ws://[::1]:4280/api/hosts/link"),
        ("http://localhost:4280", "http://localhost:4280", "ws://localhost:4280/api/hosts/link"),
    ],
)
def test_addresses(hub: str, http: str, link: str) -> None:
    assert http_address(hub) == http
    assert link_address(hub) == link


@pytest.mark.parametrize("hub", ["http://hub.example.com", "ws://10.0.0.7:4280", "http://localhost.example.com"])
def test_what_could_be_read_on_the_way_is_refused(hub: str) -> None:
    with pytest.raises(ConfigError, match="must be reached through TLS"):
        link_address(hub)


@pytest.mark.parametrize(
    "hub",
    ["", "hub.example.com", "ftp://hub.example.com", "https://", "https://me:secret@hub", "https://hub:99999", "[::"],
)
def test_what_is_no_address_is_refused(hub: str) -> None:
    with pytest.raises(ConfigError, match="not the address of a hub"):
        link_address(hub)


@pytest.mark.slow
@given(st.text(max_size=40))
def test_any_text_is_an_address_or_refused(hub: str) -> None:
    try:
        address = link_address(hub)
    except ConfigError:
        return
    assert address.startswith(("wss://", "ws://"))


def test_tries_come_ever_later_up_to_some_seconds() -> None:
    slowest, quickest = Backoff(pick=lambda: 1.0), Backoff(pick=lambda: 0.0)
    assert [slowest.next() for _ in range(8)] == [1, 2, 4, 6, 6, 6, 6, 6]
    assert [quickest.next() for _ in range(3)] == [0.5, 1, 2]
    slowest.reset()
    assert slowest.next() == 1


async def test_a_hub_takes_the_compression_that_a_host_offers() -> None:
    async def repeat(socket: ServerConnection) -> None:
        async for parcel in socket:
            await socket.send(parcel)

    async with serve(repeat, "127.0.0.1", 0, compression=None, extensions=[SharedDeflateFactory()]) as server:
        port = server.sockets[0].getsockname()[1]
        async with connect(f"ws://127.0.0.1:{port}", compression=None, extensions=[deflate()]) as socket:
            (agreed,) = socket.protocol.extensions
            assert isinstance(agreed, PerMessageDeflate)
            for parcel in (b"", b"a page " * 100_000, b"another page " * 50_000):
                await socket.send(parcel)
                assert await socket.recv() == parcel

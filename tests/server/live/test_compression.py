"""Compression: done once for all, understood by any client, and left alone where it saves nothing."""

from __future__ import annotations

from typing import Any

import pytest
from websockets.client import ClientProtocol
from websockets.extensions.permessage_deflate import ClientPerMessageDeflateFactory
from websockets.frames import Frame, Opcode
from websockets.http11 import Request, Response
from websockets.server import ServerProtocol
from websockets.uri import parse_uri

from handrail.server.live import compression
from handrail.server.live.compression import SMALLEST, SharedDeflateFactory

LONG = ("a long text, " * 1_000).encode()


def connected(factory: SharedDeflateFactory, **wishes: Any) -> tuple[ServerProtocol, ClientProtocol]:
    """Two ends that have shaken hands, in memory."""
    client = ClientProtocol(parse_uri("ws://hub/"), extensions=[ClientPerMessageDeflateFactory(**wishes)])
    server = ServerProtocol(extensions=[factory])
    client.send_request(client.connect())
    server.receive_data(b"".join(client.data_to_send()))
    (request,) = server.events_received()
    assert isinstance(request, Request)
    server.send_response(server.accept(request))
    client.receive_data(b"".join(server.data_to_send()))
    (response,) = client.events_received()
    assert isinstance(response, Response)
    assert response.status_code == 101
    return server, client


def sent(server: ServerProtocol, client: ClientProtocol, data: bytes) -> int:
    """How many bytes a message took on its way to where it was understood."""
    server.send_text(data)
    wire = b"".join(server.data_to_send())
    client.receive_data(wire)
    (frame,) = client.events_received()
    assert isinstance(frame, Frame)
    assert (frame.opcode, bytes(frame.data)) == (Opcode.TEXT, data)
    return len(wire)


def test_messages_are_understood_and_small_ones_are_left_alone() -> None:
    server, client = connected(SharedDeflateFactory())
    for _ in range(3):
        assert sent(server, client, LONG) < len(LONG) / 10
        assert sent(server, client, b"short") == len(b"short") + 2
    client.send_text(LONG)
    server.receive_data(b"".join(client.data_to_send()))
    (frame,) = server.events_received()
    assert isinstance(frame, Frame)
    assert bytes(frame.data) == LONG


def test_a_message_is_compressed_once_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    compressed: list[bytes] = []
    compress = compression._compressed
    monkeypatch.setattr(compression, "_compressed", lambda data: compressed.append(data) or compress(data))
    factory = SharedDeflateFactory()
    people = [connected(factory) for _ in range(5)]
    for number in range(3):
        for server, client in people:
            sent(server, client, LONG + b"%d" % number)
    assert len(compressed) == 3


def test_what_was_compressed_is_not_kept_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compression, "KEPT_BYTES", 3 * len(LONG))
    factory = SharedDeflateFactory()
    server, client = connected(factory)
    for number in range(20):
        sent(server, client, LONG + b"%d" % number)
    assert factory.kept_bytes <= 3 * len(LONG)


def test_a_client_that_wants_a_small_window_gets_what_it_can_read() -> None:
    server, client = connected(SharedDeflateFactory(), server_max_window_bits=9)
    assert sent(server, client, LONG * 3) < len(LONG)


def test_a_client_without_compression_gets_plain_messages() -> None:
    client = ClientProtocol(parse_uri("ws://hub/"))
    server = ServerProtocol(extensions=[SharedDeflateFactory()])
    client.send_request(client.connect())
    server.receive_data(b"".join(client.data_to_send()))
    (request,) = server.events_received()
    assert isinstance(request, Request)
    server.send_response(server.accept(request))
    client.receive_data(b"".join(server.data_to_send()))
    client.events_received()
    assert sent(server, client, b"x" * SMALLEST) > SMALLEST

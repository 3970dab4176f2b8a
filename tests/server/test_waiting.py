"""Connections that ask for nothing are closed; whoever asks, however slowly, is served."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from websockets.asyncio.client import connect

from handrail.server import running
from handrail.server.waiting import WaitingRoom

from .support import PATIENCE, ServedHub, served_hub

WAITS = 0.3
PIECES = 8
LOGIN = b'{"code": "%s"}' % (b"x" * 66)


@pytest.fixture
async def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[ServedHub]:
    """A hub with room for three who wait."""
    monkeypatch.setattr(running, "WaitingRoom", partial(WaitingRoom, room=3, patience=WAITS))
    async with served_hub(tmp_path / "hub") as served:
        yield served


class Caller:
    """A connection, and what is said and heard on it."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self._writer = writer

    async def say(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()

    async def hears(self) -> bytes:
        """All that comes until the connection is closed."""
        heard = b""
        async with asyncio.timeout(PATIENCE):
            try:
                while data := await self.reader.read(65536):
                    heard += data
            except ConnectionResetError:
                pass
        return heard

    async def hang_up(self) -> None:
        self._writer.close()
        await asyncio.gather(self._writer.wait_closed(), return_exceptions=True)


@pytest.fixture
async def callers(served: ServedHub) -> AsyncIterator[list[Caller]]:
    port = urlsplit(served.url).port
    callers = [Caller(*await asyncio.open_connection("127.0.0.1", port)) for _ in range(3)]
    yield callers
    for caller in callers:
        await caller.hang_up()


def head(served: ServedHub, *lines: str) -> bytes:
    named = f"Host: {urlsplit(served.url).netloc}"
    return "\r\n".join([*lines[:1], named, *lines[1:], "", ""]).encode()


@pytest.mark.slow
async def test_who_asks_for_nothing_is_sent_away(served: ServedHub, callers: list[Caller]) -> None:
    silent, halfway, slow = callers
    await halfway.say(b"GET /api/health HTTP/1.1\r\n")
    await slow.say(head(served, "POST /api/login HTTP/1.1", f"Origin: {served.url}", "Content-Length: 80"))
    assert [await each.hears() for each in (silent, halfway, slow)] == [b"", b"", b""]
    async with served.client() as client:
        assert (await client.get("/api/health")).status_code == 200


class Visitor:
    """A connection that is not one."""

    is_away = False

    def send_away(self) -> None:
        self.is_away = True


async def test_too_many_make_room_for_others() -> None:
    room = WaitingRoom(room=2, patience=60)
    first, second, third, fourth = visitors = [Visitor() for _ in range(4)]
    for each in (first, second, third):
        room.enter(each)
    assert [each.is_away for each in visitors] == [True, False, False, False]
    room.enter(second)  # keeps its place
    room.enter(third, again=True)
    room.leave(first)
    room.enter(fourth)
    assert [each.is_away for each in visitors] == [True, True, False, False]
    assert len(room) == 2


@pytest.mark.slow
async def test_a_body_may_take_long(served: ServedHub, callers: list[Caller]) -> None:
    caller = callers[0]
    lines = ("POST /api/login HTTP/1.1", f"Origin: {served.url}", "Connection: close")
    await caller.say(head(served, *lines, "Content-Type: application/json", f"Content-Length: {len(LOGIN)}"))
    for piece in range(PIECES):
        await asyncio.sleep(WAITS / 3)
        await caller.say(LOGIN[piece * len(LOGIN) // PIECES : (piece + 1) * len(LOGIN) // PIECES])
    assert b"wrong_code" in await caller.hears()


@pytest.mark.slow
async def test_a_socket_that_is_open_does_not_wait(served: ServedHub, callers: list[Caller]) -> None:
    url = served.url.replace("http", "ws", 1) + "/api/live"
    headers = {"authorization": f"Bearer {served.tokens['viewer']}"}
    async with connect(url, additional_headers=headers, proxy=None) as socket:
        assert await callers[-1].hears() == b""  # whoever waited is gone by then
        await (await socket.ping())

"""A server to call without any client library, and what tests send to it."""

from __future__ import annotations

import struct
import zlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2

from handrail.testing.telegram import Chat, TelegramServer, User


class RawBot:
    """Calls methods with JSON bodies and returns what the server answered, refusals included."""

    def __init__(self, server: TelegramServer, client: httpx2.AsyncClient) -> None:
        self.server = server
        self.client = client
        self.base = f"{server.url}/bot{server.token}"

    async def answer(self, method: str, **parameters: Any) -> dict[str, Any]:
        response = await self.client.post(f"{self.base}/{method}", json=parameters)
        body: dict[str, Any] = response.json()
        assert response.status_code == (200 if body["ok"] else body["error_code"])
        return body

    async def call(self, method: str, **parameters: Any) -> Any:
        body = await self.answer(method, **parameters)
        assert body["ok"], body
        return body["result"]

    async def refusal(self, method: str, **parameters: Any) -> str:
        body = await self.answer(method, **parameters)
        assert not body["ok"], body
        return str(body["description"])

    async def say(self, chat: Chat, text: str, **parameters: Any) -> dict[str, Any]:
        sent: dict[str, Any] = await self.call("sendMessage", chat_id=chat.id, text=text, **parameters)
        return sent


@asynccontextmanager
async def raw_bot(**options: Any) -> AsyncIterator[tuple[RawBot, User, Chat]]:
    """A server, somebody, and their private chat with the bot."""
    async with (
        TelegramServer(**options) as server,
        httpx2.AsyncClient(timeout=30, trust_env=False, verify=False) as client,
    ):
        ann = server.user(id=1001, first_name="Ann")
        yield RawBot(server, client), ann, ann.private_chat()


def png(width: int = 3, height: int = 2) -> bytes:
    """A small picture that is one."""
    rows = b"".join(b"\0" + b"\x30\x90\xd0" * width for _ in range(height))
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunks = [(b"IHDR", head), (b"IDAT", zlib.compress(rows)), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(map(_chunk, chunks))


def _chunk(part: tuple[bytes, bytes]) -> bytes:
    kind, data = part
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

"""What the tests of the hub's guards share: requests made of bytes, applications, and a clock that is set by hand."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from handrail.server.auth.guards import Guards
from handrail.server.hub import HubSettings
from handrail.store import SqliteStore

PORT = 4280
HERE = f"127.0.0.1:{PORT}"
OWN_ORIGIN = f"http://{HERE}"
ELSEWHERE = "https://evil.example"
SOMEBODY = ("127.0.0.1", 50_000)
Pairs = Iterable[tuple[str, str | bytes]]


class Clock:
    """Time that passes when a test says so."""

    def __init__(self, now: float = 1_000_000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now

    def pass_(self, seconds: float) -> None:
        self.now += seconds


@dataclass
class Answer:
    """What an application sent back. A socket that was accepted has the status 101."""

    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""

    @property
    def code(self) -> str:
        return str(msgspec.json.decode(self.body)["code"]) if self.body else ""

    @property
    def detail(self) -> str:
        return str(msgspec.json.decode(self.body)["detail"])


@dataclass
class Seen:
    """An application that takes everything, reads all of it, and remembers what reached it."""

    scopes: list[Any] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.scopes.append(scope)
        if scope["type"] == "websocket":
            await send({"type": "websocket.accept"})
            return
        body, more = b"", True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise ConnectionError("the client is gone")
            body += message.get("body", b"")
            more = message.get("more_body", False)
        self.bodies.append(body)
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/plain")]})
        await send({"type": "http.response.body", "body": b"reached"})


def scope_of(
    method: str = "GET",
    path: str = "/api/sessions",
    headers: Pairs = (),
    *,
    host: str | bytes | None = HERE,
    client: Any = SOMEBODY,
    scheme: str = "http",
    query: str = "",
    extensions: Sequence[str] = ("websocket.http.response",),
) -> dict[str, Any]:
    """A scope as uvicorn makes it; the method SOCKET is for a WebSocket."""
    given = [*([("host", host)] if host is not None else []), *headers]
    socket = method == "SOCKET"
    return {
        "type": "websocket" if socket else "http",
        "method": method,
        "path": path,
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "headers": [(name.encode(), value.encode() if isinstance(value, str) else value) for name, value in given],
        "client": client,
        "server": ("127.0.0.1", PORT),
        "scheme": scheme.replace("http", "ws") if socket else scheme,
        "extensions": {name: {} for name in extensions},
    }


async def ask(app: Any, scope: dict[str, Any], body: bytes | Sequence[bytes] = b"") -> Answer:
    """What an application answers."""
    parts = [body] if isinstance(body, bytes) else list(body)
    answer = Answer()

    async def receive() -> dict[str, Any]:
        if scope["type"] == "websocket":
            return {"type": "websocket.connect"}
        if not parts:
            return {"type": "http.disconnect"}
        return {"type": "http.request", "body": parts.pop(0), "more_body": bool(parts)}

    async def send(message: Any) -> None:
        kind = message["type"]
        if kind.endswith("response.start"):
            answer.status = message["status"]
            answer.headers = {name.decode(): value.decode() for name, value in message["headers"]}
        elif kind.endswith("response.body"):
            answer.body += message.get("body", b"")
        elif kind == "websocket.accept":
            answer.status = 101
        elif kind == "websocket.close":
            answer.status = message["code"]

    await app(scope, receive, send)
    return answer


async def guarded(scope: dict[str, Any], **settings: Any) -> Answer:
    """What the guards of a hub with these settings let through (200, or 101 for a socket), or answer themselves."""
    return await ask(Guards(Seen(), HubSettings(**settings)), scope)


def stored_in(directory: Path) -> bytes:
    """Every byte of the database and its companions."""
    return b"".join(file.read_bytes() for file in directory.iterdir())


@asynccontextmanager
async def opened(directory: Path) -> AsyncIterator[SqliteStore]:
    store = SqliteStore(str(directory / "handrail.db"))
    await store.open()
    try:
        yield store
    finally:
        await store.close()

"""A Claude Code that dials in, played over a real WebSocket: it answers like the real one, and breaks off on demand."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from typing import Any, Self
from uuid import uuid4

import httpx2
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from handrail.transports.ingress.posting import posts_path

PATIENCE = 20.0


class DiallingCLI:
    """Speaks as 2.1.120 does, which sends everything again after a break; with `forgets` as those before it.

    A message that begins with "ask " makes it ask for leave to run the rest; any other is repeated.
    """

    def __init__(self, url: str, token: str | None, *, forgets: bool = False, posts: bool = False) -> None:
        self.url = url
        self.token = token
        self.forgets = forgets
        self.posts = posts
        self.session_id = str(uuid4())
        self.received: list[dict[str, Any]] = []
        self.answers: list[dict[str, Any]] = []
        self.taken: list[str] = []
        self.close_code: int | None = None
        self.initialized = 0
        self.last: str | None = None
        self._said: list[str] = []
        self._pending: dict[str, dict[str, Any]] = {}
        self._socket: ClientConnection | None = None
        self._reading: asyncio.Task[None] | None = None
        self._changed = asyncio.Condition()
        self._posting: httpx2.AsyncClient | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.hang_up()
        if self._posting is not None:
            await self._posting.aclose()

    @property
    def http(self) -> httpx2.AsyncClient:
        """For posting: made when it is first needed, since that takes a while."""
        if self._posting is None:
            self._posting = httpx2.AsyncClient(timeout=PATIENCE, trust_env=False, verify=False)
        return self._posting

    # ------------------------------------------------------------ the line

    async def dial(self) -> None:
        """Connect, as at first or again."""
        headers = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        if self.last is not None:
            headers["X-Last-Request-Id"] = self.last
        self._socket = await connect(self.url, additional_headers=headers, proxy=None, ping_interval=None)
        self.close_code = None
        if not self.forgets and not self.posts:
            with suppress(ConnectionClosed):
                for each in self._said:
                    await self._socket.send(each)
        self._reading = asyncio.create_task(self._read(self._socket))

    async def hang_up(self, *, abruptly: bool = False) -> None:
        """Go off the line. The process goes on."""
        if self._socket is not None:
            if abruptly:
                self._socket.transport.abort()
            await self._socket.close()
            self._socket = None
        if self._reading is not None:
            await asyncio.wait([self._reading])

    def forget_what_was_said(self) -> None:
        """Send nothing of it again."""
        self._said.clear()
        self.last = None

    async def until(self, condition: Any, *, patience: float | None = PATIENCE) -> None:
        """Wait until something is true of it."""
        async with asyncio.timeout(patience), self._changed:
            await self._changed.wait_for(condition)

    async def closed(self, *, patience: float | None = PATIENCE) -> int:
        """The code with which the line was closed."""
        await self.until(lambda: self.close_code is not None, patience=patience)
        assert self.close_code is not None
        return self.close_code

    async def _read(self, socket: ClientConnection) -> None:
        rest = ""
        with suppress(ConnectionClosed):
            async for message in socket:
                *lines, rest = (rest + str(message)).split("\n")
                for each in lines:
                    await self._take(json.loads(each))
        async with self._changed:
            self.close_code = socket.close_code
            self._changed.notify_all()

    # ------------------------------------------------------------ what it does

    async def _take(self, frame: dict[str, Any]) -> None:
        self.received.append(frame)
        match frame["type"]:
            case "control_request":
                await self._answer(frame)
            case "control_response":
                if self._pending.pop(frame["response"]["request_id"], None) is not None:
                    self.answers.append(frame["response"])
                    await self.say_result("done")
            case "user" if frame["uuid"] not in self.taken:
                self.taken.append(frame["uuid"])
                await self._run(frame["message"]["content"])
        async with self._changed:
            self._changed.notify_all()

    async def _answer(self, frame: dict[str, Any]) -> None:
        body: dict[str, Any] = {"subtype": "success", "request_id": frame["request_id"], "response": {}}
        if frame["request"]["subtype"] == "initialize":
            self.initialized += 1
            if self.initialized > 1:
                waiting = list(self._pending.values())
                more = {"error": "Already initialized", "pending_permission_requests": waiting}
                body = {"subtype": "error", "request_id": frame["request_id"], **more}
        await self.say({"type": "control_response", "response": body})

    async def _run(self, text: str) -> None:
        await self.say(
            {
                "type": "system",
                "subtype": "init",
                "cwd": "/there",
                "tools": ["Bash"],
                "model": "m",
                "permissionMode": "default",
                "claude_code_version": "2.1.120",
                "uuid": str(uuid4()),
            }
        )
        if text.startswith("ask "):
            await self.ask("Bash", {"command": text.removeprefix("ask ")})
        elif text.startswith("edit "):
            await self.ask("Edit", {"file_path": text.removeprefix("edit "), "old_string": "a", "new_string": "b"})
        else:
            await self.say_text(text)
            await self.say_result(text)

    async def ask(self, tool: str, given: dict[str, Any]) -> str:
        """Ask for a permission; it is not sent again by itself."""
        request_id, call = str(uuid4()), str(uuid4())
        asked = {"subtype": "can_use_tool", "tool_name": tool, "input": given, "tool_use_id": call}
        self._pending[request_id] = {"type": "control_request", "request_id": request_id, "request": asked}
        await self.say(self._pending[request_id])
        return request_id

    async def say_text(self, text: str) -> None:
        message = {
            "id": f"msg_{uuid4().hex}",
            "type": "message",
            "role": "assistant",
            "model": "m",
            "content": [{"type": "text", "text": text}],
            "stop_reason": None,
            "usage": {"input_tokens": 1, "output_tokens": 1},
        }
        await self.say({"type": "assistant", "message": message, "parent_tool_use_id": None, "uuid": str(uuid4())})

    async def say_result(self, text: str) -> None:
        result = {"type": "result", "subtype": "success", "is_error": False, "result": text, "num_turns": 1}
        await self.say({**result, "duration_ms": 1, "duration_api_ms": 1, "total_cost_usd": 0.0, "uuid": str(uuid4())})

    async def say(self, frame: dict[str, Any]) -> None:
        """Send something, if it is on the line; a CLI before 2.1.120 forgets it otherwise."""
        if frame["type"] not in ("control_request", "control_response"):
            frame = {**frame, "session_id": self.session_id}
            self.last = frame["uuid"]
        text = json.dumps(frame) + "\n"
        if "uuid" in frame:
            self._said.append(text)
        if self.posts:
            await self.post([frame])
        elif self._socket is not None:
            with suppress(ConnectionClosed):
                await self._socket.send(text)

    async def post(self, events: list[dict[str, Any]]) -> int:
        """Send events by HTTP; returns the status."""
        url = posts_path(self.url.replace("ws://", "http://", 1))
        headers = {"Authorization": f"Bearer {self.token}"}
        return (await self.http.post(url, json={"events": events}, headers=headers)).status_code

"""Serves the playground: the page, what it draws, and what somebody does on it."""

from __future__ import annotations

import asyncio
from importlib.resources import files
from typing import Any

import msgspec

from handrail.testing._http import HTTPRequest, HTTPResponse
from handrail.testing.telegram.chats import Chat
from handrail.testing.telegram.messages import Message
from handrail.testing.telegram.people import User
from handrail.testing.telegram.playground.picturing import picture
from handrail.testing.telegram.world import World

__all__ = ["PREFIX", "Playground"]

PREFIX = "/_playground"
_PAGES = {
    "": ("page.html", "text/html; charset=utf-8"),
    "/page.css": ("page.css", "text/css; charset=utf-8"),
    "/page.js": ("page.js", "text/javascript; charset=utf-8"),
    "/entities.js": ("entities.js", "text/javascript; charset=utf-8"),
    "/keeping.js": ("keeping.js", "text/javascript; charset=utf-8"),
}
_POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:"
"""What messages say is text: even if it ever became more, nothing of it may run or load."""
_LONGEST_WAIT = 5.0
"""As long as “is typing” is shown: that ends without anything else having changed."""
_PRESS_SECONDS = 15.0


class _Written(msgspec.Struct):
    """What somebody wrote on the page."""

    chat: int
    user: int
    text: str
    thread: int = 0
    reply_to: int = 0


class _Pressed(msgspec.Struct):
    """The button that somebody pressed on the page."""

    chat: int
    user: int
    message: int
    data: str


class Playground:
    """Draws a world, and lets people act in it."""

    def __init__(self, world: World) -> None:
        self._world = world

    async def handle(self, path: str, request: HTTPRequest, response: HTTPResponse) -> None:
        """Answer a request for something below the playground's address."""
        if path in _PAGES:
            name, kind = _PAGES[path]
            page = files("handrail.testing.telegram.playground").joinpath(name)
            headers = {"cache_control": "no-store", "content_security_policy": _POLICY}
            await response.send(200, page.read_bytes(), content_type=kind, **headers)
        elif path == "/state":
            await self._send_state(request, response)
        elif path.startswith("/file/"):
            await self._send_file(path.removeprefix("/file/"), response)
        elif request.method == "POST" and path in ("/send", "/press"):
            await self._act(path, request, response)
        else:
            await response.send(404, b"There is no such page.", content_type="text/plain")

    async def _send_state(self, request: HTTPRequest, response: HTTPResponse) -> None:
        """The picture, once it is another than the one the page has."""
        known = request.query.removeprefix("after=")
        try:
            async with asyncio.timeout(_LONGEST_WAIT):
                while known == str(self._world.version):
                    await self._world.change()
        except TimeoutError:
            pass  # the same once more: the page asks again
        await response.send(200, msgspec.json.encode(picture(self._world)), cache_control="no-store")

    async def _send_file(self, file_id: str, response: HTTPResponse) -> None:
        stored = self._world.files.find(file_id)
        if stored is None:
            await response.send(404, b"There is no such file.", content_type="text/plain")
        else:
            headers = {"content_disposition": "inline", "x_content_type_options": "nosniff"}
            await response.send(200, stored.data, content_type=_shown_type(stored.mime), **headers)

    async def _act(self, path: str, request: HTTPRequest, response: HTTPResponse) -> None:
        try:
            result = await (self._press(request.body) if path == "/press" else self._send(request.body))
        except (msgspec.MsgspecError, LookupError, TimeoutError) as error:
            await response.send(400, msgspec.json.encode({"error": str(error)}))
        else:
            await response.send(200, msgspec.json.encode(result))

    async def _send(self, body: bytes) -> dict[str, Any]:
        written = msgspec.json.decode(body, type=_Written)
        chat, user = self._find(written.chat, written.user)
        reply_to = chat.message(written.reply_to) if written.reply_to else None
        sent = await chat.send(written.text, by=user, reply_to=reply_to, thread=written.thread)
        return {"id": sent.id}

    async def _press(self, body: bytes) -> dict[str, Any]:
        pressed = msgspec.json.decode(body, type=_Pressed)
        chat, user = self._find(pressed.chat, pressed.user)
        answer = await _existing(chat, pressed.message).press(pressed.data, by=user, timeout=_PRESS_SECONDS)
        return {"text": answer.text, "alert": answer.show_alert}

    def _find(self, chat: int, user: int) -> tuple[Chat, User]:
        if chat not in self._world.chats or user not in self._world.users:
            raise LookupError("There is no such chat or person.")
        return self._world.chats[chat], self._world.users[user]


def _existing(chat: Chat, id: int) -> Message:
    message = chat.message(id)
    if message is None:
        raise LookupError("That message is gone.")
    return message


def _shown_type(mime: str) -> str:
    """Pictures are drawn; everything else is shown as text, so that no file becomes a page."""
    return mime if mime.startswith("image/") and mime != "image/svg+xml" else "text/plain; charset=utf-8"

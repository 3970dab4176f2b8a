"""A WebSocket of the hub as `IngressTransport` serves it."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from starlette.websockets import WebSocket, WebSocketDisconnect

from handrail.transports.ingress.sockets import MessageTooLong, SocketClosed

__all__ = ["AsgiSocket"]

EXTENSION = "handrail.socket"
TOO_LONG = 1009


class AsgiSocket:
    """Implements `Socket`. Everything that a server raises once a socket is gone is one error here."""

    def __init__(self, websocket: WebSocket) -> None:
        self._websocket = websocket
        self._control: Any = websocket.scope["extensions"][EXTENSION]

    async def accept(self, *, longest: int) -> None:
        """Complete the upgrade; messages may have so many bytes."""
        self._control.allow(longest)
        await self._websocket.accept()

    async def receive(self) -> str | bytes:
        message = await self._websocket.receive()
        if message["type"] != "websocket.receive":
            kind = MessageTooLong if message.get("code") == TOO_LONG else SocketClosed
            raise kind(f"closed with {message.get('code')}")
        text = message.get("text")
        return text if text is not None else message.get("bytes") or b""

    async def send(self, text: str) -> None:
        try:
            await self._websocket.send_text(text)
        except (OSError, RuntimeError, WebSocketDisconnect) as error:
            raise SocketClosed(str(error)) from error

    async def ping(self) -> None:
        try:
            await self._control.ping()
        except ConnectionError as error:
            raise SocketClosed(str(error)) from error

    async def close(self, code: int, reason: str) -> None:
        with suppress(OSError, RuntimeError, WebSocketDisconnect):  # it is gone already
            await self._websocket.close(code, reason)

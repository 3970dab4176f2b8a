"""One WebSocket of a CLI, whoever serves it; and what the codes mean with which it is closed."""

from __future__ import annotations

from typing import Final, Protocol

__all__ = ["RETRY", "SECOND", "STOP", "MessageTooLong", "Socket", "SocketClosed"]

RETRY: Final = 1001
"""The CLI dials again within a second or so: we are going away, and will be back."""
STOP: Final = 4001
"""The CLI ends (from 2.1.52 on; before that it dials again): the session is over, or its token is no good any more."""
SECOND: Final = 4003
"""The same, for a CLI that wants a session which another one has."""


class SocketClosed(ConnectionError):
    """The socket is gone."""


class MessageTooLong(SocketClosed):
    """It was closed because the other end sent more at once than it may."""


class Socket(Protocol):
    """A WebSocket whose upgrade was accepted. Everything raises `SocketClosed` once it is gone."""

    async def receive(self) -> str | bytes:
        """The next message."""

    async def send(self, text: str) -> None:
        """Write one text message."""

    async def ping(self) -> None:
        """Send a ping and wait for its pong: the other end has then got all that was sent before."""

    async def close(self, code: int, reason: str) -> None:
        """Close it, whatever state it is in. Does not raise."""

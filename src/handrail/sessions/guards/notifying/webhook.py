"""Notifies by a POST of the notices as JSON to a web address, http or https with its certificate checked."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import ssl
from collections.abc import Awaitable, Callable, Sequence
from urllib.parse import quote, unquote, urlsplit

from handrail.errors import ConfigError
from handrail.sessions.guards.notifying.message import Message, NotDelivered

__all__ = ["Webhook"]

RETRIED = frozenset({408, 425, 429})
SAFE_IN_TARGET = "/%:=&?~+!$,;'@()*[]"


class _TryAgain(NotDelivered):
    """What may be better in a moment."""


class Webhook:
    """A web address that gets each message. Redirects are not followed: whoever answers so has another address.

    Addresses of webhooks are secrets as a whole, so no more than the host is ever shown.
    """

    def __init__(
        self,
        url: str,
        *,
        timeout: float = 10.0,
        pauses: Sequence[float] = (1.0, 4.0),
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        try:
            parts = urlsplit(url)
            host, port = (parts.hostname or "").encode("idna").decode(), parts.port
        except ValueError as error:
            raise ConfigError(f"a webhook is an address such as https://host/path: {error}") from None
        if parts.scheme not in ("http", "https") or not host:
            raise ConfigError("a webhook is an address such as https://host/path, with http or https")
        self.name = self._host = host
        self._port = port or (443 if parts.scheme == "https" else 80)
        self._tls = (tls or ssl.create_default_context()) if parts.scheme == "https" else None
        self._head = _head(parts.path, parts.query, _authority(host, port), parts.username, parts.password)
        self._timeout = timeout
        self._pauses = pauses
        self._sleep = sleep

    async def deliver(self, message: Message) -> None:
        """Raises `NotDelivered`, after some more tries where they can help."""
        for pause in (*self._pauses, None):
            try:
                await self._post(message.body)
            except _TryAgain:
                if pause is None:
                    raise
                await self._sleep(pause)
            else:
                return

    async def _post(self, body: bytes) -> None:
        try:
            async with asyncio.timeout(self._timeout):
                status = await self._exchange(body)
        except TimeoutError:
            raise _TryAgain(f"it did not answer within {self._timeout:g} s") from None
        except ssl.SSLCertVerificationError as error:
            raise NotDelivered(f"its certificate is not to be trusted: {error.verify_message}") from None
        except OSError as error:
            raise _TryAgain(f"it cannot be reached: {error.strerror or error}") from None
        if status in RETRIED or status >= 500:
            raise _TryAgain(f"it answered with {status}")
        if 300 <= status < 400:
            raise NotDelivered(f"it redirects elsewhere ({status}): set the webhook to the new address")
        if status >= 400:
            raise NotDelivered(f"it answered with {status}")

    async def _exchange(self, body: bytes) -> int:
        reader, writer = await asyncio.open_connection(self._host, self._port, ssl=self._tls)
        try:
            writer.write(self._head + f"Content-Length: {len(body)}\r\n\r\n".encode() + body)
            await writer.drain()
            return _status(await _line(reader))
        finally:
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()


async def _line(reader: asyncio.StreamReader) -> bytes:
    try:
        return await reader.readline()
    except ValueError:  # longer than any first line of an answer
        return b""


def _status(line: bytes) -> int:
    words = line.split()
    if len(words) < 2 or not words[0].startswith(b"HTTP/") or not words[1].isdigit():
        raise _TryAgain("it did not answer in HTTP")
    return int(words[1])


def _authority(host: str, port: int | None) -> str:
    bracketed = f"[{host}]" if ":" in host else host
    return f"{bracketed}:{port}" if port else bracketed


def _head(path: str, query: str, authority: str, user: str | None, password: str | None) -> bytes:
    target = quote(path or "/", safe=SAFE_IN_TARGET) + (f"?{quote(query, safe=SAFE_IN_TARGET)}" if query else "")
    lines = [
        f"POST {target} HTTP/1.1",
        f"Host: {authority}",
        "User-Agent: handrail",
        "Content-Type: application/json",
        "Connection: close",
    ]
    if user is not None:
        credentials = f"{unquote(user)}:{unquote(password or '')}".encode()
        lines.append(f"Authorization: Basic {base64.b64encode(credentials).decode()}")
    return "\r\n".join(lines).encode() + b"\r\n"

"""Webhooks: updates are sent to an address of the bot's, one after the other, until it takes them."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import urlsplit

import httpx2
import msgspec

from handrail.testing.telegram.api_errors import bad_request
from handrail.testing.telegram.faults import Faults
from handrail.testing.telegram.requests import Parameters
from handrail.testing.telegram.updates import UpdateQueue

__all__ = ["Webhook"]

_SECRET = re.compile(r"[A-Za-z0-9_-]*")
_LONGEST_SECRET = 256
_PORTS = (443, 80, 88, 8443)
_LOOPBACK = frozenset(("127.0.0.1", "localhost", "::1"))
_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 2.0
"""Between tries. The real server waits longer; here nobody gains by that."""

CallMethod = Callable[[str, Parameters], Awaitable[Any]]


class Webhook:
    """Where a bot wants its updates. As with a server of one's own, an address on loopback needs no HTTPS."""

    def __init__(self, updates: UpdateQueue, faults: Faults, call: CallMethod) -> None:
        self._updates = updates
        self._faults = faults
        self._call = call
        self._url = ""
        self._secret = ""
        self._most_connections = 40
        self._error: tuple[int, str] | None = None
        self._sending: asyncio.Task[None] | None = None

    @property
    def is_set(self) -> bool:
        """Whether updates go there, and so nowhere else."""
        return bool(self._url)

    async def set(self, parameters: Parameters) -> str:
        """Send updates there from now on; returns what the server says to it. Raises `ApiError`."""
        url, secret = parameters.text("url"), parameters.text("secret_token")
        if not url:
            return await self.delete(parameters)
        _check(url, secret)
        await self.close()
        if parameters.flag("drop_pending_updates"):
            self._updates.clear()
        self._url, self._secret, self._error = url, secret, None
        self._most_connections = min(max(parameters.number("max_connections", 40), 1), 100)
        self._sending = asyncio.get_running_loop().create_task(self._send_all())
        return "Webhook was set"

    async def delete(self, parameters: Parameters) -> str:
        """Keep updates for getUpdates from now on."""
        was_set = self.is_set
        await self.close()
        self._url = ""
        if parameters.flag("drop_pending_updates"):
            self._updates.clear()
        return "Webhook was deleted" if was_set else "Webhook is already deleted"

    async def close(self) -> None:
        """Send nothing more."""
        if self._sending is not None:
            self._sending.cancel()
            await asyncio.gather(self._sending, return_exceptions=True)
            self._sending = None

    def about(self) -> dict[str, Any]:
        """As `getWebhookInfo` describes it."""
        described: dict[str, Any] = {
            "url": self._url,
            "has_custom_certificate": False,
            "pending_update_count": self._updates.pending,
        }
        if self._url:
            described["max_connections"] = self._most_connections
        if self._error:
            described["last_error_date"], described["last_error_message"] = self._error
        if self._updates.allowed:
            described["allowed_updates"] = self._updates.allowed
        return described

    async def _send_all(self) -> None:
        async with httpx2.AsyncClient(timeout=30, trust_env=False) as client:
            while True:
                update = await self._updates.first()
                await self._deliver(client, update)
                if self._faults.takes_repeat():
                    await self._deliver(client, update)
                self._updates.confirm(update)

    async def _deliver(self, client: httpx2.AsyncClient, update: dict[str, Any]) -> None:
        """Try until it is taken."""
        pause = _FIRST_PAUSE
        while not await self._is_taken(client, update):
            await asyncio.sleep(pause)
            pause = min(pause * 2, _LONGEST_PAUSE)

    async def _is_taken(self, client: httpx2.AsyncClient, update: dict[str, Any]) -> bool:
        headers = {"content-type": "application/json"}
        if self._secret:
            headers["X-Telegram-Bot-Api-Secret-Token"] = self._secret
        try:
            answer = await client.post(self._url, content=msgspec.json.encode(update), headers=headers)
        except httpx2.TransportError as error:
            self._error = (int(time.time()), str(error) or type(error).__name__)
            return False
        if not answer.is_success:
            reason = f"Wrong response from the webhook: {answer.status_code} {answer.reason_phrase}"
            self._error = (int(time.time()), reason)
            return False
        await self._run_answer(answer.content)
        return True

    async def _run_answer(self, body: bytes) -> None:
        """A bot may answer with a method to call; nobody hears what comes of it."""
        try:
            values = msgspec.json.decode(body, type=dict[str, Any])
        except ValueError:
            return
        if isinstance(values.get("method"), str):
            await self._call(values["method"], Parameters(values))


def _check(url: str, secret: str) -> None:
    parts = urlsplit(url if "://" in url else f"https://{url}")
    try:
        port = parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError as error:
        raise bad_request("invalid webhook URL specified") from error
    if not parts.hostname:
        raise bad_request("invalid webhook URL specified")
    if len(secret) > _LONGEST_SECRET:
        raise bad_request("secret token is too long")
    if not _SECRET.fullmatch(secret):
        raise bad_request("secret token contains unallowed characters")
    if parts.hostname in _LOOPBACK:
        return
    if parts.scheme != "https":
        raise bad_request("bad webhook: An HTTPS URL must be provided for webhook")
    if port not in _PORTS:
        raise bad_request("bad webhook: Webhook can be set up only on ports 80, 88, 443 or 8443")

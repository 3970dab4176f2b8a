"""Hears from Telegram through a webhook: an ASGI application, and a listener of its own for it."""

from __future__ import annotations

import asyncio
import hmac
import logging
import secrets
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final, TypeAlias
from urllib.parse import unquote, urlsplit

from handrail.errors import ConfigError
from handrail.remote.pauses import Pauses
from handrail.telegram.bot import TelegramBot
from handrail.telegram.bot_errors import BotError, TokenInvalid
from handrail.telegram.incoming import ALLOWED_UPDATES
from handrail.telegram.polling import OURS_NOTE
from handrail.telegram.settings import TelegramSettings
from handrail.telegram.state import BridgeState, Tables

__all__ = ["Webhook", "webhook_app"]

logger = logging.getLogger("handrail.telegram")

LONGEST_BODY: Final = 1024 * 1024
SECRET_HEADER: Final = b"x-telegram-bot-api-secret-token"
SECRET_NOTE: Final = "webhook:secret"  # noqa: S105  the name of the note, not a secret
LONGEST_PAUSE: Final = 60.0
SECONDS_FOR_REQUESTS: Final = 5

Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]
Keep: TypeAlias = Callable[[Sequence[bytes]], Awaitable[None]]


def webhook_app(path: str, secret: str, keep: Keep) -> App:
    """An application that takes updates of whoever knows the secret. It answers once they are stored."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        status = await _answer(scope, receive, path, secret, keep)
        await send({"type": "http.response.start", "status": status, "headers": [(b"content-length", b"0")]})
        await send({"type": "http.response.body", "body": b""})

    return app


async def _answer(scope: Scope, receive: Receive, path: str, secret: str, keep: Keep) -> int:
    if scope["path"] != path:
        return 404
    if scope["method"] != "POST":
        return 405
    given = dict(scope["headers"]).get(SECRET_HEADER, b"")
    if not hmac.compare_digest(given, secret.encode()):
        return 401
    body = await _body(receive)
    if body is None:
        return 413
    try:
        await keep([body])
    except Exception:  # Telegram sends it again
        logger.exception("an update could not be stored")
        return 503
    return 200


async def _body(receive: Receive) -> bytes | None:
    """What was sent; None if that is too much."""
    body = b""
    while True:
        message = await receive()
        body += bytes(message.get("body", b""))
        if len(body) > LONGEST_BODY:
            return None
        if not message.get("more_body"):
            return body


class Webhook:
    """Listens for Telegram, and tells it where. `on_ready` is told once that it has heard."""

    def __init__(
        self,
        bot: TelegramBot,
        state: BridgeState,
        settings: TelegramSettings,
        keep: Keep,
        on_trouble: Callable[[str], None],
        *,
        on_ready: Callable[[], None] = lambda: None,
    ) -> None:
        self._bot = bot
        self._state = state
        self._settings = settings
        self._keep = keep
        self._on_trouble = on_trouble
        self._on_ready = on_ready

    async def run(self) -> None:
        """Until cancelled. Raises `TokenInvalid`, or `ConfigError` if the address cannot be listened on.

        The webhook stays set: what is sent meanwhile waits at Telegram until somebody listens again.
        """
        secret = self._settings.webhook_secret or await self._state.write(_secret)
        path = unquote(urlsplit(self._settings.webhook_url).path) or "/"
        async with _served(webhook_app(path, secret, self._keep), self._settings.webhook_address):
            await self._announce(secret)
            self._on_ready()
            await asyncio.Event().wait()

    async def _announce(self, secret: str) -> None:
        """Tell Telegram where we are, until it has heard."""
        pauses = Pauses(first=1.0, longest=LONGEST_PAUSE)
        address = self._settings.webhook_url
        while True:
            try:
                await self._bot.set_webhook(address, secret=secret, allowed=ALLOWED_UPDATES)
                break
            except TokenInvalid:
                raise
            except BotError as error:
                self._on_trouble(f"Telegram does not take the webhook {address}: {error}")
                await asyncio.sleep(pauses.next())
        await self._state.write(lambda tables: tables.note(OURS_NOTE, address))
        self._on_trouble("")


def _secret(tables: Tables) -> str:
    known = tables.noted(SECRET_NOTE)
    if known is None:
        known = secrets.token_urlsafe(32)
        tables.note(SECRET_NOTE, known)
    return known


@asynccontextmanager
async def _served(app: App, address: tuple[str, int]) -> AsyncIterator[None]:
    import uvicorn

    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        lifespan="off",
        ws="none",
        server_header=False,
        timeout_graceful_shutdown=SECONDS_FOR_REQUESTS,
    )
    config.load()
    server = uvicorn.Server(config)
    server.lifespan = config.lifespan_class(config)
    with _listening(address) as listener:
        # Its `serve` would also look after signals, which are not ours to take.
        await server.startup(sockets=[listener])
        try:
            yield
        finally:
            await server.shutdown(sockets=[listener])


def _listening(address: tuple[str, int]) -> socket.socket:
    host, port = address
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen()
    except OSError as error:
        listener.close()
        raise ConfigError(f"webhook_listen: {host}:{port} cannot be listened on ({error.strerror})") from None
    listener.setblocking(False)
    return listener

"""A WebSocket to a hub that is opened again whenever it is lost."""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import Awaitable, Callable, Coroutine
from typing import TYPE_CHECKING, Any, Final, Protocol
from urllib.parse import urlsplit, urlunsplit

from handrail.errors import HandrailError
from handrail.link.problems import told_by
from handrail.link.reasons import words_of
from handrail.remote.caller import ANYWHERE
from handrail.remote.connection import HubConnection
from handrail.remote.errors import HubError, HubUnreachable
from handrail.remote.pauses import Pauses

if TYPE_CHECKING:
    from websockets.asyncio.client import ClientConnection

__all__ = ["LastingSocket", "Watcher", "both"]

logger = logging.getLogger("handrail.hub")

OPENING: Final = 15.0
SILENCE: Final = 20.0
"""How long nothing may be heard before the other side is asked whether it is there, and how long it may take."""
LONGEST_MESSAGE: Final = 64 * 1024 * 1024
LONGEST_PAUSE: Final = 5.0

FINAL: Final = {4400: "bad_request", 4401: "not_authenticated", 4403: "role_needed"}
"""Close codes after which connecting again would be no use, with the problem that each is."""
REFUSED: Final = frozenset(range(400, 500)) - {429}
"""What a hub that refuses us for good answers; a proxy in front of one that is being replaced may answer the same."""


class Watcher(Protocol):
    """Whoever is told what becomes of a socket. None of these may raise or wait."""

    def connected(self) -> None: ...

    def disconnected(self, reason: str) -> None: ...

    def failed(self, error: HandrailError) -> None:
        """It will not be opened again."""


class LastingSocket:
    """Opens a socket, serves it, and opens it again when it is lost, until it is cancelled or refused for good."""

    def __init__(
        self,
        connection: HubConnection,
        path: str,
        serve: Callable[[ClientConnection, Callable[[], None]], Awaitable[None]],
        watcher: Watcher,
    ) -> None:
        self._connection = connection
        self._path = path
        self._serve = serve
        self._watcher = watcher
        self._pauses = Pauses(longest=LONGEST_PAUSE)
        self._up = False
        self._was_lost = False

    async def run(self) -> None:
        """Ends when the hub does not let us in any more; the watcher was told then."""
        while True:
            try:
                reason = await self._once()
            except HubError as error:
                self._went_down(str(error))
                self._watcher.failed(error)
                return
            except HubUnreachable as error:
                reason = str(error)
            self._went_down(reason)
            await asyncio.sleep(self._pauses.next())

    async def _once(self) -> str:
        """One socket from its beginning to its end; why it ended."""
        from websockets.exceptions import ConnectionClosed

        socket = await self._opened()
        try:
            await self._serve(socket, self._came_up)
        except ConnectionClosed:
            pass
        finally:
            await socket.close()
        code = socket.close_code or 1006
        if code in FINAL:
            raise HubError(
                f"the hub at {self._connection.where} sends us away: {socket.close_reason or code}",
                code=FINAL[code],
                status=0,
            )
        return "the connection was " + (f"closed ({code} {socket.close_reason})" if socket.close_reason else "lost")

    async def _opened(self) -> ClientConnection:
        from websockets.asyncio.client import connect, unix_connect
        from websockets.exceptions import InvalidStatus, WebSocketException

        how: dict[str, Any] = {
            "additional_headers": dict(self._connection.headers),
            "open_timeout": OPENING,
            "ping_interval": SILENCE,
            "ping_timeout": SILENCE,
            "close_timeout": 2.0,
            "max_size": LONGEST_MESSAGE,
            "proxy": True if self._connection.may_use_proxies else None,
        }
        local, where = self._connection.socket, self._connection.where
        try:
            if local is not None:
                return await unix_connect(local, _web_socket(ANYWHERE, self._path), **how)
            return await connect(_web_socket(self._connection.url, self._path), ssl=self._connection.tls, **how)
        except InvalidStatus as error:
            status, told = error.response.status_code, told_by(bytes(error.response.body or b""))
            if status in REFUSED and told.code:
                raise HubError(
                    f"the hub at {where} refuses a socket: {told.detail}", code=told.code, status=status
                ) from None
            raise HubUnreachable(f"the hub at {where} does not answer: {error}") from None
        # `ImportError`: the environment names a proxy that cannot be used.
        except (OSError, TimeoutError, ssl.SSLError, WebSocketException, EOFError, ImportError) as error:
            self._connection.look_again()
            raise HubUnreachable(f"the hub at {where} cannot be reached: {words_of(error)}") from None

    def _came_up(self) -> None:
        self._pauses.begin_anew()
        if not self._up:
            self._up = True
            if self._was_lost:
                logger.warning("the hub at %s is back", self._connection.where)
            self._watcher.connected()

    def _went_down(self, reason: str) -> None:
        if self._up:
            self._up, self._was_lost = False, True
            logger.warning(
                "the hub at %s is away: %s; it is looked for until it is back", self._connection.where, reason
            )
            self._watcher.disconnected(reason)


def _web_socket(url: str, path: str) -> str:
    parts = urlsplit(url)
    scheme = "wss" if parts.scheme == "https" else "ws"
    return urlunsplit((scheme, parts.netloc, parts.path.rstrip("/") + path, "", ""))


async def both(*works: Coroutine[Any, Any, None]) -> None:
    """Do all of it until one ends, and raise what that raised."""
    tasks = [asyncio.ensure_future(work) for work in works]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        ended = await asyncio.gather(*tasks, return_exceptions=True)
    for error in ended:
        if isinstance(error, BaseException) and not isinstance(error, asyncio.CancelledError):
            raise error

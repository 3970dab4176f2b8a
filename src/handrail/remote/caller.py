"""The way to a hub: through its socket on this machine, or over the network with a token."""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlsplit

import httpx2

from handrail.errors import ConfigError
from handrail.link.loopback import is_loopback
from handrail.link.reasons import words_of
from handrail.places import Places
from handrail.remote.errors import HubUnreachable
from handrail.remote.hub_file import running_hub

__all__ = ["ANYWHERE", "SECONDS", "HubCaller"]

SECONDS: Final = 120.0
"""Starting a session takes a while, and Claude Code may take its time to answer."""
ANYWHERE: Final = "http://handrail"
"""The name of the hub where there is none: behind its socket."""


class HubCaller:
    """Makes requests. With `places`, a hub that was started anew on this machine is found again.

    Raises `ConfigError` if the environment names a proxy that cannot be used.
    """

    def __init__(self, *, url: str, token: str, socket: str | None) -> None:
        self.url = url.rstrip("/")
        self.socket = socket
        self.places: Places | None = None
        self.headers: Mapping[str, str] = {"authorization": f"Bearer {token}"} if token else {}
        self.tls = ssl.create_default_context() if self.url.startswith("https:") and socket is None else None
        self._clients: list[httpx2.AsyncClient] = []
        try:
            self._client = self._new_client()
        except (ImportError, ValueError) as error:
            raise ConfigError(f"the hub at {self.where} cannot be reached: {words_of(error)}") from None

    def _new_client(self) -> httpx2.AsyncClient:
        transport = httpx2.AsyncHTTPTransport(uds=self.socket) if self.socket is not None else None
        client = httpx2.AsyncClient(
            base_url=ANYWHERE if self.socket is not None else self.url,
            transport=transport,
            headers=self.headers,
            timeout=SECONDS,
            verify=self.tls or False,
            trust_env=self.may_use_proxies,
        )
        self._clients.append(client)
        return client

    @property
    def may_use_proxies(self) -> bool:
        """Whether those that the environment names may be the way to the hub. They are not on this machine."""
        return self.socket is None and not is_loopback(urlsplit(self.url).hostname or "")

    @property
    def where(self) -> str:
        """The hub in words."""
        return self.url or self.socket or ""

    def look_again(self) -> None:
        """The hub cannot be reached where it was: one that was started anew listens elsewhere on this machine."""
        found = running_hub(self.places) if self.places is not None else None
        if found is not None and found.socket != self.socket:
            self.socket, self.url = found.socket, found.url
            self._client = self._new_client()

    async def call(self, method: str, path: str, **how: Any) -> httpx2.Response:
        """The answer, whatever it says. Raises `HubUnreachable`."""
        try:
            return await self._client.request(method, path, **how)
        except (httpx2.ConnectError, FileNotFoundError) as error:
            self.look_again()
            raise HubUnreachable(f"there is no hub at {self.where}: {words_of(error)}") from None
        except (httpx2.HTTPError, ssl.SSLError) as error:
            raise HubUnreachable(f"the hub at {self.where} does not answer: {words_of(error)}") from None

    async def close(self) -> None:
        for client in self._clients:
            await client.aclose()

"""The way to the hub: its address, and how to get there safely; and how long to wait before the next try."""

from __future__ import annotations

import random
import ssl
from collections.abc import Callable
from typing import Final
from urllib.parse import urlsplit, urlunsplit

from websockets.asyncio.client import ClientConnection, connect
from websockets.extensions.permessage_deflate import ClientPerMessageDeflateFactory

from handrail.errors import ConfigError
from handrail.link.loopback import is_loopback
from handrail.link.wire import LINK_PATH, LONGEST_PARCEL

__all__ = ["Backoff", "deflate", "dial", "http_address", "link_address"]

OPEN_SECONDS: Final = 20.0
CLOSE_SECONDS: Final = 5.0
PING_EVERY: Final = 10.0
PING_SECONDS: Final = 20.0
LONGEST_WAIT: Final = 30.0
"""Between tries that are not likely to succeed."""
LONGEST_PAUSE: Final = 6.0
"""Between other tries. A hub that was restarted keeps what people do waiting for its hosts, but not for long."""

_SECURE: Final = {"https": True, "wss": True, "http": False, "ws": False}


class Backoff:
    """How long to wait before the next try: twice as long each time, never quite the same, at most 6 seconds."""

    def __init__(self, *, pick: Callable[[], float] = random.random) -> None:
        self._pick = pick
        self._tries = 0

    def next(self) -> float:
        """The next wait, in seconds. Hosts that lost their hub together do not come back together."""
        longest = min(LONGEST_PAUSE, 2.0**self._tries)
        self._tries = min(self._tries + 1, 10)
        return longest * (0.5 + self._pick() / 2)

    def reset(self) -> None:
        """It worked."""
        self._tries = 0


def http_address(hub: str) -> str:
    """The hub's address for requests. Raises `ConfigError` for one that is none, or that is not safe to use."""
    return _address(hub, "https", "http", "")


def link_address(hub: str) -> str:
    """The hub's address for the link. Raises `ConfigError` for one that is none, or that is not safe to use."""
    return _address(hub, "wss", "ws", LINK_PATH)


def _address(hub: str, secure: str, plain: str, path: str) -> str:
    try:
        parts = urlsplit(hub.strip())
        host = parts.hostname or ""
        _ = parts.port
    except ValueError:
        host = ""
        parts = urlsplit("")
    if parts.scheme not in _SECURE or not host or parts.username is not None or parts.query or parts.fragment:
        raise ConfigError(f"{hub!r} is not the address of a hub: give one such as https://hub.example.com")
    is_secure = _SECURE[parts.scheme]
    if not is_secure and not is_loopback(host):
        raise ConfigError(
            f"the hub at {host} must be reached through TLS (https://…): what is sent could be read on the way"
        )
    return urlunsplit((secure if is_secure else plain, parts.netloc, parts.path.rstrip("/") + path, "", ""))


def deflate() -> ClientPerMessageDeflateFactory:
    """Compression for a link. Against the defaults, which save memory, parcels take 30 % less in half of the time."""
    return ClientPerMessageDeflateFactory(client_max_window_bits=15, compress_settings={"level": 3, "memLevel": 8})


async def dial(hub: str, key: str, *, tls: ssl.SSLContext | None = None) -> ClientConnection:
    """Connect. The hub's certificate is verified; `tls` says how, if not as the system does.

    Raises what `websockets` raises: `OSError`, `TimeoutError`, a `WebSocketException`, or `ImportError` for a proxy of
    the environment that it cannot use.
    """
    address = link_address(hub)
    here = is_loopback(urlsplit(address).hostname or "")
    return await connect(
        address,
        ssl=(tls or ssl.create_default_context()) if address.startswith("wss:") else None,
        additional_headers={"Authorization": f"Bearer {key}"},
        compression=None,
        extensions=None if here else [deflate()],  # on one machine it costs more than it saves
        proxy=None if here else True,
        max_size=LONGEST_PARCEL,
        open_timeout=OPEN_SECONDS,
        close_timeout=CLOSE_SECONDS,
        ping_interval=PING_EVERY,
        ping_timeout=PING_SECONDS,
    )

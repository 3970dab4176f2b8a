"""The address of a hub, as people write it: https:// or wss://, and without TLS only on this machine."""

from __future__ import annotations

from typing import Final

from handrail.errors import ConfigError
from handrail.server.auth.addresses import parse_origin, stays_here

__all__ = ["hub_address"]

_PLAIN: Final = {"ws": "http", "wss": "https"}


def hub_address(text: str, where: str) -> str:
    """The address as `https://name`, whichever way it was written; `where` it stands. Raises `ConfigError`."""
    scheme, colon, rest = text.strip().removesuffix("/").partition("://")
    origin = parse_origin(f"{_PLAIN.get(scheme.lower(), scheme)}{colon}{rest}")
    if origin is None:
        raise ConfigError(f"{where} must be the address of a hub, such as https://hub.example.org: {text!r} is not")
    if origin.scheme == "http" and not stays_here(origin.host.name):
        raise ConfigError(
            f"{where} must begin with https:// or wss://: anybody on the way to {rest} could read what is sent, and "
            "the key with it. The hub needs TLS: handrail serve --tls-certificate, or a proxy in front of it"
        )
    return str(origin)

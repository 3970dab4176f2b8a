"""The hub that commands talk to: that of this machine, or the one that HANDRAIL_HUB names."""

from __future__ import annotations

import os

from handrail.errors import ConfigError
from handrail.places import Places
from handrail.remote.connection import HubConnection
from handrail.remote.errors import HubUnreachable
from handrail.remote.hub_file import running_hub
from handrail.server.auth.addresses import parse_origin, stays_here

__all__ = ["connected", "connection"]

URL, TOKEN = "HANDRAIL_HUB", "HANDRAIL_TOKEN"


def connection() -> HubConnection | None:
    """The way to the hub; None if there is none. Raises `ConfigError` for an address that must not be used."""
    if url := os.environ.get(URL):
        return HubConnection(url=_checked(url), token=os.environ.get(TOKEN, ""))
    found = running_hub(Places.of_user(os.environ))
    return HubConnection.local(found) if found is not None else None


def _checked(url: str) -> str:
    origin = parse_origin(url.removesuffix("/"))
    if origin is None:
        raise ConfigError(f"{URL} must be the address of a hub, such as https://hub.example.org: {url!r} is not")
    if origin.scheme == "http" and not stays_here(origin.host.name):
        raise ConfigError(f"{URL} must begin with https://: anybody on the way to {url} could read the token")
    return str(origin)


def connected() -> HubConnection:
    """The way to the hub. Raises `HubUnreachable`."""
    found = connection()
    if found is None:
        raise HubUnreachable(f"no hub runs here: start one with `handrail serve`, or name one with {URL} and {TOKEN}")
    return found

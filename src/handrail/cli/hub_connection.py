"""The way to the hub that commands talk to: that of this machine, or the one that HANDRAIL_HUB names."""

from __future__ import annotations

import os

from handrail.cli.named_hub import TOKEN, URL, is_named, named_hub
from handrail.places import Places
from handrail.remote.connection import HubConnection
from handrail.remote.errors import HubUnreachable
from handrail.remote.hub_file import running_hub

__all__ = ["connected", "connection"]


def connection() -> HubConnection | None:
    """The way to the hub; None if there is none. Raises `ConfigError` for an address that must not be used."""
    if is_named():
        url, token = named_hub()
        return HubConnection(url=url, token=token)
    found = running_hub(Places.of_user(os.environ))
    return HubConnection.local(found) if found is not None else None


def connected() -> HubConnection:
    """The way to the hub. Raises `HubUnreachable`."""
    found = connection()
    if found is None:
        raise HubUnreachable(f"no hub runs here: start one with `handrail serve`, or name one with {URL} and {TOKEN}")
    return found

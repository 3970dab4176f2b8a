"""The hub that commands talk to: that of this machine, or the one that HANDRAIL_HUB names."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from handrail.places import Places
from handrail.remote.connection import HubConnection
from handrail.remote.errors import HubUnreachable
from handrail.remote.hub_file import running_hub

if TYPE_CHECKING:
    from handrail.cli.commands.workplace import Workplace

__all__ = ["connected", "connection"]

URL, TOKEN = "HANDRAIL_HUB", "HANDRAIL_TOKEN"


def connection() -> HubConnection | None:
    """The way to the hub; None if there is none."""
    if url := os.environ.get(URL):
        return HubConnection(url=url, token=os.environ.get(TOKEN, ""))
    found = running_hub(Places.of_user(os.environ))
    return HubConnection.local(found) if found is not None else None


def connected(place: Workplace) -> HubConnection:
    """The way to the hub. Raises `HubUnreachable`."""
    found = connection()
    if found is None:
        raise HubUnreachable(f"no hub runs here: start one with `handrail serve`, or name one with {URL} and {TOKEN}")
    return found

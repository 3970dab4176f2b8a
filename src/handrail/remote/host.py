"""The hub of this machine as the place where sessions live: commands leave to it what shall go on without them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from handrail.places import Places
from handrail.remote.errors import HubUnreachable
from handrail.remote.hub_file import running_hub

__all__ = ["HubHost"]


class HubHost:
    """The hub that runs here, if one does when it is needed."""

    def __init__(self, places: Places) -> None:
        self._places = places

    async def take(self, session_id: str) -> bool:
        """Make a session live in the hub; False if there is none."""
        hub = running_hub(self._places)
        if hub is None:
            return False
        from handrail.remote.connection import HubConnection  # slow to import, and seldom needed

        try:
            async with HubConnection.local(hub) as connection:
                await connection.post(f"/api/sessions/{session_id}/resume")
        except HubUnreachable:  # it has just ended
            return False
        return True

    async def start(self, wanted: Mapping[str, Any]) -> str:
        """Start a session in the hub; returns its id. Raises `HubUnreachable` if there is none."""
        hub = running_hub(self._places)
        if hub is None:
            raise HubUnreachable("no hub runs here: start one with `handrail serve`, or leave --in-hub out")
        from handrail.remote.connection import HubConnection

        async with HubConnection.local(hub) as connection:
            body = {name: value for name, value in wanted.items() if value is not None}
            started: dict[str, Any] = await connection.post("/api/sessions", dict[str, Any], body=body)
        return str(started["id"])

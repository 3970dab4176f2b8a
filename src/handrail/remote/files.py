"""Files on the hub's machine and on its hosts: fetched and put within the roots there, by owners."""

from __future__ import annotations

import base64

import msgspec

from handrail.remote.connection import HubConnection
from handrail.sessions.exchange import ListedFile

__all__ = ["RemoteFiles"]

ADDRESS = "/api/file"


class _Put(msgspec.Struct):
    path: str


class _Listed(msgspec.Struct):
    items: list[ListedFile]


class RemoteFiles:
    """`handrail.Hub.files`. A `host` is named by its name or id; empty is the hub's own machine."""

    def __init__(self, connection: HubConnection) -> None:
        self._connection = connection

    async def fetch(self, path: str, *, host: str = "") -> bytes:
        """What is in a file."""
        return await self._connection.content(ADDRESS, path=path, host=host)

    async def put(self, path: str, data: bytes, *, host: str = "", replace: bool = False) -> str:
        """Put a file there, whole or not at all; returns where it is, with links followed."""
        body = {"path": path, "data": base64.b64encode(data).decode(), "host": host, "replace": replace}
        put: _Put = await self._connection.act("PUT", ADDRESS, _Put, body=body)
        return put.path

    async def list(self, path: str, *, host: str = "", optional: bool = False) -> list[ListedFile]:
        """The files in a directory, by name, without private ones; `optional`: none, if there is no such directory."""
        wished = {"optional": True} if optional else {}
        listed: _Listed = await self._connection.get("/api/files", _Listed, path=path, host=host, **wished)
        return listed.items

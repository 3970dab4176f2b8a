"""What a hub says of itself and of its machines: what it is, models to choose from, directories to work in."""

from __future__ import annotations

import msgspec

from handrail.remote.connection import HubConnection

__all__ = ["About", "ClaudeFacts", "Directories", "Directory", "Limits", "Model", "Models", "Recent", "RemoteFacts"]


class Model(msgspec.Struct, frozen=True, kw_only=True):
    """A model that can be chosen by its `value`."""

    value: str
    name: str
    description: str = ""


class Models(msgspec.Struct, frozen=True, kw_only=True):
    """The models; `live` says whether a Claude Code that runs named them."""

    items: list[Model]
    current: str | None = None
    live: bool = False


class Directory(msgspec.Struct, frozen=True, kw_only=True):
    """A directory inside another; `git` says whether it is the top of a repository."""

    name: str
    path: str
    git: bool = False


class Recent(msgspec.Struct, frozen=True, kw_only=True):
    """Where a session was last used."""

    path: str
    at: float


class Directories(msgspec.Struct, frozen=True, kw_only=True):
    """What is in a directory. `parent` is None for a root; `left_out` says how many could not be listed."""

    path: str
    items: list[Directory]
    parent: str | None = None
    left_out: int = 0
    roots: list[str] = []
    recent: list[Recent] = []


class ClaudeFacts(msgspec.Struct, frozen=True, kw_only=True):
    """The Claude Code of the hub's machine; `logged_in` is None if that cannot be told."""

    found: bool
    version: str = ""
    logged_in: bool | None = None
    detail: str = ""


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """What all sessions together are held to; None: nothing."""

    concurrent_sessions: int | None = None
    daily_budget: float | None = None


class About(msgspec.Struct, frozen=True, kw_only=True):
    """What a hub is, and what a session is started with where nobody says otherwise."""

    version: str
    started_at: float
    host: str
    claude: ClaudeFacts
    roots: list[str] = []
    profiles: list[str] = []
    default_profile: str = ""
    default_model: str | None = None
    default_mode: str | None = None
    limits: Limits = Limits()


class RemoteFacts:
    """Asks a hub for them."""

    def __init__(self, connection: HubConnection) -> None:
        self._connection = connection

    async def about(self) -> About:
        """The hub itself."""
        about: About = await self._connection.get("/api/hub", About)
        return about

    async def models(self, *, session: str = "", host: str = "") -> Models:
        """The models of a session, or of any that runs on a host."""
        models: Models = await self._connection.get("/api/models", Models, session=session or None, host=host)
        return models

    async def directories(self, path: str = "", *, host: str = "") -> Directories:
        """The directories in a directory; without a path, in the first root."""
        found: Directories = await self._connection.get("/api/directories", Directories, path=path, host=host)
        return found

"""Places on this machine: directories to start sessions in, and the names of a project's files. No file is read."""

from __future__ import annotations

import asyncio
from typing import Annotated

import msgspec
from msgspec import Meta

from handrail.server.api.hosts import is_elsewhere
from handrail.server.calls import Call, Query
from handrail.server.hub import Hub
from handrail.server.roots import Directory
from handrail.sessions.project_files import ProjectFile, suggest_files
from handrail.store.base import SessionFilter, SessionRow

__all__ = ["directories", "files"]

SESSIONS = 200
MOST_RECENT = 12


class DirectoryQuery(Query, frozen=True):
    """Which directory to look into."""

    path: Annotated[
        str,
        Meta(
            max_length=4096,
            pattern=r"^(~?(/[^\x00]*)?)$",
            description="Its whole path, or one beginning with ~; empty: the first root.",
        ),
    ] = ""
    hidden: Annotated[bool, Meta(description="Whether to list those whose names begin with a dot.")] = False
    host: Annotated[str, Meta(max_length=100, description="On this host; empty: on the hub's own machine.")] = ""


class RecentDirectory(msgspec.Struct, frozen=True, kw_only=True):
    """Where a session was last used."""

    path: str
    at: float


class Directories(msgspec.Struct, frozen=True, kw_only=True):
    """What is in a directory. `parent` is None for a root; `left_out` says how many could not be listed."""

    path: str
    parent: str | None
    root: bool
    items: list[Directory]
    left_out: int
    roots: list[str]
    recent: list[RecentDirectory]


class FileQuery(Query, frozen=True):
    """What was typed so far."""

    q: Annotated[str, Meta(max_length=200, description="Letters of the path, in this order.")] = ""
    limit: Annotated[int, Meta(ge=1, le=200)] = 50


class Files(msgspec.Struct, frozen=True, kw_only=True):
    """The files and directories that fit best."""

    items: list[ProjectFile]


async def directories(hub: Hub, call: Call[None, DirectoryQuery]) -> Directories:
    """The directories inside a directory, within the hub's roots; and those where sessions were used lately."""
    if is_elsewhere(call.query.host):
        return await _directories_there(hub, call.query)
    roots = hub.roots
    asked = call.query.path or roots.paths[0]
    listing = await asyncio.to_thread(roots.listing, asked, hidden=call.query.hidden)
    is_root = listing.path in roots.paths
    return Directories(
        path=listing.path,
        parent=None if is_root else listing.path.rpartition("/")[0] or "/",
        root=is_root,
        items=listing.directories,
        left_out=listing.left_out,
        roots=list(roots.paths),
        recent=await _recent(hub),
    )


async def _directories_there(hub: Hub, query: DirectoryQuery) -> Directories:
    host = hub.hosts.registry.named(query.host)
    found = await hub.hosts.call(host, "directories", path=query.path, hidden=query.hidden)
    rows = await hub.store.list_sessions(SessionFilter(archived=None, host=host.id), limit=SESSIONS)
    latest = {row.cwd: row.updated_at for row in reversed(rows)}
    recent = [{"path": path, "at": at} for path, at in sorted(latest.items(), key=lambda each: -each[1])[:MOST_RECENT]]
    return hub.hosts.understood(host, {**dict(found or {}), "recent": recent}, Directories)


async def _recent(hub: Hub) -> list[RecentDirectory]:
    latest: dict[str, float] = {}
    for row in await hub.store.list_sessions(SessionFilter(archived=None, host=""), limit=SESSIONS):
        latest.setdefault(row.cwd, row.updated_at)
    inside = await asyncio.to_thread(lambda: [path for path in latest if hub.roots.contain(path)])
    return [RecentDirectory(path=path, at=latest[path]) for path in inside[:MOST_RECENT]]


async def files(hub: Hub, call: Call[None, FileQuery]) -> Files:
    """Names of files in a session's directory, for completing what somebody types. What git ignores is left out."""
    row = await hub.session(call.id).row()
    if row.host:
        return await _files_there(hub, row, call.query)
    return Files(items=await suggest_files(row.cwd, call.query.q, limit=call.query.limit))


async def _files_there(hub: Hub, row: SessionRow, query: FileQuery) -> Files:
    host = hub.hosts.host_of(row)
    found = await hub.hosts.call(host, "files", row.id, q=query.q, limit=query.limit)
    return hub.hosts.understood(host, found, Files)

"""Files: fetch one, put one, list those of a directory, on the hub's own machine or on a host of it."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Callable
from typing import Annotated, Any, TypeVar
from urllib.parse import quote

import msgspec
from msgspec import Meta

from handrail.server.api.hosts import is_elsewhere
from handrail.server.calls import Body, Call, Document, Nothing, Query
from handrail.server.hub import Hub
from handrail.server.roots import as_problem
from handrail.sessions.exchange import ListedFile

__all__ = ["fetch", "list_all", "put"]

ResultT = TypeVar("ResultT")

BASE64 = r"^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$"

Path = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=4096,
        pattern=r"^~?(/[^\x00]*)?$",
        description="The whole path, or one beginning with ~/, inside one of the roots.",
    ),
]
HostName = Annotated[str, Meta(max_length=100, description="On this host; empty: on the hub's own machine.")]


class FileQuery(Query, frozen=True):
    """Which file, or which directory."""

    path: Path
    host: HostName = ""


class ListQuery(FileQuery, frozen=True):
    """Which directory."""

    optional: Annotated[bool, Meta(description="Whether a directory that is not there is one without files.")] = False


class NewFile(Body, frozen=True):
    """A file to put somewhere."""

    path: Path
    data: Annotated[str, Meta(pattern=BASE64, description="What is in it, in base64.")]
    replace: Annotated[bool, Meta(description="Whether a file that is there already gives way.")] = False
    host: HostName = ""


class PutFile(msgspec.Struct, frozen=True, kw_only=True):
    """Where the file is now, with links followed."""

    path: str
    size: int


class FileList(msgspec.Struct, frozen=True, kw_only=True):
    """The files of a directory, by name. Private ones are left out, and so is what is no file."""

    items: list[ListedFile]


class _Fetched(msgspec.Struct):
    data: bytes


async def list_all(hub: Hub, call: Call[None, ListQuery]) -> FileList:
    """List the files in a directory."""
    path, optional = call.query.path, call.query.optional
    if is_elsewhere(call.query.host):
        return await _there(hub, call.query.host, FileList, "list_files", path=path, optional=optional)
    return FileList(items=await _here(lambda: hub.files.listing(path, optional=optional)))


async def fetch(hub: Hub, call: Call[None, FileQuery]) -> Document:
    """What is in a file."""
    query = call.query
    if is_elsewhere(query.host):
        data = (await _there(hub, query.host, _Fetched, "fetch_file", path=query.path)).data
    else:
        data = await _here(lambda: hub.files.read(query.path))
    # To be saved, never opened in the page's own origin.
    name = quote(query.path.rpartition("/")[2], safe="")
    headers = {"content-disposition": f"attachment; filename*=UTF-8''{name}"}
    return Document(data, "application/octet-stream", headers)


async def put(hub: Hub, call: Call[NewFile, Nothing]) -> PutFile:
    """Put a file somewhere, whole or not at all. Nothing is put into hidden files and directories."""
    wanted = call.body
    call.note(wanted.path, f"on {wanted.host}" if wanted.host else None)
    data = base64.b64decode(wanted.data)
    if is_elsewhere(wanted.host):
        fields = {"path": wanted.path, "data": wanted.data, "replace": wanted.replace}
        return await _there(hub, wanted.host, PutFile, "put_file", **fields)
    path = await _here(lambda: hub.files.write(wanted.path, data, replace=wanted.replace))
    return PutFile(path=path, size=len(data))


async def _here(act: Callable[[], ResultT]) -> ResultT:
    with as_problem():
        return await asyncio.to_thread(act)


async def _there(hub: Hub, host: str, kind: type[ResultT], method: str, **params: Any) -> ResultT:
    found = hub.hosts.registry.named(host)
    return hub.hosts.understood(found, await hub.hosts.call(found, method, **params), kind)

"""What happened in a session: its events for programs, its rows for the page."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from handrail.server.calls import Call, Document, Nothing, Query
from handrail.server.hub import Hub
from handrail.server.problems import Problem
from handrail.server.showing.images import image_in, image_seq

__all__ = ["find", "image", "list_events", "list_rows", "row", "search"]


class EventQuery(Query, frozen=True):
    """Which events."""

    after: Annotated[int, Meta(ge=0, le=2**53, description="The number of the last one that you have.")] = 0
    before: Annotated[int, Meta(ge=1, le=2**53, description="Instead: the last ones below this number.")] | None = None
    limit: Annotated[int, Meta(ge=1, le=1000)] = 200


class RowQuery(Query, frozen=True):
    """Which rows of the conversation."""

    before: Annotated[str, Meta(max_length=100, description="The key of the first row that you have.")] | None = None
    after: Annotated[str, Meta(max_length=100, description="The key of the last row that you have.")] | None = None
    around: Annotated[str, Meta(max_length=100, description="A row that is to be in the middle.")] | None = None
    limit: Annotated[int, Meta(ge=1, le=500)] = 200


class FindQuery(Query, frozen=True):
    """What to find."""

    q: Annotated[str, Meta(min_length=1, max_length=200)]
    limit: Annotated[int, Meta(ge=1, le=500)] = 100


class EventPage(msgspec.Struct, frozen=True, kw_only=True):
    """Events in order; `last` is the number to go on after."""

    items: list[msgspec.Raw]
    last: int


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """Where something was said."""

    session_id: str
    seq: int
    type: str
    snippet: str


class FoundPage(msgspec.Struct, frozen=True, kw_only=True):
    """The best ones first."""

    items: list[Found]


async def list_events(hub: Hub, call: Call[None, EventQuery]) -> EventPage:
    """The events of a session, as they were stored, in order."""
    await hub.session(call.id).row()
    query = call.query
    rows = await hub.store.read(call.id, after=query.after, before=query.before, limit=query.limit)
    return EventPage(items=[msgspec.Raw(row.body) for row in rows], last=rows[-1].seq if rows else query.after)


async def list_rows(hub: Hub, call: Call[None, RowQuery]) -> Document:
    """A part of the conversation as the page shows it, in order."""
    await hub.session(call.id).row()
    query = call.query
    if sum(each is not None for each in (query.before, query.after, query.around)) > 1:
        raise Problem("invalid", "give one of before, after and around")
    rows = await hub.live.rows(call.id, before=query.before, after=query.after, around=query.around, limit=query.limit)
    return Document(msgspec.json.encode(rows), "application/json")


async def row(hub: Hub, call: Call[None, Nothing]) -> dict[str, Any]:
    """Everything of one row: what a tool was given, what it gave back, what it changed."""
    await hub.session(call.id).row()
    key = call.path["key"]
    events = await hub.live.row_source(call.id, key)
    if not events:
        raise Problem("not_found", f"the session has no row {key}")
    # Rendering may take a while, and nobody else should wait for it.
    return await asyncio.to_thread(hub.showing.row_details, events, session_id=call.id, key=key)


async def image(hub: Hub, call: Call[None, Nothing]) -> Document:
    """A picture of the conversation."""
    await hub.session(call.id).row()
    name = call.path["name"]
    seq = image_seq(name)
    events = [] if seq is None else await hub.session(call.id).events(after=seq - 1, limit=1)
    found = image_in(events[0], name) if events else None
    if found is None:
        raise Problem("not_found", f"the session has no picture {name}")
    media_type, content = found
    return Document(content, media_type, {"cache-control": "private, max-age=31536000, immutable"})


async def find(hub: Hub, call: Call[None, FindQuery]) -> dict[str, Any]:
    """Where in a session these words are."""
    await hub.session(call.id).row()
    return await hub.live.find(call.id, call.query.q, limit=call.query.limit)


async def search(hub: Hub, call: Call[None, FindQuery]) -> FoundPage:
    """Where in all sessions these words were said, asked or done."""
    hits = await hub.manager.search(call.query.q, limit=call.query.limit)
    return FoundPage(
        items=[Found(session_id=hit.session_id, seq=hit.seq, type=hit.type, snippet=hit.snippet) for hit in hits]
    )

"""Sessions: start, list, look at, rename, archive, fork, adopt, export, end and delete them."""

from __future__ import annotations

import asyncio
import base64
import binascii
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from handrail.errors import HostError
from handrail.server.api.hosts import host_id_of, is_elsewhere
from handrail.server.api.offers import admitted, attachments
from handrail.server.api.wishes import (
    Fork,
    NewSession,
    Resumption,
    changes_of,
    content_of,
    named,
    policy_of,
    started_here,
    wanted_of_a_host,
)
from handrail.server.calls import Body, Call, Document, Nothing, Page, Query
from handrail.server.hub import Hub
from handrail.server.problems import Problem
from handrail.server.summaries import SessionSummary, summary_of
from handrail.sessions.beginning import checked_id, first_message
from handrail.sessions.session import Session
from handrail.store.base import SessionFilter, SessionRow

__all__ = [
    "adopt",
    "adoptable",
    "change",
    "create",
    "delete",
    "export",
    "fork",
    "get",
    "interrupt",
    "list_all",
    "resume",
    "start_demo",
    "stop",
    "stop_all",
]


class SessionQuery(Query, frozen=True):
    """Which sessions."""

    status: Annotated[
        tuple[Literal["needs_you", "running", "queued", "waiting", "idle", "failed", "stopped"], ...],
        Meta(description="Only those with one of these. Repeatable."),
    ] = ()
    archived: Annotated[bool | None, Meta(description="Only archived ones, or only others; unset: the others.")] = False
    cwd: Annotated[str, Meta(description="Only those of this directory.")] | None = None
    q: Annotated[str, Meta(max_length=200, description="Only those whose title, directory or id has this.")] | None = (
        None
    )
    host: (
        Annotated[
            str, Meta(max_length=100, description="Only those of this host, by its id or name; empty: the hub's.")
        ]
        | None
    ) = None
    cursor: Annotated[str, Meta(max_length=200, description="`next` of the page before.")] | None = None
    limit: Annotated[int, Meta(ge=1, le=500)] = 100


class SessionChange(Body, frozen=True):
    """What is to be other about a session."""

    title: Annotated[str, Meta(min_length=1, max_length=200)] | None = None
    archived: bool | None = None


class Adoption(Body, frozen=True):
    """A session of Claude Code's own."""

    cli_session_id: Annotated[str, Meta(min_length=4, max_length=100)]
    host: Annotated[str, Meta(max_length=100, description="The host that has it; empty: the hub's own machine.")] = ""


class AdoptableQuery(Query, frozen=True):
    """Which of Claude Code's own sessions."""

    cwd: Annotated[str, Meta(description="Only those of this directory.")] | None = None
    host: Annotated[str, Meta(max_length=100, description="Of this host; empty: of the hub's own machine.")] = ""
    limit: Annotated[int, Meta(ge=1, le=500)] = 100


class AdoptableSession(msgspec.Struct, frozen=True, kw_only=True):
    """A session that Claude Code keeps, and Handrail does not know."""

    cli_session_id: str
    title: str
    cwd: str
    updated_at: float
    messages: int | None = None
    model: str = ""


class ExportQuery(Query, frozen=True):
    """In which form."""

    format: Literal["markdown", "html", "jsonl"] = "markdown"


class Stopped(msgspec.Struct, frozen=True, kw_only=True):
    """How many sessions were ended."""

    stopped: int


# ---------------------------------------------------------------- lists


async def list_all(hub: Hub, call: Call[None, SessionQuery]) -> Page[SessionSummary]:
    """List sessions, the latest first."""
    query = call.query
    which = SessionFilter(
        archived=query.archived,
        cwd=query.cwd,
        status=query.status,
        text=query.q or "",
        host=None if query.host is None else host_id_of(hub, query.host),
    )
    rows = await hub.manager.list(which, limit=query.limit, before=_decoded(query.cursor))
    following = _encoded(rows[-1]) if len(rows) == query.limit else None
    return Page(items=await summaries(hub, rows), next=following)


async def summaries(hub: Hub, rows: Sequence[SessionRow]) -> list[SessionSummary]:
    """Sessions with the number of asks that each has."""
    asks = Counter(waiting.session.id for waiting in await hub.store.waiting_asks())
    return [summary_of(row, asks=asks[row.id], where=hub.hosts.where(row.host)) for row in rows]


async def get(hub: Hub, call: Call[None, Nothing]) -> SessionSummary:
    """One session."""
    return await _summary(hub, call.id)


async def _summary(hub: Hub, session_id: str) -> SessionSummary:
    row = await hub.session(session_id).row()
    asks = await hub.store.waiting_asks(session_id)
    return summary_of(row, asks=len(asks), where=hub.hosts.where(row.host))


def _encoded(row: SessionRow) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode([row.updated_at, row.id])).decode().rstrip("=")


def _decoded(cursor: str | None) -> tuple[float, str] | None:
    if cursor is None:
        return None
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        return msgspec.json.decode(base64.urlsafe_b64decode(padded), type=tuple[float, str])
    except (msgspec.MsgspecError, binascii.Error, ValueError):
        raise Problem("invalid", "this is no cursor: take `next` of the page before as it is") from None


# ---------------------------------------------------------------- beginning one


async def create(hub: Hub, call: Call[NewSession, Nothing]) -> SessionSummary:
    """Start a session, and send it its first message."""
    with hub.starting():
        session = await _started(hub, call)
    wanted = call.body
    call.made["id"] = session.id
    if wanted.prompt or wanted.images:
        await session.send(content_of(wanted), actor=call.caller.actor, uuid=first_message(session.id))
    return await _summary(hub, session.id)


async def _started(hub: Hub, call: Call[NewSession, Nothing]) -> Session:
    wanted, session_id = call.body, checked_id(call.body.id)
    policy = policy_of(wanted.policy)
    call.note(*named(mode=wanted.mode, model=wanted.model, profile=policy.profile))
    if is_elsewhere(wanted.host):
        call.note(f"on {wanted.host}")
        return hub.session(await hub.hosts.start(wanted.host, wanted_of_a_host(hub, call, session_id)))
    return await started_here(hub, call, session_id, policy)


async def fork(hub: Hub, call: Call[Fork, Nothing]) -> SessionSummary:
    """Start a copy of a session's conversation, which goes its own way."""
    with hub.starting():
        call.note(f"of {call.id}")
        row = await hub.session(call.id).row()
        changes = await asyncio.to_thread(changes_of, hub, call.body, row)
        session = await hub.manager.fork(call.id, title=call.body.title, **changes)
    call.made["id"] = session.id
    return await _summary(hub, session.id)


async def adoptable(hub: Hub, call: Call[None, AdoptableQuery]) -> Page[AdoptableSession]:
    """List sessions that Claude Code itself keeps, the latest first."""
    if is_elsewhere(call.query.host):
        there = await hub.hosts.adoptable(call.query.host, call.query.cwd)
        latest = sorted(map(_adoptable_there, there), key=lambda each: -each.updated_at)
        return Page(items=latest[: call.query.limit])
    kept = await hub.manager.adoptable(call.query.cwd, unknown_only=True)
    found = sorted(kept, key=lambda each: -each.updated_at)
    inside = await asyncio.to_thread(lambda: [each for each in found if hub.roots.contain(each.cwd)])
    return Page(
        items=[
            AdoptableSession(
                cli_session_id=each.session_id,
                title=each.title,
                cwd=each.cwd,
                updated_at=each.updated_at,
                messages=each.messages,
                model=each.model,
            )
            for each in inside[: call.query.limit]
        ]
    )


def _adoptable_there(found: Mapping[str, Any]) -> AdoptableSession:
    """One of a host's, as far as it says what is shown."""
    try:
        return msgspec.convert({**found, "cli_session_id": found.get("session_id")}, AdoptableSession)
    except msgspec.ValidationError as error:
        raise HostError(f"the host answered with something unexpected: {error}") from None


async def adopt(hub: Hub, call: Call[Adoption, Nothing]) -> SessionSummary:
    """Take over a session that Claude Code keeps; a message then resumes it."""
    wanted = call.body.cli_session_id
    if is_elsewhere(call.body.host):
        call.made["id"] = await hub.hosts.adopt(call.body.host, wanted)
        return await _summary(hub, call.made["id"])
    for each in await hub.manager.adoptable():
        if each.session_id.startswith(wanted) and not hub.roots.contain(each.cwd):
            raise Problem("outside_roots", f"{each.cwd} is not inside {' or '.join(hub.roots.paths)}")
    session = await hub.manager.adopt(wanted)
    call.made["id"] = session.id
    return await _summary(hub, session.id)


async def start_demo(hub: Hub, call: Call[None, Nothing]) -> SessionSummary:
    """Start the demo: a scripted session that needs no account."""
    with hub.starting():
        session = await hub.surroundings.start_demo()
    call.made["id"] = session.id
    return await _summary(hub, session.id)


# ---------------------------------------------------------------- what people do with one


async def change(hub: Hub, call: Call[SessionChange, Nothing]) -> SessionSummary:
    """Rename a session, archive it, or bring it back."""
    session = hub.session(call.id)
    await session.row()
    if call.body.title is not None:
        call.note("title")
        await session.rename(call.body.title, actor=call.caller.actor)
    if call.body.archived is not None:
        call.note("archived" if call.body.archived else "not archived")
        await session.archive(call.body.archived)
    return await _summary(hub, call.id)


async def interrupt(hub: Hub, call: Call[None, Nothing]) -> None:
    """Stop what the session does now; it goes on."""
    await hub.session(call.id).interrupt()


async def stop(hub: Hub, call: Call[None, Nothing]) -> None:
    """End the session's Claude Code and everything it started. The session can be resumed."""
    await hub.session(call.id).stop()


async def stop_all(hub: Hub, call: Call[None, Nothing]) -> Stopped:
    """End every session, on this machine and on the hosts that are connected."""
    return Stopped(stopped=await hub.manager.stop_all())


async def resume(hub: Hub, call: Call[Resumption, Nothing]) -> SessionSummary:
    """Start the session's Claude Code again, unless it runs."""
    with hub.starting():
        await _resumed(hub, call)
    return await _summary(hub, call.id)


async def _resumed(hub: Hub, call: Call[Resumption, Nothing]) -> None:
    row = await hub.session(call.id).row()
    changes = await asyncio.to_thread(changes_of, hub, call.body, row)
    if row.host:
        await hub.hosts.resume(row, changes, admitted(hub, call, call.body.program))
        return
    offered = attachments(hub, call, call.body.program)
    await hub.manager.resume(
        call.id, on_ask=offered.on_ask, hooks=offered.hooks, tools=offered.tools, record=None, **changes
    )


async def delete(hub: Hub, call: Call[None, Nothing]) -> None:
    """Remove a session and everything that was kept of it. Its Claude Code must not run."""
    await hub.session(call.id).row()
    await hub.session(call.id).delete()


EXPORTED = {
    "markdown": ("text/markdown; charset=utf-8", "md"),
    "html": ("text/html; charset=utf-8", "html"),
    "jsonl": ("application/x-ndjson", "jsonl"),
}


async def export(hub: Hub, call: Call[None, ExportQuery]) -> Document:
    """The whole session as one file."""
    media_type, ending = EXPORTED[call.query.format]
    content = await hub.session(call.id).export(call.query.format)
    # To be saved, not opened in the page's own origin.
    headers = {"content-disposition": f'attachment; filename="session-{call.id[:8]}.{ending}"'}
    return Document(content.encode(), media_type, headers)

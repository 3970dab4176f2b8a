"""Rows as they are stored, for programs: what `handrail.Hub` reads where `handrail.Manager` reads its store."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Sequence
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from handrail.server.calls import Call, Caller, Nothing, Query
from handrail.server.hub import Hub
from handrail.server.roles import suffices
from handrail.store.base import AskRow, FrameRow, RunRow, SessionFilter, SessionRow, UsageKey, UsageRow

__all__ = ["adoptable", "asks", "count", "find", "frames", "runs", "session", "sessions", "usage"]

NOTHING = msgspec.Raw(b"{}")


class WhichSessions(Query, frozen=True):
    """Which sessions."""

    archived: Annotated[Literal["yes", "no", "any"], Meta(description="Only archived ones, only others, or all.")] = (
        "no"
    )
    cwd: Annotated[str, Meta(description="Only those of this directory.")] | None = None
    status: Annotated[tuple[str, ...], Meta(description="Only those with one of these. Repeatable.")] = ()
    cli_session_id: Annotated[str, Meta(description="Only those of this session of Claude Code's.")] | None = None
    host: Annotated[str, Meta(description="Only those of this host, by its id; empty: of the hub itself.")] | None = (
        None
    )
    text: Annotated[str, Meta(max_length=200, description="Only those whose title, directory or id has this.")] = ""

    @property
    def filter(self) -> SessionFilter:
        return SessionFilter(
            archived={"yes": True, "no": False}.get(self.archived),
            cwd=self.cwd,
            status=self.status,
            cli_session_id=self.cli_session_id,
            host=self.host,
            text=self.text,
        )


class SessionPageQuery(WhichSessions, frozen=True):
    """Which sessions, and behind which one: `updated_at` and `id` of the last one of the page before."""

    before_at: float | None = None
    before_id: Annotated[str, Meta(max_length=100)] | None = None
    limit: Annotated[int, Meta(ge=1, le=500)] = 100


class Reference(Query, frozen=True):
    """What names a session."""

    reference: Annotated[
        str, Meta(max_length=1000, description="Its id, the beginning of it, Claude Code's id, or a `--resume` line.")
    ]


class AskRecordQuery(Query, frozen=True):
    """Which asks."""

    session: Annotated[str, Meta(description="Only those of this session.")] | None = None
    state: Annotated[
        tuple[Literal["pending", "decided", "sent", "cancelled", "expired", "lost", "unsent", "resumed"], ...],
        Meta(description="Only those in one of these. Repeatable."),
    ] = ()
    reference: (
        Annotated[
            str, Meta(min_length=1, max_length=200, description="Instead: those whose id is or begins with this.")
        ]
        | None
    ) = None
    limit: Annotated[int, Meta(ge=1, le=10_000, description="Only so many, the last ones.")] = 1000


class UsageRecordQuery(Query, frozen=True):
    """Since when, and summed up by what."""

    since: Annotated[float, Meta(ge=0, description="Seconds since the epoch.")] = 0.0
    by: Annotated[
        tuple[Literal["day", "model", "session"], ...], Meta(description="Repeatable; none: all in one.")
    ] = ()


class FrameQuery(Query, frozen=True):
    """Which frames."""

    after: Annotated[int, Meta(ge=0, le=2**53, description="The number of the last one that you have.")] = 0
    limit: Annotated[int, Meta(ge=1, le=1000)] = 200


class AdoptableRecordQuery(Query, frozen=True):
    """Which of Claude Code's own sessions."""

    cwd: Annotated[str, Meta(description="Only those of this directory.")] | None = None
    unknown_only: Annotated[bool, Meta(description="Only those that Handrail has not.")] = False


class SessionRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A session as it is stored. Only owners see its `settings`, and `live` is asked for where it lives."""

    id: str
    cwd: str
    created_at: float
    updated_at: float
    title: str
    cli_session_id: str | None
    status: str
    archived: bool
    forked_from: str | None
    model: str
    cost_usd: float
    settings: msgspec.Raw
    last_seq: int
    fence: int
    owner: str | None
    lease_until: float | None
    host: str
    live: bool | None = None
    """None where nobody looked."""


class SessionRecords(msgspec.Struct, frozen=True, kw_only=True):
    """The latest first."""

    items: list[SessionRecord]


class Counts(msgspec.Struct, frozen=True, kw_only=True):
    """How many sessions have each status."""

    counts: dict[str, int]


class AskRecord(msgspec.Struct, frozen=True, kw_only=True):
    """An ask as it is stored, with what was asked in `body` and the answer, if there is one."""

    session_id: str
    id: str
    kind: str
    digest: str
    title: str
    body: msgspec.Raw
    opened_at: float
    state: str
    answer: msgspec.Raw
    """Null for none."""
    decided_by: str
    surface: str
    decided_at: float | None
    closed_at: float | None
    granted_by: str
    """The ask whose answer decided this one; empty if it was answered itself."""


class AskRecords(msgspec.Struct, frozen=True, kw_only=True):
    """The oldest first."""

    items: list[AskRecord]


class Runs(msgspec.Struct, frozen=True, kw_only=True):
    """The runs of a session, in order."""

    items: list[RunRow]


class UsageRecords(msgspec.Struct, frozen=True, kw_only=True):
    """In the order of the keys."""

    items: list[UsageRow]


class FrameRecord(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A line of the wire. One that is no UTF-8 is in `base64` instead."""

    number: int
    direction: Literal["in", "out"]
    at: float
    after: int
    line: str = ""
    base64: str = ""


class Frames(msgspec.Struct, frozen=True, kw_only=True):
    """Frames in order; `last` is the number to go on after."""

    items: list[FrameRecord]
    last: int


class AdoptableRecords(msgspec.Struct, frozen=True, kw_only=True):
    """The latest first."""

    items: list[dict[str, Any]]


# ---------------------------------------------------------------- sessions


async def sessions(hub: Hub, call: Call[None, SessionPageQuery]) -> SessionRecords:
    """Sessions as they are stored, the latest first."""
    query = call.query
    before = (query.before_at, query.before_id or "") if query.before_at is not None else None
    rows = await hub.manager.list(query.filter, limit=query.limit, before=before)
    return SessionRecords(items=[_record(row, call.caller) for row in rows])


async def count(hub: Hub, call: Call[None, WhichSessions]) -> Counts:
    """How many sessions have each status."""
    return Counts(counts=await hub.manager.count(call.query.filter))


async def find(hub: Hub, call: Call[None, Reference]) -> SessionRecord:
    """The session that a reference names."""
    found = await hub.manager.get(call.query.reference)
    return _record(await found.row(), call.caller)


async def session(hub: Hub, call: Call[None, Nothing]) -> SessionRecord:
    """One session as it is stored, and whether its Claude Code runs."""
    live = await hub.session(call.id).is_live()  # first: this may find that its process has ended
    row = await hub.session(call.id).row()
    return msgspec.structs.replace(_record(row, call.caller), live=live)


async def runs(hub: Hub, call: Call[None, Nothing]) -> Runs:
    """The runs of a session."""
    await hub.session(call.id).row()
    return Runs(items=await hub.store.runs(call.id))


def _record(row: SessionRow, caller: Caller) -> SessionRecord:
    # How MCP servers are started may be a secret.
    settings = msgspec.Raw(row.settings) if suffices(caller.role, "owner") else NOTHING
    return SessionRecord(**{**msgspec.structs.asdict(row), "settings": settings})


async def adoptable(hub: Hub, call: Call[None, AdoptableRecordQuery]) -> AdoptableRecords:
    """Sessions that Claude Code itself keeps, with all that is known of them."""
    kept = await hub.manager.adoptable(call.query.cwd, unknown_only=call.query.unknown_only)
    inside = await asyncio.to_thread(lambda: [each for each in kept if hub.roots.contain(each.cwd)])
    return AdoptableRecords(items=[msgspec.to_builtins(each) for each in inside])


# ---------------------------------------------------------------- the rest


async def asks(hub: Hub, call: Call[None, AskRecordQuery]) -> AskRecords:
    """Asks as they are stored, the oldest first."""
    query = call.query
    if query.reference is not None:
        found: Sequence[AskRow] = await hub.store.find_asks(query.reference)
    else:
        found = await hub.store.asks(query.session, states=query.state, limit=query.limit)
    return AskRecords(items=[_ask_record(row) for row in found])


def _ask_record(row: AskRow) -> AskRecord:
    answer = msgspec.Raw(row.answer if row.answer is not None else b"null")
    return AskRecord(**{**msgspec.structs.asdict(row), "body": msgspec.Raw(row.body), "answer": answer})


async def usage(hub: Hub, call: Call[None, UsageRecordQuery]) -> UsageRecords:
    """What was used since a time, summed up by day, model, session or several of them."""
    by: Sequence[UsageKey] = tuple(dict.fromkeys(call.query.by))
    return UsageRecords(items=list(await hub.manager.usage(since=call.query.since, by=by)))


async def frames(hub: Hub, call: Call[None, FrameQuery]) -> Frames:
    """Lines of the wire as they were, but for secrets. The oldest may have been removed by now."""
    found = await hub.session(call.id).frames(after=call.query.after, limit=call.query.limit)
    return Frames(items=[_frame(row) for row in found], last=found[-1].number if found else call.query.after)


def _frame(row: FrameRow) -> FrameRecord:
    place: dict[str, Any] = {"number": row.number, "direction": row.direction, "at": row.at, "after": row.after}
    try:
        return FrameRecord(line=row.line.decode(), **place)
    except UnicodeDecodeError:
        return FrameRecord(base64=base64.b64encode(row.line).decode(), **place)

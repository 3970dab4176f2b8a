"""The hub itself: whether it is well, what it is, what a check-up finds, who did what, and its figures."""

from __future__ import annotations

from collections import Counter
from functools import cache
from importlib.metadata import version
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from handrail.policy.profiles import DEFAULT_PROFILE, PROFILES
from handrail.server.calls import Call, Document, Nothing, Page, Query, Surface
from handrail.server.hub import ClaudeStatus, Hub
from handrail.server.metrics import MEDIA_TYPE
from handrail.server.problems import Problem
from handrail.server.roles import Role

__all__ = ["audit", "doctor", "health", "info", "me", "metrics", "openapi"]


class Health(msgspec.Struct, frozen=True, kw_only=True):
    """The hub answers."""

    status: Literal["ok"] = "ok"


class Me(msgspec.Struct, frozen=True, kw_only=True):
    """Who makes the request."""

    name: str
    role: Role
    surface: Surface


class HubLimits(msgspec.Struct, frozen=True, kw_only=True):
    """What sessions are held to; None: nothing."""

    concurrent_sessions: int | None
    daily_budget: float | None


class HubInfo(msgspec.Struct, frozen=True, kw_only=True):
    """The hub. `demo_offered`: nobody is logged in with Claude Code, so the demo is what can be tried."""

    version: str
    started_at: float
    host: str
    url: str
    claude: ClaudeStatus
    demo_offered: bool
    roots: list[str]
    profiles: list[str]
    default_profile: str
    default_model: str | None
    default_mode: str | None
    limits: HubLimits
    development: bool


class FindingView(msgspec.Struct, frozen=True, kw_only=True):
    """Something that a check-up found. `ok` is None for what works but should be known."""

    name: str
    area: str
    level: str
    ok: bool | None
    words: str
    fix: str


class Findings(msgspec.Struct, frozen=True, kw_only=True):
    """What a check-up found."""

    items: list[FindingView]


class AuditQuery(Query, frozen=True):
    """Which entries."""

    cursor: Annotated[int, Meta(ge=1, le=2**53, description="`next` of the page before.")] | None = None
    session: Annotated[str, Meta(max_length=100, description="Only what was done with this session.")] | None = None
    limit: Annotated[int, Meta(ge=1, le=500)] = 100


class AuditEntry(msgspec.Struct, frozen=True, kw_only=True):
    """Who did what, and what came of it: ok, or the code of the problem."""

    at: float
    actor: str
    surface: str
    action: str
    session_id: str
    ask_id: str
    outcome: str
    detail: str


async def health(hub: Hub, call: Call[None, Nothing]) -> Health:
    """Whether the hub answers. Needs no token, and says nothing else."""
    if hub.stopping:
        raise Problem("stopping", "the hub is stopping")
    return Health()


async def me(hub: Hub, call: Call[None, Nothing]) -> Me:
    """Who you are to the hub, and what you may do."""
    return Me(name=call.caller.name, role=call.caller.role, surface=call.caller.surface)


async def info(hub: Hub, call: Call[None, Nothing]) -> HubInfo:
    """What this hub is: versions, Claude Code, and what a session is started with where nobody says otherwise."""
    claude = await hub.surroundings.claude()
    settings, defaults, limits = hub.settings, hub.settings.defaults, hub.manager.limits
    return HubInfo(
        version=_version(),
        started_at=hub.started_at,
        host=settings.host,
        url=settings.url,
        claude=claude,
        demo_offered=not claude.found or claude.logged_in is False,
        roots=list(hub.roots.paths),
        profiles=list(PROFILES),
        default_profile=defaults.policy.profile or DEFAULT_PROFILE,
        default_model=defaults.options.model,
        default_mode=defaults.options.permission_mode,
        limits=HubLimits(concurrent_sessions=limits.concurrent_sessions, daily_budget=limits.daily_budget),
        development=settings.development,
    )


@cache
def _version() -> str:
    return version("handrail")


async def doctor(hub: Hub, call: Call[None, Nothing]) -> Findings:
    """What `handrail doctor` finds on the hub's machine. Takes a few seconds."""
    return Findings(
        items=[
            FindingView(
                name=each.area,
                area=each.area,
                level=each.level,
                ok={"ok": True, "problem": False}.get(each.level),
                words=each.words,
                fix=each.remedy,
            )
            for each in await hub.surroundings.findings()
        ]
    )


async def audit(hub: Hub, call: Call[None, AuditQuery]) -> Page[AuditEntry]:
    """Who did what through the hub, the latest first."""
    query = call.query
    rows = await hub.audit.read(before=query.cursor, limit=query.limit, session_id=query.session)
    entries = [
        AuditEntry(
            at=row.at,
            actor=row.actor,
            surface=row.surface,
            action=row.action,
            session_id=row.session_id,
            ask_id=row.ask_id,
            outcome=row.outcome,
            detail=row.detail,
        )
        for row in rows
    ]
    return Page(items=entries, next=str(rows[-1].number) if len(rows) == query.limit else None)


async def metrics(hub: Hub, call: Call[None, Nothing]) -> Document:
    """The hub's figures, for Prometheus."""
    hub.metrics.hosts(Counter(host.state for host in hub.hosts.registry.all()))
    return Document(await hub.metrics.text(hub.manager), MEDIA_TYPE)


async def openapi(hub: Hub, call: Call[None, Nothing]) -> Document:
    """This document."""
    from handrail.server.openapi import encoded_document  # it describes the table in which this handler stands

    return Document(encoded_document(), "application/json")

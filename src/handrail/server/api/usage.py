"""What sessions have cost and used, per day, session or model."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta

from handrail.server.calls import Call, Query
from handrail.server.hub import Hub
from handrail.store.base import UsageKey, UsageRow

__all__ = ["show"]

KEYS: Final[dict[str, Sequence[UsageKey]]] = {
    "day": ("day", "model"),
    "session": ("session",),
    "model": ("model",),
    "total": (),
}


class UsageQuery(Query, frozen=True):
    """Since when, and summed up how."""

    days: Annotated[int, Meta(ge=1, le=3650, description="Today and the days before it, this many in all.")] = 30
    by: Annotated[
        Literal["day", "session", "model", "total"], Meta(description="Days are further divided by model.")
    ] = "day"


class Used(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What was used of one day, session or model. Costs are estimates of Claude Code's, in US dollars."""

    day: str = ""
    session_id: str = ""
    title: str = ""
    model: str = ""
    input_tokens: int
    output_tokens: int
    cache_read_tokens: int
    cache_write_tokens: int
    cost_usd: float
    runs: int


class Usage(msgspec.Struct, frozen=True, kw_only=True):
    """What was used since a moment: the midnight with which the first day began."""

    since: float
    items: list[Used]


async def show(hub: Hub, call: Call[None, UsageQuery]) -> Usage:
    """Tokens and costs of completed runs."""
    since = _midnight(call.query.days - 1)
    rows = await hub.store.usage(since=since, by=KEYS[call.query.by])
    titles = await _titles(hub, rows) if call.query.by == "session" else {}
    return Usage(since=since, items=[_used(row, titles) for row in rows])


async def _titles(hub: Hub, rows: Sequence[UsageRow]) -> dict[str, str]:
    found = [await hub.store.get_session(row.session_id) for row in rows]
    return {session.id: session.title for session in found if session is not None}


def _used(row: UsageRow, titles: dict[str, str]) -> Used:
    return Used(
        day=row.day,
        session_id=row.session_id,
        title=titles.get(row.session_id, ""),
        model=row.model,
        input_tokens=row.input_tokens,
        output_tokens=row.output_tokens,
        cache_read_tokens=row.cache_read_tokens,
        cache_write_tokens=row.cache_write_tokens,
        cost_usd=row.cost_usd,
        runs=row.runs,
    )


def _midnight(days_ago: int) -> float:
    """Where this machine is: usage is kept by local days."""
    today = datetime.datetime.now().astimezone().date()
    begins = datetime.datetime.combine(today - datetime.timedelta(days=days_ago), datetime.time())
    return begins.timestamp()

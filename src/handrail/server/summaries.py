"""A session in short: what lists show of it."""

from __future__ import annotations

import os
from typing import Final, Literal, NamedTuple, Protocol, TypeAlias

import msgspec

from handrail.sessions.launching import decode_settings
from handrail.sessions.owning.locks import Holder
from handrail.store.base import SessionRow

__all__ = ["HERE", "Owner", "SessionSummary", "Where", "Whereabouts", "owner_of", "summary_of"]

Owner: TypeAlias = Literal["here", "elsewhere"]


class SessionSummary(msgspec.Struct, frozen=True, kw_only=True):
    """A session as lists show it. `owner` says whether its Claude Code runs in the hub or elsewhere, if it runs."""

    id: str
    title: str
    cwd: str
    status: str
    """needs_you, running, queued, waiting (for a Claude Code that dials in), idle, failed or stopped."""
    created_at: float
    updated_at: float
    archived: bool = False
    model: str = ""
    cost_usd: float = 0.0
    live: bool = False
    owner: Owner | None = None
    asks: int = 0
    """How many asks wait for an answer."""
    cli_session_id: str | None = None
    forked_from: str | None = None
    worktree: str | None = None
    """The branch of the git worktree that was made for it."""
    last_seq: int = 0
    host: str = ""
    """The id of the host that runs it; empty for the hub's own machine."""
    host_name: str = ""
    host_state: str = ""
    """Of that host: connected, away, draining or revoked."""


class Where(NamedTuple):
    """Where a session runs: nothing for the hub's own machine."""

    host: str = ""
    host_name: str = ""
    host_state: str = ""


HERE: Final = Where()


class Whereabouts(Protocol):
    """Who knows the hosts."""

    def where(self, host_id: str) -> Where:
        """Where a session is that is copied from this host; `HERE` for an empty id."""


def summary_of(row: SessionRow, *, asks: int = 0, where: Where = HERE) -> SessionSummary:
    """A session as lists show it."""
    owner = owner_of(row)
    return SessionSummary(
        id=row.id,
        title=row.title,
        cwd=row.cwd,
        status=row.status,
        created_at=row.created_at,
        updated_at=row.updated_at,
        archived=row.archived,
        model=row.model,
        cost_usd=row.cost_usd,
        live=owner is not None,
        owner=owner,
        asks=asks,
        cli_session_id=row.cli_session_id,
        forked_from=row.forked_from,
        worktree=_branch(row),
        last_seq=row.last_seq,
        host=where.host,
        host_name=where.host_name,
        host_state=where.host_state,
    )


def owner_of(row: SessionRow) -> Owner | None:
    """Where the session's Claude Code runs, as far as is stored."""
    if row.owner is None:
        return None
    try:
        holder = msgspec.json.decode(row.owner, type=Holder)
    except msgspec.DecodeError:
        return "elsewhere"
    return "here" if holder.pid == os.getpid() else "elsewhere"


def _branch(row: SessionRow) -> str | None:
    if b'"worktree":{' not in row.settings:
        return None
    worktree = decode_settings(row.settings).worktree or {}
    return str(worktree.get("branch") or "") or None

"""The hosts of the hub, as commands ask for them: the hub of this machine, or the one that HANDRAIL_HUB names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final
from urllib.parse import quote

import msgspec

from handrail.cli.hub_connection import connected
from handrail.errors import HostError
from handrail.remote.records import Hosts, HostView, Made
from handrail.sessions.adoption import Adoptable

__all__ = [
    "Enrolment",
    "adopt_on",
    "adoptable_on",
    "all_hosts",
    "new_enrolment",
    "one_host",
    "revoke_host",
    "set_draining",
]

HOSTS: Final = "/api/hosts"
MOST: Final = 500


class Enrolment(msgspec.Struct, frozen=True, kw_only=True):
    """A code that lets one machine in, once, and the command that shows it."""

    code: str
    expires_at: float
    command: str


class _AdoptableView(msgspec.Struct, frozen=True, kw_only=True):
    cli_session_id: str
    title: str
    cwd: str
    updated_at: float
    messages: int | None = None
    model: str = ""


class _AdoptablePage(msgspec.Struct, frozen=True, kw_only=True):
    items: Sequence[_AdoptableView]


async def all_hosts(*, revoked: bool = False) -> Sequence[HostView]:
    """Every host; those that were revoked only if they are wanted."""
    async with connected() as hub:
        page: Hosts = await hub.get(HOSTS, Hosts, revoked=revoked)
    return page.items


async def one_host(name: str) -> HostView:
    """The host of this name or id. Raises `HostNotFound`, or `HostError` for the hub's own machine."""
    async with connected() as hub:
        found: HostView = await hub.get(_path(name), HostView)
    if found.is_hub:
        raise HostError(f"{found.name} is the machine of the hub itself: it is there for as long as the hub runs")
    return found


async def set_draining(name: str, *, on: bool) -> HostView:
    """Start no more sessions there, or start them again; returns the host as it is then."""
    found = await one_host(name)
    async with connected() as hub:
        await hub.post(f"{_path(found.id)}/drain", body={"on": on})
    return found


async def revoke_host(host: HostView) -> None:
    """Take its key away."""
    async with connected() as hub:
        await hub.act("DELETE", _path(host.id))


async def new_enrolment(name: str | None, labels: Sequence[str] = ()) -> Enrolment:
    """A code for a machine that is to be let in."""
    wanted = {"name": name, "labels": list(labels)}
    async with connected() as hub:
        made: Enrolment = await hub.post(
            f"{HOSTS}/enrolments", Enrolment, body={key: value for key, value in wanted.items() if value}
        )
    return made


async def adoptable_on(host: str, cwd: str | None, *, limit: int = MOST) -> list[Adoptable]:
    """The sessions that Claude Code itself keeps on a host, and the hub does not know."""
    async with connected() as hub:
        page: _AdoptablePage = await hub.get(
            "/api/adoptable", _AdoptablePage, host=host, cwd=cwd, limit=min(limit, MOST)
        )
    return [
        Adoptable(
            session_id=each.cli_session_id,
            cwd=each.cwd,
            path="",
            title=each.title,
            created_at=each.updated_at,
            updated_at=each.updated_at,
            size=0,
            changed_at=each.updated_at,
            messages=each.messages,
            model=each.model,
        )
        for each in page.items
    ]


async def adopt_on(host: str, cli_session_id: str) -> str:
    """Take over one of them; returns the id that it has from then on."""
    async with connected() as hub:
        made: Made = await hub.post("/api/adopt", Made, body={"host": host, "cli_session_id": cli_session_id})
    return made.id


def _path(name: str) -> str:
    return f"{HOSTS}/{quote(name, safe='')}"

"""Hosts: other machines that run sessions for the hub. Let them in, look at them, drain and remove them."""

from __future__ import annotations

import os
import platform
import shlex
import shutil
import socket
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from typing import Annotated

import msgspec
from msgspec import Meta

from handrail.errors import HandrailError
from handrail.link.wire import CliFacts, HostFacts
from handrail.policy.profiles import PROFILES
from handrail.server.calls import Body, Call, Caller, Nothing, Page, Query
from handrail.server.hosts.enrolments import ReplayedCode
from handrail.server.hosts.known import HostState, KnownHost
from handrail.server.hosts.registry import LONGEST_NAME, check_name
from handrail.server.hub import Hub
from handrail.server.problems import Problem
from handrail.store.base import SessionFilter

__all__ = ["drain", "enrol", "get", "host_id_of", "is_elsewhere", "list_all", "make_enrolment", "revoke"]

OWN_SESSIONS = 1_000

HostName = Annotated[str, Meta(max_length=LONGEST_NAME, description="What the host is called.", examples=["build-box"])]
Label = Annotated[str, Meta(min_length=1, max_length=LONGEST_NAME, pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]


class HostView(msgspec.Struct, frozen=True, kw_only=True):
    """A host. `since` is when it came into its state; the hub's own machine is one too, with an empty id."""

    id: str
    name: str
    state: HostState
    since: float
    last_seen_at: float | None
    facts: HostFacts
    sessions: int
    """How many of its sessions are known here."""
    live: int
    """How many of them run Claude Code."""
    is_hub: bool = False
    enrolled_at: float | None = None
    enrolled_by: str = ""


class HostQuery(Query, frozen=True):
    """Which hosts."""

    revoked: Annotated[bool, Meta(description="Whether to list those that were removed, too.")] = False


class NewEnrolment(Body, frozen=True):
    """A code that lets one machine become a host."""

    name: HostName = ""
    labels: Annotated[tuple[Label, ...], Meta(max_length=50)] = ()


class EnrolmentCode(msgspec.Struct, frozen=True, kw_only=True):
    """A code that works once, until `expires_at`; and the command to run on the machine that is to be the host."""

    code: str
    expires_at: float
    command: str


class Enrolling(Body, frozen=True):
    """A machine that wants to be a host, with the code that lets it be one."""

    code: Annotated[str, Meta(min_length=1, max_length=200)]
    name: HostName


class Enrolled(msgspec.Struct, frozen=True, kw_only=True):
    """The machine is a host. Its `key` is shown this once."""

    host_id: str
    name: str
    key: str
    hub: str


class Draining(Body, frozen=True):
    """Whether no further sessions are started there."""

    on: bool


# ---------------------------------------------------------------- looking


async def list_all(hub: Hub, call: Call[None, HostQuery]) -> Page[HostView]:
    """Every machine that runs sessions: the hub's own first, then the hosts by name."""
    registry = hub.hosts.registry
    known = registry.with_revoked() if call.query.revoked else registry.all()
    return Page(items=[await _own(hub), *[await _view(hub, host) for host in known]])


async def get(hub: Hub, call: Call[None, Nothing]) -> HostView:
    """One host, by its id or name."""
    if call.path["host"] == own_name():
        return await _own(hub)
    return await _view(hub, hub.hosts.registry.named(call.path["host"]))


async def _view(hub: Hub, host: KnownHost) -> HostView:
    counts = await hub.store.count_sessions(SessionFilter(archived=None, host=host.id))
    return HostView(
        id=host.id,
        name=host.name,
        state=host.state,
        since=host.row.revoked_at or host.since,
        last_seen_at=host.row.last_seen_at,
        facts=host.facts,
        sessions=sum(counts.values()),
        live=host.facts.live,
        enrolled_at=host.row.enrolled_at,
        enrolled_by=host.row.enrolled_by,
    )


async def _own(hub: Hub) -> HostView:
    rows = await hub.store.list_sessions(SessionFilter(archived=None, host=""), limit=OWN_SESSIONS)
    counts = await hub.store.count_sessions(SessionFilter(archived=None, host=""))
    live = sum(row.owner is not None for row in rows)
    return HostView(
        id="",
        name=own_name(),
        state="connected",
        since=hub.started_at,
        last_seen_at=None,
        facts=await _own_facts(hub, live),
        sessions=sum(counts.values()),
        live=live,
        is_hub=True,
    )


async def _own_facts(hub: Hub, live: int) -> HostFacts:
    claude = await hub.surroundings.claude()
    found = CliFacts(version=claude.version, path=claude.path, logged_in=claude.logged_in)
    return HostFacts(
        handrail=version("handrail"),
        system=f"{platform.system()} {platform.release()}, {platform.machine()}",
        clis=(found,) if claude.found else (),
        roots=hub.roots.paths,
        capacity=hub.manager.limits.concurrent_sessions,
        live=live,
        load=_load(),
        free_bytes=_free(hub.manager.places.state),
        profiles=tuple(PROFILES),
        starts_once=True,
    )


@cache
def own_name() -> str:
    """What the hub's own machine is called."""
    return socket.gethostname() or "hub"


def _load() -> float:
    with suppress(OSError):
        return round(os.getloadavg()[0] / (os.cpu_count() or 1), 3)
    return 0.0


def _free(directory: str) -> int | None:
    with suppress(OSError):
        return shutil.disk_usage(directory).free
    return None


def is_elsewhere(reference: str) -> bool:
    """Whether this names another machine than the hub's own."""
    return reference not in ("", own_name())


def host_id_of(hub: Hub, reference: str) -> str:
    """The id of the host with this name or id; empty for the hub's own machine. Raises `HostNotFound`."""
    return hub.hosts.registry.named(reference).id if is_elsewhere(reference) else ""


# ---------------------------------------------------------------- letting in, and removing


async def make_enrolment(hub: Hub, call: Call[NewEnrolment, Nothing]) -> EnrolmentCode:
    """A code with which one machine becomes a host, once, within ten minutes."""
    if call.headers.get("idempotency-key") is not None:
        raise Problem("invalid", "an enrolment code is kept nowhere, so it cannot be answered again: send no key")
    wanted = call.body
    if wanted.name:
        _check_name(wanted.name)
        hub.hosts.registry.check_free(wanted.name)
    call.note(wanted.name)
    code, enrolment = hub.hosts.enrolments.offer(name=wanted.name, created_by=call.caller.name)
    named = ["--name", wanted.name] if wanted.name else []
    labelled = [word for label in wanted.labels for word in ("--label", label)]
    command = shlex.join(["handrail", "host", "--hub", hub.settings.url, "--code", code, *named, *labelled])
    return EnrolmentCode(code=code, expires_at=enrolment.expires_at, command=command)


async def enrol(hub: Hub, call: Call[Enrolling, Nothing]) -> Enrolled:
    """Become a host, with an enrolment code. The key is in the answer, and nowhere else."""
    wanted = call.body
    _check_name(wanted.name)
    enrolments = hub.hosts.enrolments
    try:
        enrolment = enrolments.exchange(wanted.code, wanted.name, call.address)
    except ReplayedCode as error:
        stranger = Caller(name=f"host {wanted.name}", role="viewer", surface="api")
        words = f"the code of {error.by}, from {call.address}"
        await hub.audit.note(stranger, "hosts.enrol", outcome="wrong_code", detail=words)
        raise
    try:
        host, key = await hub.hosts.registry.enrol(enrolment.name or wanted.name, by=enrolment.created_by)
    except HandrailError:
        enrolments.give_back(wanted.code, enrolment)
        raise
    newcomer = Caller(name=f"host {host.name}", role="viewer", surface="api")
    await hub.audit.note(newcomer, "hosts.enrol", path={"host": host.id}, detail=f"let in by {enrolment.created_by}")
    hub.hosts.changed(host.id)
    return Enrolled(host_id=host.id, name=host.name, key=key, hub=hub.settings.url)


def _check_name(name: str) -> None:
    """See that a host may be called so. Raises `Problem`."""
    check_name(name)
    if not is_elsewhere(name):
        raise Problem(
            "host_name_taken",
            f"the hub's own machine is called {name!r}: choose another name (`handrail host --name NAME`)",
        )


async def drain(hub: Hub, call: Call[Draining, Nothing]) -> HostView:
    """Start no further sessions on a host, before its maintenance; or let them be started again."""
    host = _other(hub, call)
    call.note("on" if call.body.on else "off")
    await hub.hosts.drain(host, call.body.on)
    return await _view(hub, host)


async def revoke(hub: Hub, call: Call[None, Nothing]) -> None:
    """Remove a host: its link ends at once, its key is good for nothing. What is copied of its sessions stays."""
    host = _other(hub, call)
    await hub.hosts.revoke(host)


def _other(hub: Hub, call: Call[Draining, Nothing] | Call[None, Nothing]) -> KnownHost:
    """The host that the address names, which must not be the hub's own machine."""
    if call.path["host"] == own_name():
        raise Problem("invalid", "this is the hub's own machine, which is no host that could be drained or removed")
    return hub.hosts.registry.named(call.path["host"])

"""Where a session is started: on the host that was named, or on the one with the least to do of those that fit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol, TypeVar

from handrail.errors import HostAway, HostNotFound, HostRefused
from handrail.link.wire import HostFacts
from handrail.wording import did_you_mean

__all__ = ["ANY", "LABEL", "Candidate", "chosen", "named"]

ANY: Final = "any"
LABEL: Final = "label:"


class Candidate(Protocol):
    """A host as it is chosen."""

    @property
    def id(self) -> str: ...

    @property
    def name(self) -> str: ...

    @property
    def facts(self) -> HostFacts: ...

    @property
    def connected(self) -> bool: ...

    @property
    def draining(self) -> bool: ...

    @property
    def live(self) -> int:
        """How many sessions are live there, or are about to be."""

    def why_away(self) -> str:
        """Why it cannot be reached, in words."""


CandidateT = TypeVar("CandidateT", bound=Candidate)


def named(reference: str, hosts: Sequence[CandidateT]) -> CandidateT:
    """The host with this name or id. Raises `HostNotFound`."""
    known = {host.name: host for host in hosts} | {host.id: host for host in hosts}  # no name passes for another's id
    if reference in known:
        return known[reference]
    names = [host.name for host in hosts]
    others = did_you_mean(reference, names) if names else ", nor any other: `handrail host enrol` lets a machine in"
    raise HostNotFound(f"there is no host {reference!r}{others}")


def chosen(reference: str, hosts: Sequence[CandidateT]) -> CandidateT:
    """The host for a new session: `reference` is a name, an id, `label:NAME`, or `any`. Raises `HostError`."""
    if reference != ANY and not reference.startswith(LABEL):
        host = named(reference, hosts)
        _check(host)
        return host
    fitting = [host for host in hosts if reference == ANY or reference.removeprefix(LABEL) in host.facts.labels]
    free = [host for host in fitting if _refusal(host) is None]
    if free:
        return min(free, key=_business)
    which = "host" if reference == ANY else f"host with the label {reference.removeprefix(LABEL)!r}"
    if not fitting:
        raise HostNotFound(f"there is no {which}: `handrail hosts` lists those that there are")
    raise HostAway(f"no {which} can take a session now: " + "; ".join(str(_refusal(host)) for host in fitting[:5]))


def _check(host: Candidate) -> None:
    refusal = _refusal(host)
    if refusal is not None:
        raise refusal


def _refusal(host: Candidate) -> HostAway | HostRefused | None:
    """Why a host takes no new session."""
    if not host.connected:
        return HostAway(host.why_away())
    if host.draining:
        return HostRefused(f"the host {host.name} is being drained: no session is started there until that is over")
    capacity = host.facts.capacity
    if capacity is not None and host.live >= capacity:
        sessions = "1 live session" if host.live == 1 else f"{host.live} live sessions"
        return HostRefused(
            f"the host {host.name} has {sessions}, as many as its owner lets it have: wait, or stop one that is idle "
            f"(`handrail ls --host {host.name}`)"
        )
    return None


def _business(host: Candidate) -> tuple[float, int, str]:
    """How much a host has to do: its seats that are taken or its processors that are busy, whichever is more."""
    capacity = host.facts.capacity
    taken = host.live / capacity if capacity else 0.0
    return max(taken, host.facts.load), host.live, host.name

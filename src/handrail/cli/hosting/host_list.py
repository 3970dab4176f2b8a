"""Hosts as a table for a person: whether they are there, what runs on them, and what is wrong with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from handrail.cli.commands.table import Column, Table
from handrail.cli.commands.wording import age
from handrail.cli.showing.amounts import count
from handrail.cli.showing.remarks import notice
from handrail.cli.showing.style import DONE, FAILED, MARKS, NEEDS_YOU, QUIET, exact
from handrail.policy.describing.visible import one_line
from handrail.remote.records import HostView

__all__ = ["drained_words", "host_page", "revoking_words"]

STATES: Mapping[str, tuple[str, str]] = {
    "connected": (DONE, "connected"),
    "draining": (NEEDS_YOU, "draining"),
    "away": (FAILED, "away"),
    "revoked": (QUIET, "revoked"),
}
"""Each state's colour and words, in the order in which hosts are listed."""

COLUMNS = (
    Column("STATE"),
    Column("NAME", flexible=True),
    Column("LIVE", right=True),
    Column("SESSIONS", right=True, optional=2),
    Column("LOAD", right=True, optional=3),
    Column("CLAUDE CODE", flexible=True, optional=1),
    Column("HANDRAIL", optional=5),
    Column("LABELS", flexible=True, optional=4),
    Column("SEEN", right=True),
)


def host_page(hosts: Sequence[HostView], *, now: float) -> RenderableType:
    """The hosts in columns, and below them what is wrong with any."""
    order = list(STATES)
    ordered = sorted(hosts, key=lambda host: (not host.is_hub, _place(host.state, order), host.name))
    troubles = [
        notice(NEEDS_YOU, f"{host.name}: {one_line(host.facts.trouble)}") for host in ordered if host.facts.trouble
    ]
    rows = [_cells(host, now) for host in ordered]
    told = [index for index in range(len(COLUMNS)) if any(row[index] for row in rows)]  # most hosts have no labels
    return Group(Table([COLUMNS[index] for index in told], [[row[index] for index in told] for row in rows]), *troubles)


def _place(state: str, order: Sequence[str]) -> int:
    return order.index(state) if state in order else len(order)


def _cells(host: HostView, now: float) -> tuple[Text, ...]:
    colour, words = STATES.get(host.state, (QUIET, host.state))
    facts = host.facts
    capacity = f" of {facts.capacity}" if facts.capacity is not None else ""
    name = exact(host.name)
    if host.is_hub:
        name.append(" (the hub)", QUIET)
    return (
        exact(f"{MARKS[colour]} {words}", colour),
        name,
        Text(f"{host.live}{capacity}"),
        Text(str(host.sessions)),
        Text(f"{facts.load:.0%}" if host.state in ("connected", "draining") and facts.load else ""),
        exact(", ".join(cli.version for cli in facts.clis)),
        exact(facts.handrail),
        exact(", ".join(facts.labels)),
        Text(_seen(host, now)),
    )


def _seen(host: HostView, now: float) -> str:
    """When it was last there. Of one that is connected, that it is."""
    if host.is_hub or host.state in ("connected", "draining"):
        return "now"
    return age(now - host.last_seen_at) if host.last_seen_at is not None else "never"


def drained_words(host: HostView, *, on: bool) -> str:
    """What became of draining a host, or of ending that."""
    if not on:
        return f"sessions are started on {host.name} again"
    left = f"; {count(host.live, 'session')} still there" if host.live else "; nothing runs there"
    return f"no more sessions are started on {host.name}{left}"


def revoking_words(host: HostView) -> str:
    """What would be lost if the host's key were taken away."""
    if not host.live:
        return f"No session is live on {host.name}."
    return f"{count(host.live, 'session')} on {host.name} will end, out of the hub's reach."

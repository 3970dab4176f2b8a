"""A host as the hub knows it: what is stored of it, what it says of itself, and its link while there is one."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

import msgspec

from handrail.errors import HostRefused
from handrail.link.wire import HostFacts
from handrail.server.hosts.callbacks import Callbacks, CallPrograms
from handrail.server.hosts.commands import Commands
from handrail.store.base import HostRow

if TYPE_CHECKING:
    from handrail.server.hosts.link import HostLink

__all__ = ["HostState", "KnownHost", "decode_facts", "with_clock"]

HostState: TypeAlias = Literal["connected", "away", "draining", "revoked"]

MINUTE: Final = 60.0


class KnownHost:
    """One host. Owned by the registry."""

    def __init__(self, row: HostRow, programs: Callable[[], CallPrograms | None]) -> None:
        self.row = row
        self.facts = decode_facts(row.facts)
        self.skew = 0.0
        """How many seconds the clock here is ahead of the host's."""
        self.link: HostLink | None = None
        self.since = row.last_seen_at or row.enrolled_at
        """Since when it is connected or away."""
        self.starting = 0
        """How many sessions are being started there: the host does not count them yet."""
        self.watched: set[str] = set()
        """The sessions that somebody watches as they are written."""
        self.noted: set[str] = set()
        """What was written to the audit log about its links since the hub started."""
        self.taking_over = asyncio.Lock()
        self.commands = Commands(lambda: self.name, self.why_away)
        self.callbacks = Callbacks(row.id, programs)

    @property
    def id(self) -> str:
        return self.row.id

    @property
    def name(self) -> str:
        return self.row.name

    @property
    def connected(self) -> bool:
        return self.link is not None

    @property
    def draining(self) -> bool:
        return self.row.draining or self.facts.draining

    @property
    def live(self) -> int:
        return self.facts.live + self.starting

    @property
    def state(self) -> HostState:
        if self.row.revoked_at is not None:
            return "revoked"
        if not self.connected:
            return "away"
        return "draining" if self.draining else "connected"

    def why_away(self) -> str:
        """Why it cannot be reached, in words."""
        if self.row.revoked_at is not None:
            return f"the host {self.name} was removed from this hub"
        seen = self.row.last_seen_at
        if seen is None:
            return f"the host {self.name} has never been connected: run `handrail host` there"
        return f"the host {self.name} is not connected (last seen {_ago(time.time() - seen)}): what runs there goes on"

    def removed(self) -> HostRefused:
        """What is told to those who want something of a host that was revoked."""
        words = f"the host {self.name} was removed from this hub: what is copied here can be read, and nothing done"
        return HostRefused(words)


def decode_facts(stored: bytes) -> HostFacts:
    """What a host said of itself, as far as this version understands it."""
    try:
        return msgspec.json.decode(stored, type=HostFacts)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return HostFacts()


def with_clock(facts: HostFacts, skew: float) -> HostFacts:
    """What a host says of itself, and that its clock is wrong if it is: the times of its journal are the host's."""
    if abs(skew) < 2 * MINUTE:
        return facts
    direction = "behind" if skew > 0 else "ahead of"
    amount = _roughly(abs(skew) + MINUTE / 2)
    words = f"its clock is {amount} {direction} the hub's, and so are the times of its sessions: set it"
    return msgspec.structs.replace(facts, trouble="; ".join(filter(None, (facts.trouble, words))))


def _ago(seconds: float) -> str:
    return f"{_roughly(seconds)} ago"


def _roughly(seconds: float) -> str:
    for unit, length in (("day", 1440 * MINUTE), ("hour", 60 * MINUTE), ("minute", MINUTE)):
        if seconds >= length:
            number = int(seconds // length)
            return f"{number} {unit}{'s' if number > 1 else ''}"
    return f"{max(int(seconds), 0)} s"

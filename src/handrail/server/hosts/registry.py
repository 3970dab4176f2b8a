"""The hosts that were let in: made from enrolments, found by their key, and removed for good when they are revoked."""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from handrail.errors import HostNotFound, StoreError
from handrail.link.wire import HostFacts
from handrail.server.auth.secret_words import HOST_PREFIX, hashed, is_secret, new_secret
from handrail.server.hosts.callbacks import CallPrograms
from handrail.server.hosts.known import KnownHost, with_clock
from handrail.server.hosts.placement import ANY, LABEL, named
from handrail.server.problems import Problem
from handrail.store.base import HostRow, Store

__all__ = ["LONGEST_NAME", "Registry", "check_name"]

logger = logging.getLogger("handrail.hosts")

LONGEST_NAME: Final = 100
STORE_EVERY: Final = 30.0
"""How exactly the facts and the last sight of a host are stored, in seconds."""


class Registry:
    """Every host of the hub. This process is the only one that changes them, so they are looked up in memory."""

    def __init__(self, store: Store, clock: Callable[[], float] = time.time) -> None:
        self.programs: CallPrograms | None = None
        """Passes calls of hosts' sessions on to programs."""
        self._store = store
        self._clock = clock
        self._hosts: dict[str, KnownHost] = {}
        self._by_key: dict[str, KnownHost] = {}
        self._stored_at: dict[str, float] = {}
        self._enrolling = asyncio.Lock()

    async def load(self) -> None:
        """Read what is stored."""
        for row in await self._store.hosts():
            self._add(row)

    def _add(self, row: HostRow) -> KnownHost:
        host = KnownHost(row, lambda: self.programs)
        self._hosts[row.id] = self._by_key[row.key_hash] = host
        if row.revoked_at is not None:
            host.commands.close(host.removed())
        return host

    # ------------------------------------------------------------ finding

    def all(self) -> Sequence[KnownHost]:
        """Those that hold, by name."""
        return sorted((host for host in self._hosts.values() if host.state != "revoked"), key=lambda host: host.name)

    def with_revoked(self) -> Sequence[KnownHost]:
        """Every host that there ever was, those that hold first."""
        return sorted(self._hosts.values(), key=lambda host: (host.state == "revoked", host.name, host.row.enrolled_at))

    def get(self, host_id: str) -> KnownHost | None:
        """The host with this id, whether it holds or not."""
        return self._hosts.get(host_id)

    def named(self, reference: str) -> KnownHost:
        """The host with this name or id. Raises `HostNotFound`."""
        known = self._hosts.get(reference)
        return known if known is not None else named(reference, self.all())

    def by_key(self, key: str) -> KnownHost | None:
        """The host with this key, if it holds. What has not the form of a key is not even hashed."""
        if not is_secret(key, HOST_PREFIX):
            return None
        host = self._by_key.get(hashed(key))
        return None if host is None or host.state == "revoked" else host

    # ------------------------------------------------------------ letting in, and removing

    async def enrol(self, name: str, *, by: str) -> tuple[KnownHost, str]:
        """Let a host in; returns it and its key, which cannot be had again. Raises `Problem` if the name is taken."""
        check_name(name)
        key = new_secret(HOST_PREFIX)
        row = HostRow(
            id=secrets.token_hex(6), name=name, key_hash=hashed(key), enrolled_at=self._clock(), enrolled_by=by
        )
        async with self._enrolling:  # or two of one name would both find it free
            await self._free(name)
            await self._store.add_host(row)
            return self._add(row), key

    def check_free(self, name: str) -> None:
        """See that no host has this name. Raises `Problem`."""
        taken = self._with_name(name)
        if taken is not None and taken.row.last_seen_at is not None:
            raise Problem(
                "host_name_taken",
                f"there is a host {name!r} already: choose another name, or remove that one first "
                f"(`handrail hosts revoke {name}`)",
            )

    async def _free(self, name: str) -> None:
        """Have a name for a new host. One that was never here did not get its key, and makes room."""
        self.check_free(name)
        if (absent := self._with_name(name)) is not None:
            await self.revoke(absent)

    def _with_name(self, name: str) -> KnownHost | None:
        return next((host for host in self.all() if host.name == name), None)

    async def revoke(self, host: KnownHost) -> None:
        """End a host: its key is good for nothing from now on. Its link is for the caller to close."""
        now = self._clock()
        await self._store.change_host(host.id, revoked_at=now)
        host.row = msgspec.structs.replace(host.row, revoked_at=now)
        host.commands.close(host.removed())

    # ------------------------------------------------------------ what becomes known

    async def set_draining(self, host: KnownHost, on: bool) -> None:
        """Whether new sessions are started there."""
        await self._store.change_host(host.id, draining=on)
        host.row = msgspec.structs.replace(host.row, draining=on)

    async def heard(self, host: KnownHost, facts: HostFacts | None = None, *, at_once: bool = False) -> None:
        """The host is there, and may have said something of itself. Stored now and then."""
        now = self._clock()
        host.row = msgspec.structs.replace(host.row, last_seen_at=now)
        if facts is not None:
            if facts.clock:
                host.skew = now - facts.clock
            host.facts = with_clock(facts, host.skew)
            host.row = msgspec.structs.replace(host.row, facts=msgspec.json.encode(host.facts))
        if at_once or now - self._stored_at.get(host.id, 0.0) >= STORE_EVERY:
            await self._keep(host, now)

    async def _keep(self, host: KnownHost, now: float) -> None:
        self._stored_at[host.id] = now
        try:
            await self._store.change_host(host.id, last_seen_at=now, facts=host.row.facts)
        except (StoreError, HostNotFound) as error:  # it is known here; only a restart would forget it
            logger.warning("what is known of the host %s cannot be stored: %s", host.name, error)


def check_name(name: str) -> str:
    """A name that a host may have. Raises `Problem`."""
    fits = (
        0 < len(name) <= LONGEST_NAME and name.isprintable() and not any(sign.isspace() or sign == "/" for sign in name)
    )
    # What begins otherwise is an option on a command line, or another place in an address.
    if not fits or not name[0].isalnum() or name == ANY or name.startswith(LABEL):
        raise Problem(
            "invalid",
            f"a host is called by 1 to {LONGEST_NAME} printable characters without spaces and slashes, the first a "
            f"letter or a digit, and neither {ANY!r} nor {LABEL}…",
        )
    return name

"""The names of hosts, for whoever has the id of one or types the name of one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from handrail.errors import HostNotFound
from handrail.wording import did_you_mean

if TYPE_CHECKING:
    from handrail.cli.commands.workplace import Workplace

__all__ = ["HERE", "HostNames", "host_names"]

HERE = "here"
"""What the machine of this command is called where sessions of several machines are listed."""
HUB = "hub"


class HostNames:
    """Hosts by their ids. The one without an id is the machine whose sessions are not copies."""

    def __init__(self, names: Mapping[str, str], *, own: str = HERE) -> None:
        self._names = {"": own, **names}

    def of(self, host_id: str) -> str:
        """The name of a host; one that nobody knows any more has only its id."""
        return self._names.get(host_id, host_id[:8])

    def id_of(self, name: str) -> str:
        """The id of the host that is meant. Raises `HostNotFound`."""
        for host_id, known in self._names.items():
            if name in (known, host_id) and name:
                return host_id
        if len(self._names) == 1:
            raise HostNotFound(f"there is no host {name!r}, nor any other: `handrail host enrol` lets a machine in")
        raise HostNotFound(f"there is no host {name!r}{did_you_mean(name, self._names.values())}")


async def host_names(place: Workplace) -> HostNames:
    """Those that the sessions of this command may be on."""
    from handrail.sessions.manager import Manager

    if isinstance(place.manager, Manager):
        return HostNames({row.id: row.name for row in await place.manager.store.hosts()})
    from handrail.cli.hosting.hub_hosts import all_hosts

    hosts = await all_hosts(revoked=True)
    own = next((host.name for host in hosts if host.is_hub), HUB)
    return HostNames({host.id: host.name for host in hosts if not host.is_hub}, own=own)

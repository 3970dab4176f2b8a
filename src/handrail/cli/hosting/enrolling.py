"""Letting a machine in: the code that the hub gives out, and what that machine makes of it."""

from __future__ import annotations

import re
from math import ceil
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from handrail.cli.hosting.hub_hosts import new_enrolment
from handrail.cli.showing.amounts import count
from handrail.cli.showing.style import NEEDS_YOU
from handrail.server.auth.addresses import stays_here

if TYPE_CHECKING:
    from handrail.cli.commands.workplace import Workplace

__all__ = ["offered"]

_ADDRESS = re.compile(r"--hub[= ](\S+)")


async def offered(place: Workplace, name: str | None) -> None:
    """Print the command that lets a machine in."""
    made = await new_enrolment(name)
    place.line(made.command)
    minutes = count(ceil((made.expires_at - place.now) / 60), "minute")
    place.remark(f"run this on the other machine within {minutes}: it works once")
    if _only_reached_from_here(made.command):
        place.remark(
            "the hub can be reached from this machine only: for others, serve it with TLS or behind a proxy "
            "(handrail serve --public-url https://…)",
            NEEDS_YOU,
        )


def _only_reached_from_here(command: str) -> bool:
    found = _ADDRESS.search(command)
    return found is not None and stays_here(urlsplit(found[1]).hostname or "")

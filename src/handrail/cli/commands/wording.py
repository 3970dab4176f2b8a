"""Short words for tables: how long ago, which id, which directory."""

from __future__ import annotations

import os
from collections.abc import Iterable

__all__ = ["SHORTEST_ID", "age", "from_home", "short_id", "short_ids"]

SHORTEST_ID = 8

_UNITS = ((86400 * 365, "y"), (86400, "d"), (3600, "h"), (60, "min"), (1, "s"))


def age(seconds: float) -> str:
    """How long ago, in the largest unit that fits."""
    for size, unit in _UNITS:
        if seconds >= size:
            return f"{int(seconds // size)} {unit}"
    return "now"


def from_home(path: str) -> str:
    """A directory, with `~` for the user's own."""
    home = os.path.expanduser("~").rstrip("/")
    return f"~{path.removeprefix(home)}" if home and (path + "/").startswith(home + "/") else path


def short_ids(ids: Iterable[str]) -> dict[str, str]:
    """Each id as the shortest prefix that tells it from the others, and is not too short to be read."""
    ordered = sorted(set(ids))
    short = {}
    for position, each in enumerate(ordered):
        neighbours = ordered[max(0, position - 1) : position] + ordered[position + 1 : position + 2]
        shared = max((_shared(each, other) for other in neighbours), default=0)
        short[each] = each[: max(SHORTEST_ID, shared + 1)]
    return short


def short_id(session_id: str) -> str:
    """An id as it is shown where there is no other to tell it from."""
    return session_id[:SHORTEST_ID]


def _shared(one: str, other: str) -> int:
    """How many characters two ids begin with in common."""
    return next((index for index, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), len(one))

"""Commands whose arguments are programs: what makes `find` more than a search, and the names of awk."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["AWKS", "has_find_action"]

AWKS = frozenset(["awk", "gawk", "mawk", "nawk"])

_FIND_ACTIONS = frozenset([
    "-exec", "-execdir", "-ok", "-okdir", "-delete", "-fprint", "-fprint0", "-fprintf", "-fls", "-files0-from",
])  # fmt: skip


def has_find_action(arguments: Iterable[str]) -> bool:
    """Whether `find` with these arguments runs commands, removes files or writes any."""
    return any(argument in _FIND_ACTIONS for argument in arguments)

"""What makes `find` more than a search."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["has_find_action"]

_FIND_ACTIONS = frozenset([
    "-exec", "-execdir", "-ok", "-okdir", "-delete", "-fprint", "-fprint0", "-fprintf", "-fls", "-files0-from",
])  # fmt: skip


def has_find_action(arguments: Iterable[str]) -> bool:
    """Whether `find` with these arguments runs commands, removes files or writes any."""
    return any(argument in _FIND_ACTIONS for argument in arguments)

"""What a forked process must not keep: a copy of a lock or of a socket there would outlive its owner."""

from __future__ import annotations

import functools
import os
import weakref
from typing import Protocol

__all__ = ["Abandoned", "abandon_in_forks"]


class Abandoned(Protocol):
    """Something that belongs to the process that made it."""

    def abandon(self) -> None:
        """Called in a forked process: let go of the copy there, without a trace for the original."""


def abandon_in_forks(thing: Abandoned) -> None:
    """From now on, forked processes let go of this. Does not keep it alive."""
    _things().add(thing)


@functools.cache
def _things() -> weakref.WeakSet[Abandoned]:
    things: weakref.WeakSet[Abandoned] = weakref.WeakSet()

    def abandon_all() -> None:
        for thing in list(things):
            thing.abandon()

    os.register_at_fork(after_in_child=abandon_all)
    return things

"""Who is compared: each module here opens sessions and consumes a turn in the way its users would."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from importlib import import_module
from typing import Protocol, cast, runtime_checkable

__all__ = ["VIEWERS", "Client", "Session", "Shared", "Tally", "load"]

VIEWERS = 10
"""How many look at one session, where many do."""


class Tally:
    """How many frames a consumer has seen so far."""

    __slots__ = ("frames",)

    def __init__(self) -> None:
        self.frames = 0


class Session(Protocol):
    """One CLI process, ready for a prompt."""

    async def consume(self, tally: Tally, look: str) -> None:
        """Send a prompt and take every frame until the result."""


class Client(Protocol):
    """A module of this package."""

    def session(self, cli: str) -> AbstractAsyncContextManager[Session]:
        """Start the CLI; permission requests are allowed."""


@runtime_checkable
class Shared(Protocol):
    """A module of this package whose sessions have something in common."""

    def sessions(self, cli: str, count: int) -> AbstractAsyncContextManager[list[Session]]:
        """Start the CLI `count` times."""


def load(module: str) -> Client:
    return cast(Client, import_module(f"bench.contenders.{module}"))

"""Works: where sessions run and are followed, in one process or in several, and what each of those has spent."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from handrail.sessions.session import Session

__all__ = ["Works", "WorksModule"]


class Works(Protocol):
    """Ready for sessions. Their handles are those of this process."""

    async def start(self, count: int) -> list[Session]:
        """So many sessions, whose policy asks people."""

    async def spent(self) -> Mapping[str, float]:
        """CPU that each of the processes has used so far, in seconds, without that of their CLIs."""


class WorksModule(Protocol):
    """A module of this package that has them."""

    def works(self, cli: str, hosts: int) -> AbstractAsyncContextManager[Works]: ...

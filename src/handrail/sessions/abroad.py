"""Sessions of other machines, as a manager needs them: where they live, and how one is begun there.

A hub has copies of their journals in its own store, which it reads as any other; whatever is done with such a session
is done by the host that runs it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from handrail.policy.storage.loading import Asked
from handrail.sessions.programs import ProgramSpec
from handrail.store.base import FrameRow, SessionRow

if TYPE_CHECKING:
    from handrail.sessions.session import Seat

__all__ = ["Abroad", "WantedSession"]


class WantedSession(msgspec.Struct, frozen=True, kw_only=True):
    """A session to be started on another machine, as plain values. `options` is what `plain_options` gives.

    With the same `id` and `request` it is the same session, however often it is started.
    """

    id: str = ""
    request: str = ""
    options: dict[str, Any] = {}
    title: str = ""
    policy: Asked | None = None
    budget: float | None = None
    worktree: str | None = None
    program: ProgramSpec | None = None


class Abroad(Protocol):
    """The other machines. Each call may raise `HostError`."""

    async def seat(self, row: SessionRow) -> Seat | None:
        """Where a host's session lives: a seat that does there what is asked of it, also while the host is away (each
        call then says so); None if the session is not live there."""

    async def start(self, host: str, wanted: WantedSession) -> str:
        """Start a session on a host that `host` names: a name, an id, `label:NAME`, or `any`. Returns its id once the
        first copy of it is here. One that was started already is started nowhere else. Raises `SessionExists`."""

    async def resume(self, row: SessionRow, changes: Mapping[str, Any], program: ProgramSpec | None = None) -> None:
        """Make a session live there again, unless it is."""

    async def fork(self, row: SessionRow, *, title: str, changes: Mapping[str, Any]) -> str:
        """Start a copy of a session's conversation on its host; returns its id."""

    async def change(self, row: SessionRow, columns: Mapping[str, Any]) -> None:
        """Set the title of a session that is not live, or whether it is archived."""

    async def frames(self, row: SessionRow, *, after: int, limit: int) -> Sequence[FrameRow]:
        """Raw frames of a session, which are not copied."""

    async def delete(self, row: SessionRow) -> None:
        """Remove a session there, and the copy here."""

    async def adoptable(self, host: str, cwd: str | None) -> Sequence[Any]:
        """The sessions that Claude Code itself keeps there."""

    async def adopt(self, host: str, cli_session_id: str) -> str:
        """Take over one of them; returns its id."""

"""Sessions of other machines for a command on the hub's own: its store has their journals, and the hub reaches them.

A command reads the store of this machine by itself. What is to be done with a session that another machine runs is left
to the hub, through its socket.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AsyncExitStack
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from handrail.errors import HostAway
from handrail.places import Places
from handrail.protocol.options import Options
from handrail.remote.errors import HubUnreachable
from handrail.sessions.abroad import WantedSession
from handrail.sessions.asks import Actor, AnyAnswer
from handrail.sessions.programs import ProgramSpec
from handrail.store.base import FrameRow, SessionRow

if TYPE_CHECKING:
    from handrail.remote.hub import Hub
    from handrail.sessions.feed import Item
    from handrail.sessions.session import Session

__all__ = ["ThroughHub"]


class ThroughHub:
    """The hosts of the hub that runs here, as an `Abroad`. Used with `async with`; connects when it is needed."""

    def __init__(self, places: Places) -> None:
        self._places = places
        self._hub: Hub | None = None
        self._resources = AsyncExitStack()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._resources.aclose()

    async def _connected(self) -> Hub:
        if self._hub is None:
            from handrail.remote.hub import Hub  # slow to import, and only needed now

            try:
                self._hub = await self._resources.enter_async_context(Hub.local(self._places))
            except HubUnreachable as error:
                raise HostAway(f"sessions of other machines are reached through the hub: {error}") from None
        return self._hub

    async def _session(self, row: SessionRow) -> Session:
        return (await self._connected()).session(row.id)

    # ------------------------------------------------------------ sessions of hosts

    async def seat(self, row: SessionRow) -> HubSeat | None:
        """Where a session lives, if it does."""
        return HubSeat(await self._session(row)) if row.owner is not None else None

    async def start(self, host: str, wanted: WantedSession) -> str:
        """Start a session on a host; returns its id."""
        session = await (await self._connected()).start(
            Options(**wanted.options),
            id=wanted.id or None,
            host=host,
            title=wanted.title,
            policy=wanted.policy,
            budget=wanted.budget,
            worktree=wanted.worktree,
        )
        return session.id

    async def resume(self, row: SessionRow, changes: Mapping[str, Any], program: ProgramSpec | None = None) -> None:
        """Make a session live there again."""
        await (await self._connected()).resume(row.id, **changes)

    async def fork(self, row: SessionRow, *, title: str, changes: Mapping[str, Any]) -> str:
        """Start a copy of a session's conversation; returns its id."""
        return (await (await self._connected()).fork(row.id, title=title, **changes)).id

    async def change(self, row: SessionRow, columns: Mapping[str, Any]) -> None:
        """Set the title, or whether it is archived."""
        session = await self._session(row)
        if "title" in columns:
            await session.rename(columns["title"])
        if "archived" in columns:
            await session.archive(columns["archived"])

    async def frames(self, row: SessionRow, *, after: int, limit: int) -> Sequence[FrameRow]:
        """Lines of the wire, which are kept there."""
        return await (await self._session(row)).frames(after=after, limit=limit)

    async def delete(self, row: SessionRow) -> None:
        """Remove a session."""
        await (await self._session(row)).delete()

    async def adoptable(self, host: str, cwd: str | None) -> Sequence[Any]:
        """The sessions that Claude Code itself keeps there."""
        from handrail.cli.hosting.hub_hosts import adoptable_on

        return await adoptable_on(host, cwd)

    async def adopt(self, host: str, cli_session_id: str) -> str:
        """Take over one of them; returns its id."""
        from handrail.cli.hosting.hub_hosts import adopt_on

        return await adopt_on(host, cli_session_id)


class HubSeat:
    """A session that is live on a host: what is done with it goes through the hub, and so does what is written now."""

    is_mine = False
    is_copied = False

    def __init__(self, session: Session) -> None:
        self._session = session

    async def send(self, content: Any, *, actor: Actor, uuid: str | None) -> str:
        return await self._session.send(content, actor=actor, uuid=uuid)

    async def decide(self, ask_id: str, answer: AnyAnswer, *, actor: Actor, digest: str | None) -> None:
        await self._session.decide(ask_id, answer, actor=actor, digest=digest)

    async def answer_lost(self, ask_id: str, answer: AnyAnswer, *, actor: Actor, digest: str | None) -> None:
        await self._session.decide(ask_id, answer, actor=actor, digest=digest, resume=True)

    async def interrupt(self) -> None:
        await self._session.interrupt()

    async def stop(self) -> None:
        await self._session.stop()

    async def control(self, subtype: str, fields: dict[str, Any]) -> dict[str, Any]:
        return await self._session.control(subtype, **fields)

    async def set_permission_mode(self, mode: str) -> None:
        await self._session.set_permission_mode(mode)

    async def set_model(self, model: str | None) -> None:
        await self._session.set_model(model)

    async def rename(self, title: str, *, by: str) -> None:
        await self._session.rename(title)

    def subscribe(
        self, after: int, *, deltas: bool, follow: bool, until_given_up: bool = False
    ) -> AsyncGenerator[Item, None]:
        return self._session.subscribe(after, deltas=deltas, follow=follow)

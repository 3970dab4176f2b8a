"""A session that lives on a host: whatever is done with it is done there, and seen here once it was copied."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING, Any

from handrail.policy.answers.encoding import encode_answer
from handrail.server.hosts.commands import NOBODY
from handrail.sessions.asks import Actor, AnyAnswer
from handrail.sessions.feed import Item

if TYPE_CHECKING:
    from handrail.server.hosts.abroad import Hosts
    from handrail.store.base import SessionRow

__all__ = ["HostSeat"]


class HostSeat:
    """One session of a host, which fulfils `Seat`. Each call says so if the host is away."""

    is_mine = False
    is_copied = True

    def __init__(self, row: SessionRow, hosts: Hosts) -> None:
        self._row = row
        self._hosts = hosts

    async def send(self, content: Any, *, actor: Actor, uuid: str | None) -> str:
        return str(await self._call("send", actor, content=content, uuid=uuid))

    async def decide(self, ask_id: str, answer: AnyAnswer, *, actor: Actor, digest: str | None) -> None:
        await self._call("decide", actor, ask_id=ask_id, answer=encode_answer(answer), digest=digest)

    async def answer_lost(self, ask_id: str, answer: AnyAnswer, *, actor: Actor, digest: str | None) -> None:
        await self._call("answer_lost", actor, ask_id=ask_id, answer=encode_answer(answer), digest=digest)

    async def interrupt(self) -> None:
        await self._call("interrupt")

    async def stop(self) -> None:
        await self._call("stop")

    async def control(self, subtype: str, fields: dict[str, Any]) -> dict[str, Any]:
        return dict(await self._call("control", subtype=subtype, fields=fields) or {})

    async def set_permission_mode(self, mode: str) -> None:
        await self._call("set_permission_mode", mode=mode)

    async def set_model(self, model: str | None) -> None:
        await self._call("set_model", model=model)

    async def rename(self, title: str, *, by: str) -> None:
        await self._call("rename", Actor(by, "api"), title=title, by=by)

    def subscribe(
        self, after: int, *, deltas: bool, follow: bool, until_given_up: bool = False
    ) -> AsyncGenerator[Item, None]:
        feed = self._hosts.manager.copy_feed(self._row.id)
        move = feed.moves if until_given_up else None
        return feed.read(after, deltas=deltas, follow=follow, until_move_after=move)

    async def _call(self, method: str, actor: Actor = NOBODY, **params: Any) -> Any:
        return await self._hosts.do(self._row, method, actor=actor, **params)

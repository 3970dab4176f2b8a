"""One ask of a session, shown and answered alone: the session as somebody sees it who only came to answer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

import msgspec

from handrail.cli.asking.ask_view import Asking
from handrail.cli.asking.desk import Answerer
from handrail.cli.keyboard.keyboard import Keyboard, PromptInterrupted
from handrail.errors import DecisionRefused
from handrail.events.model import AskClosed, AskOpened, Delta, Event
from handrail.protocol.asks import Ask
from handrail.sessions.asks import Actor, AnyAnswer

if TYPE_CHECKING:
    from handrail.sessions.session import Session
    from handrail.store.base import AskRow, SessionRow

__all__ = ["LeavesOnInterrupt", "OneAsk", "UntilClosed"]


class UntilClosed:
    """Until the ask is over, whoever answered it."""

    is_closed = False

    def over(self, event: Event) -> bool:
        self.is_closed = self.is_closed or isinstance(event, AskClosed)
        return self.is_closed


class LeavesOnInterrupt:
    """Answers as another one does, but Ctrl-C at the ask only leaves: it was not this terminal that ran the turn."""

    def __init__(self, answerer: Answerer, keyboard: Keyboard) -> None:
        self._answerer = answerer
        self._keyboard = keyboard

    async def answer(self, ask: Ask, asking: Asking) -> AnyAnswer:
        try:
            return await self._answerer.answer(ask, asking)
        except PromptInterrupted:
            self._keyboard.on_leave()
            await asyncio.Future[None]()  # no answer comes any more
            raise


class OneAsk:
    """A session that says nothing but what becomes of one ask. `last_seq` is an event before the ask was read."""

    def __init__(self, session: Session, row: AskRow, *, last_seq: int) -> None:
        self.id = session.id
        self._session = session
        self._row = row
        self._last_seq = last_seq
        self._deciding: asyncio.Future[None] | None = None

    async def row(self) -> SessionRow:
        """The session, as of when the ask was read: what is behind that is news."""
        return msgspec.structs.replace(await self._session.row(), last_seq=self._last_seq)

    async def is_live(self) -> bool:
        return await self._session.is_live()

    async def subscribe(
        self, after: int = 0, *, deltas: bool = True, follow: bool = True
    ) -> AsyncGenerator[Event | Delta, None]:
        yield AskOpened(
            seq=self._last_seq,
            at=self._row.opened_at,
            ask_id=self._row.id,
            kind=self._row.kind,
            digest=self._row.digest,
            title=self._row.title,
            ask=msgspec.json.decode(self._row.body),
        )
        if not follow:
            return
        async with aclosing(self._session.subscribe(self._last_seq, deltas=False)) as items:
            async for item in items:
                if isinstance(item, AskOpened | AskClosed) and item.ask_id == self._row.id:
                    yield item

    async def decide(self, ask_id: str, answer: AnyAnswer, *, actor: Actor, digest: str | None = None) -> None:
        deciding = self._session.decide(ask_id, answer, actor=actor, digest=digest)
        self._deciding = asyncio.ensure_future(deciding)
        # That the ask is closed may be told before the owner's word that this answer closed it.
        await asyncio.shield(self._deciding)

    async def was_decided_here(self) -> bool:
        """Whether it was an answer from here that was taken."""
        if self._deciding is None:
            return False
        try:
            await self._deciding
        except DecisionRefused:
            return False
        return True

    async def send(self, content: Any, *, actor: Actor, uuid: str | None = None, resume: bool = True) -> str:
        return await self._session.send(content, actor=actor, uuid=uuid, resume=resume)

    async def interrupt(self) -> None:
        await self._session.interrupt()

    async def stop(self) -> None:
        await self._session.stop()

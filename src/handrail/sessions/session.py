"""A session as everybody else sees it: the same handle, whoever owns it.

Each call goes to where the session's CLI runs: this process, another one on this machine, another machine, or nowhere;
then the journal can still be read, and a message resumes the session.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING, Any, Protocol

from handrail.errors import AskClosed, SessionNotFound, SessionNotLive
from handrail.events.codec import decode_event
from handrail.events.model import Completed, Event, Prompt
from handrail.sessions.asks import Actor, AnyAnswer
from handrail.sessions.feed import Item
from handrail.store.base import AskRow, AskRowState, EventRow, FrameRow, SessionRow

if TYPE_CHECKING:
    from handrail.events.reduce import SessionView

__all__ = ["PYTHON", "Housekeeper", "JournalReader", "Seat", "Session"]

PYTHON = Actor("python", "python")
PAGE = 1_000
OVER = frozenset({"answered", "dropped", "lost"})


class Seat(Protocol):
    """Where a session lives: what can be done with it there."""

    is_mine: bool
    """Whether that is this process."""
    is_copied: bool
    """Whether that is another machine, whose journal is copied into the store here as it is written."""

    async def send(self, content: Any, *, actor: Actor, uuid: str | None) -> str: ...

    async def decide(self, ask_id: str, answer: AnyAnswer, *, actor: Actor, digest: str | None) -> None: ...

    async def answer_lost(self, ask_id: str, answer: AnyAnswer, *, actor: Actor, digest: str | None) -> None: ...

    async def interrupt(self) -> None: ...

    async def stop(self) -> None: ...

    async def control(self, subtype: str, fields: dict[str, Any]) -> dict[str, Any]: ...

    async def set_permission_mode(self, mode: str) -> None: ...

    async def set_model(self, model: str | None) -> None: ...

    async def rename(self, title: str, *, by: str) -> None: ...

    def subscribe(
        self, after: int, *, deltas: bool, follow: bool, until_given_up: bool = False
    ) -> AsyncGenerator[Item, None]:
        """As of a session; with `until_given_up` only for as long as it lives there."""


class JournalReader(Protocol):
    """What a handle reads: of a store, or of whoever reads one for it."""

    async def get_session(self, session_id: str) -> SessionRow | None: ...

    async def read(
        self, session_id: str, *, after: int = 0, before: int | None = None, limit: int = 1000
    ) -> list[EventRow]: ...

    async def asks(
        self, session_id: str | None = None, *, states: Sequence[AskRowState] = (), limit: int | None = None
    ) -> list[AskRow]: ...


class Housekeeper(Protocol):
    """What a handle needs of its manager."""

    @property
    def store(self) -> JournalReader: ...

    async def seat(self, session_id: str) -> Seat | None:
        """Where the session lives now; None if nowhere."""

    async def seat_here(self, session_id: str) -> Seat:
        """A seat of a session that lives nowhere: it is resumed now, or at the latest by what is done there next."""

    async def start_again(self, session_id: str) -> None:
        """Resume the session, unless it lives already."""

    def stored_items(self, session_id: str, after: int, *, deltas: bool, follow: bool) -> AsyncGenerator[Item, None]:
        """The journal, and what is added to it, by this process or by another that takes the session."""

    async def frames(self, session_id: str, *, after: int, limit: int) -> Sequence[FrameRow]:
        """Raw frames, from where the session ran."""

    async def export(self, session_id: str, format: str) -> str: ...

    async def change(self, session_id: str, **columns: Any) -> None:
        """Set what can be set without its CLI: title, archived."""

    async def delete(self, session_id: str) -> None: ...


class Session:
    """A durable conversation with Claude Code."""

    def __init__(self, session_id: str, keeper: Housekeeper) -> None:
        self.id = session_id
        self._keeper = keeper
        self._store = keeper.store

    def __repr__(self) -> str:
        return f"<Session {self.id}>"

    # ------------------------------------------------------------ what it is

    async def row(self) -> SessionRow:
        """What is known of it now. Raises `SessionNotFound` if it was deleted."""
        row = await self._store.get_session(self.id)
        if row is None:
            raise SessionNotFound(f"there is no session {self.id}")
        return row

    async def is_live(self) -> bool:
        """Whether a CLI runs for it, in whichever process."""
        return await self._keeper.seat(self.id) is not None

    async def is_mine(self) -> bool:
        """Whether its CLI runs in this process, and ends with it."""
        seat = await self._keeper.seat(self.id)
        return seat is not None and seat.is_mine

    async def events(self, *, after: int = 0, before: int | None = None, limit: int = 1000) -> list[Event]:
        """Events behind number `after`, in order; with `before`, the last ones of those below it."""
        rows = await self._store.read(self.id, after=after, before=before, limit=limit)
        return [decode_event(row.body) for row in rows]

    async def subscribe(
        self, after: int = 0, *, deltas: bool = True, follow: bool = True
    ) -> AsyncGenerator[Item, None]:
        """Every event behind number `after`, without gap or duplicate, with deltas of what is being written between.

        Ends at the last event with `follow=False`. Otherwise it goes on until you leave, whichever process takes the
        session meanwhile; but if another one owned it when you came, it ends with that.
        """
        seat = await self._keeper.seat(self.id)
        if seat is None or seat.is_mine or seat.is_copied or not follow:
            items = self._keeper.stored_items(self.id, after, deltas=deltas, follow=follow)
        else:
            items = self._elsewhere(seat, after, deltas=deltas)
        async with aclosing(items):
            async for item in items:
                yield item

    async def _elsewhere(self, seat: Seat, after: int, *, deltas: bool) -> AsyncGenerator[Item, None]:
        """What another process says, and, once it is gone, what it left in the journal."""
        cursor = after
        try:
            async with aclosing(seat.subscribe(after, deltas=deltas, follow=True)) as items:
                async for item in items:
                    cursor = item.seq if isinstance(item, Event) else cursor
                    yield item
        except SessionNotLive:
            pass
        async with aclosing(self._keeper.stored_items(self.id, cursor, deltas=False, follow=False)) as rest:
            async for item in rest:
                yield item

    async def frames(self, *, after: int = 0, limit: int = 1000) -> Sequence[FrameRow]:
        """Lines of the wire, in order, whose `number` is above `after`. The oldest may have been removed by now."""
        return await self._keeper.frames(self.id, after=after, limit=limit)

    async def view(self) -> SessionView:
        """Everything a screen needs, as of the last event."""
        from handrail.events.reduce import SessionView, reduce

        view = SessionView()
        async for event in self.subscribe(deltas=False, follow=False):
            view = reduce(view, event)
        return view

    async def asks(self, states: Sequence[AskRowState] = ("pending",)) -> list[AskRow]:
        """Its asks, oldest first."""
        return await self._store.asks(self.id, states=states)

    # ------------------------------------------------------------ what people do with it

    async def send(self, content: Any, *, actor: Actor = PYTHON, uuid: str | None = None, resume: bool = True) -> str:
        """Send a message; returns its uuid. It is stored when this returns. A session that is not live is resumed.

        If it raises a `StoreError`, the message may still have got to the store: its journal shows that. Sent again
        with the same `uuid`, it is the same message.
        """
        seat = await self._keeper.seat(self.id)
        if seat is None and not resume:
            raise SessionNotLive(f"no CLI runs for session {self.id[:8]}: resume it first")
        if seat is not None:
            try:
                return await seat.send(content, actor=actor, uuid=uuid)
            except SessionNotLive:  # it ended in this very moment, and may have taken the message
                if not resume or uuid is None:
                    raise
        return await (await self._keeper.seat_here(self.id)).send(content, actor=actor, uuid=uuid)

    async def run(self, content: Any, *, actor: Actor = PYTHON) -> Completed:
        """Send a message and wait until Claude is done with it."""
        after = (await self.row()).last_seq
        return await self.wait(await self.send(content, actor=actor), after=after)

    async def wait(self, uuid: str, *, after: int = 0) -> Completed:
        """The end of the run that answers the message `uuid`; `after` is an event before which it was not sent.

        A message that the CLI dropped, or that was lost with its process, gives a `Completed` that says so.
        """
        completed: dict[int, Completed] = {}
        async with aclosing(self.subscribe(after, deltas=False)) as items:
            async for item in items:
                if isinstance(item, Completed) and item.run is not None:
                    completed[item.run] = item
                if isinstance(item, Prompt) and item.uuid == uuid and item.state in OVER:
                    found = completed.get(item.answered_by or 0)
                    return found or Completed(ok=False, error=item.reason or f"the message was {item.state}")
        raise SessionNotLive(f"session {self.id[:8]} ended before the message was answered")

    async def decide(
        self,
        ask_id: str,
        answer: AnyAnswer,
        *,
        actor: Actor = PYTHON,
        digest: str | None = None,
        resume: bool = False,
    ) -> None:
        """Answer an ask. The first answer wins.

        If the process that asked has ended, the answer is refused with `AskClosed`; with `resume` the session is
        resumed and told of it, and if it makes exactly the same call again, that one call is allowed.

        Raises a `DecisionRefused`.
        """
        seat = await self._keeper.seat(self.id)  # first: this may find that the process has ended
        lost = any(row.id == ask_id for row in await self.asks(("lost", "unsent")))
        if lost and resume:
            await self._answer_lost(seat, ask_id, answer, actor, digest)
        elif seat is not None and not lost:
            await seat.decide(ask_id, answer, actor=actor, digest=digest)
        else:
            raise _gone(ask_id, await self._store.asks(self.id))

    async def _answer_lost(
        self, seat: Seat | None, ask_id: str, answer: AnyAnswer, actor: Actor, digest: str | None
    ) -> None:
        if seat is not None:
            with suppress(SessionNotLive):  # it ended in this very moment
                await seat.answer_lost(ask_id, answer, actor=actor, digest=digest)
                return
        await (await self._keeper.seat_here(self.id)).answer_lost(ask_id, answer, actor=actor, digest=digest)

    async def interrupt(self) -> None:
        """Stop what runs now. The session goes on."""
        await (await self._live()).interrupt()

    async def stop(self) -> None:
        """End its CLI and everything that started. Does nothing if none runs. The session can be resumed."""
        seat = await self._keeper.seat(self.id)
        if seat is not None:
            await seat.stop()

    async def resume(self) -> None:
        """Start its CLI again, in this process, unless it runs."""
        if await self._keeper.seat(self.id) is None:
            await self._keeper.start_again(self.id)

    async def control(self, subtype: str, **fields: Any) -> dict[str, Any]:
        """Make any control request of the protocol."""
        return await (await self._live()).control(subtype, fields)

    async def set_permission_mode(self, mode: str) -> None:
        """Change the permission mode."""
        await (await self._live()).set_permission_mode(mode)

    async def set_model(self, model: str | None) -> None:
        """Change the model; None for the default one."""
        await (await self._live()).set_model(model)

    async def rename(self, title: str, *, actor: Actor = PYTHON) -> None:
        """Give it another title."""
        seat = await self._keeper.seat(self.id)
        if seat is None:
            await self._keeper.change(self.id, title=title)
        else:
            await seat.rename(title, by=actor.name)

    async def archive(self, archived: bool = True) -> None:
        """Take it off the usual lists, or put it back."""
        await self._keeper.change(self.id, archived=archived)

    async def export(self, format: str = "markdown") -> str:
        """The whole session as one document: markdown, html or jsonl."""
        return await self._keeper.export(self.id, format)

    async def delete(self) -> None:
        """Remove it and everything that was stored of it. Its CLI must not run."""
        await self._keeper.delete(self.id)

    async def _live(self) -> Seat:
        seat = await self._keeper.seat(self.id)
        if seat is None:
            raise SessionNotLive(f"no CLI runs for session {self.id[:8]}: resume it first")
        return seat


def _gone(ask_id: str, asks: Sequence[AskRow]) -> AskClosed:
    """Why an ask cannot be answered: no process waits for it."""
    row = next((row for row in asks if row.id == ask_id), None)
    if row is None:
        return AskClosed(f"this session has no ask {ask_id}", state="unknown")
    if row.state in ("lost", "unsent", "pending"):
        return AskClosed(
            "the process that asked has ended; an answer can resume the session and allow exactly this once",
            state="lost",
        )
    return AskClosed(f"the ask {ask_id} is closed: {row.state}", state=row.state)

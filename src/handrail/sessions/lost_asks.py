"""Asks whose process has ended, and the answers that people give them all the same."""

from __future__ import annotations

import asyncio
import time
from typing import Protocol

import msgspec

from handrail import errors
from handrail.errors import StaleDigest
from handrail.events.model import AskClosed, Event
from handrail.policy.answers.encoding import encode_answer
from handrail.protocol.asks import Ask
from handrail.sessions.ask_records import ask_of
from handrail.sessions.asks import Actor, AnyAnswer
from handrail.sessions.journal import Journal
from handrail.sessions.once import OnceGrant, message_about
from handrail.sessions.outbox import message_row
from handrail.store.base import AskRow, MessageRow, Store

__all__ = ["LostAsks"]


class Take(Protocol):
    """Puts a message for Claude into the journal, together with the answer that it tells of."""

    def __call__(self, row: MessageRow, closed: Event, ask: AskRow, /) -> None: ...


class LostAsks:
    """The lost asks of one session, which is live again: Claude is told the answer, and one call may pass, once."""

    def __init__(self, session_id: str, store: Store, journal: Journal, *, take: Take) -> None:
        self._session_id = session_id
        self._store = store
        self._journal = journal
        self._take = take
        self._grants: list[OnceGrant] = []
        self._one_at_a_time = asyncio.Lock()

    async def answer(self, ask_id: str, answer: AnyAnswer, *, actor: Actor, digest: str | None) -> None:
        """Answer an ask whose process has ended. The first answer wins. Raises `AskClosed` or `StaleDigest`."""
        async with self._one_at_a_time:
            await self._journal.stored()  # so that an answer which was given a moment ago is seen
            row = await self._lost(ask_id, actor, digest)
            ask = ask_of(msgspec.json.decode(row.body))
            encoded = encode_answer(answer)
            answered = msgspec.structs.replace(
                row,
                state="resumed",
                answer=msgspec.json.encode(encoded),
                decided_by=actor.name,
                surface=actor.surface,
                decided_at=time.time(),
            )
            closed = AskClosed(ask_id=ask_id, outcome="resumed", answer=encoded, by=actor.name, surface=actor.surface)
            # In one step, so that whoever answers can go away, and Handrail can end, at any time: Claude is told.
            self._take(message_row(message_about(ask, answer), actor, uuid=None, at=time.time()), closed, answered)
            grant = OnceGrant.for_answer(ask, answer, actor)
            if grant is not None:
                self._grants.append(grant)
            await self._journal.stored()

    def grant_for(self, ask: Ask) -> OnceGrant | None:
        """The grant that lets this ask pass, if there is one. It is used up."""
        grant = next((grant for grant in self._grants if grant.fits(ask)), None)
        if grant is not None:
            self._grants.remove(grant)
        return grant

    async def _lost(self, ask_id: str, actor: Actor, digest: str | None) -> AskRow:
        row = next((row for row in await self._store.asks(self._session_id) if row.id == ask_id), None)
        if row is None or row.state not in ("lost", "unsent"):
            state = row.state if row is not None else "unknown"
            by = f", by {row.decided_by}" if row is not None and row.decided_by else ""
            raise errors.AskClosed(f"the ask {ask_id} cannot be answered any more: it is {state}{by}", state=state)
        if digest is None and actor.is_remote:
            raise StaleDigest(f"an answer from {actor.surface} must carry the digest of the ask that was shown")
        if digest is not None and digest != row.digest:
            raise StaleDigest("the digest is not that of this ask: look again")
        return row

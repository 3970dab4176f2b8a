"""Asks whose process has ended, and the answers that people give them all the same."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterable
from typing import Any, Protocol
from uuid import UUID, uuid5

import msgspec

from handrail import errors
from handrail.errors import StaleDigest, UnfitAnswer
from handrail.events.model import AskClosed, Event
from handrail.policy.answers.encoding import decode_answer, encode_answer
from handrail.policy.files import Files
from handrail.protocol.asks import Ask
from handrail.sessions.ask_records import ask_of
from handrail.sessions.asks import Actor, AnyAnswer
from handrail.sessions.journal import Journal
from handrail.sessions.once import OnceGrant, message_about
from handrail.sessions.outbox import message_row
from handrail.sessions.survey import Surveyor
from handrail.store.base import AskRow, MessageRow, Store

__all__ = ["LostAsks"]

logger = logging.getLogger("handrail.session")

MESSAGES = UUID("0b9b1c1e-6a0f-5f0e-9d3b-6f6c8a9f1d52")
"""In which the messages that tell of answers have their names."""
ON_ITS_WAY = ("queued", "sent", "started")


class Take(Protocol):
    """Puts an answer into the journal, together with the message that tells Claude of it, if it has to be told."""

    def __call__(self, row: MessageRow | None, closed: Event, ask: AskRow, /) -> None: ...


class LostAsks:
    """The lost asks of one session, which is live again: Claude is told the answer, and one call may pass, once.

    An answer that nobody has used yet survives the end of Handrail. It holds until Claude is done with the message that
    tells of it: what is asked later is asked for another reason. `waiting` tells what waits for an answer now, and
    `files` are those that edits would change.
    """

    def __init__(
        self,
        session_id: str,
        store: Store,
        journal: Journal,
        *,
        take: Take,
        waiting: Callable[[], Iterable[Ask]],
        files: Files,
    ) -> None:
        self._session_id = session_id
        self._store = store
        self._journal = journal
        self._take = take
        self._waiting = waiting
        self._surveyor = Surveyor(files, home="")
        self._grants: list[OnceGrant] = []
        self._one_at_a_time = asyncio.Lock()

    async def recall(self) -> None:
        """Find the answers of before that Claude was told of: Handrail may have ended before they were used."""
        answered = await self._store.asks(self._session_id, states=("resumed",))
        if not answered:
            return
        used = {row.granted_by for row in await self._store.asks(self._session_id)}
        told = {message.uuid for message in await self._store.messages(self._session_id)}
        left = (row for row in answered if row.id not in used and _name_of_message(self._session_id, row.id) in told)
        self._grants = [grant for row in left if (grant := _grant_of(row)) is not None]

    async def answer(self, ask_id: str, answer: AnyAnswer, *, actor: Actor, digest: str | None) -> None:
        """Answer an ask whose process has ended. The first answer wins. Raises `AskClosed` or `StaleDigest`."""
        async with self._one_at_a_time:
            await self._journal.stored()  # so that an answer which was given a moment ago is seen
            row = await self._lost(ask_id, actor, digest)
            ask, now = ask_of(msgspec.json.decode(row.body)), time.time()
            grant = OnceGrant.for_answer(ask, answer, actor, at=now)
            told: MessageRow | None = None
            if grant is None or not any(self._is_for(grant, waiting) for waiting in self._waiting()):
                words = message_about(ask, answer, in_doubt=row.state == "unsent")
                told = message_row(words, actor, uuid=_name_of_message(self._session_id, ask_id), at=now)
            # In one step, so that whoever answers can go away, and Handrail can end, at any time: Claude is told.
            self._take(told, *_answered(row, encode_answer(answer), actor, now))
            if grant is not None:
                self._grants.append(grant)
            await self._journal.stored()

    def grant_for(self, ask: Ask) -> OnceGrant | None:
        """The grant that lets this ask pass, if there is one. Nobody else gets it."""
        grant = next((grant for grant in self._grants if self._is_for(grant, ask)), None)
        if grant is not None:
            self._grants.remove(grant)
        return grant

    async def holds(self, grant: OnceGrant) -> bool:
        """Whether Claude may still be about to make the call again that was allowed."""
        await self._journal.stored()
        name = _name_of_message(self._session_id, grant.lost.id)
        messages = await self._store.messages(self._session_id)
        told = next((message.state for message in messages if message.uuid == name), "lost")
        if told != "lost":
            return told in ON_ITS_WAY
        # Claude may have got it before its process ended, and takes it up in whatever run comes next.
        return not any(run.ok and run.started_at > grant.at for run in await self._store.runs(self._session_id))

    def _is_for(self, grant: OnceGrant, ask: Ask) -> bool:
        """Whether `ask` is for what was allowed, and would do what was shown: the file it edits is as it was."""
        return grant.fits(ask) and self._surveyor.look_again(grant.lost).digest == grant.lost.digest

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


def _answered(row: AskRow, answer: dict[str, Any], actor: Actor, at: float) -> tuple[AskClosed, AskRow]:
    closed = AskClosed(
        ask_id=row.id, outcome="resumed", answer=answer, by=actor.name, surface=actor.surface, decided_at=at
    )
    changed = msgspec.structs.replace(
        row,
        state="resumed",
        answer=msgspec.json.encode(answer),
        decided_by=actor.name,
        surface=actor.surface,
        decided_at=at,
    )
    return closed, changed


def _grant_of(row: AskRow) -> OnceGrant | None:
    try:
        ask = ask_of(msgspec.json.decode(row.body))
        answer = decode_answer(msgspec.json.decode(row.answer or b"null"))
    except (msgspec.MsgspecError, UnfitAnswer) as error:  # stored by another version
        logger.info("the answer to %s is not understood, and will not be used: %s", row.id, error)
        return None
    return OnceGrant.for_answer(ask, answer, Actor(row.decided_by, row.surface), at=row.decided_at or 0.0)


def _name_of_message(session_id: str, ask_id: str) -> str:
    """An ask is answered so once, so that one message tells of it."""
    return str(uuid5(MESSAGES, f"{session_id} {ask_id}"))

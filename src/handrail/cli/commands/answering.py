"""Answering one ask from another process than the session's: show it whole, take the answer, hand it to the owner."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

import msgspec

from handrail.cli.asking.ask_view import Asking, ask_panel, question_panel
from handrail.cli.attachment import follow
from handrail.cli.commands.ask_list import ask_in
from handrail.cli.commands.failures import ExitCode
from handrail.cli.commands.live import until_idle
from handrail.cli.commands.one_ask import LeavesOnInterrupt, OneAsk, UntilClosed
from handrail.cli.commands.story import answer_words
from handrail.cli.commands.typed_answers import Typed, answer_from, words_for
from handrail.cli.commands.wording import short_id
from handrail.cli.inside_session import refuse_inside_session
from handrail.cli.surface import Surface, make_surface
from handrail.errors import AlreadyDecided, AskClosed, DecisionRefused, UnfitAnswer
from handrail.events.model import AskClosed as Closed
from handrail.policy.answers.encoding import encode_answer
from handrail.policy.describing.outcomes import UNSENT
from handrail.sessions.ask_records import plan_context_of

if TYPE_CHECKING:
    from handrail.cli.commands.workplace import Workplace
    from handrail.sessions.asks import AnyAnswer
    from handrail.store.base import AskRow

__all__ = ["Answering", "the_one_ask"]

TAKEN_UP = ("lost", "unsent")
"""Asks that nobody answered before their session ended, or whose answer may not have been told."""

CLOSED = {
    "cancelled": "Claude Code no longer wants an answer",
    "expired": "nobody answered in time, and Claude Code was told so",
}


def the_one_ask(rows: list[AskRow], reference: str) -> AskRow:
    """The ask that is meant. One that waits goes before others. Raises `AskClosed`."""
    exact = [row for row in rows if row.id == reference] or rows
    waiting = [row for row in exact if row.state == "pending"] or exact
    if len(waiting) == 1:
        return waiting[0]
    if not rows:
        raise AskClosed(f"there is no ask {reference!r}: handrail asks lists what waits", state="unknown")
    listed = "; ".join(f"{row.id} in session {short_id(row.session_id)} ({row.title})" for row in waiting)
    raise AskClosed(f"{reference!r} fits {len(waiting)} asks: {listed}", state="unknown")


class Answering:
    """One ask and whoever answers it here."""

    def __init__(self, place: Workplace, row: AskRow) -> None:
        self._place = place
        self._row = row
        self._ask = ask_in(row)
        self._context = plan_context_of(msgspec.json.decode(row.body))
        self._session = place.manager.session(row.session_id)

    async def go(self, typed: Typed, digest: str | None, *, resume: bool) -> int | None:
        """Answer it as was typed, or as the person says who is asked now; `digest` is that of what a program saw."""
        if self._row.state in TAKEN_UP:
            return await self._take_up(typed, digest, resume=resume)
        if self._row.state != "pending":
            raise _refusal(self._row)
        if not typed.says_something:
            return await self._ask_person()
        answer = self._shown_answer(typed, digest)
        await self._session.decide(self._row.id, answer, actor=self._place.actor, digest=digest or self._row.digest)
        self._place.done(answer_words(encode_answer(answer)))
        return None

    def _shown_answer(self, typed: Typed, digest: str | None) -> AnyAnswer:
        """What was typed; what it is the answer to is shown, unless a program says that it knows."""
        answer = answer_from(typed, self._ask, self._context)
        if digest is None:
            self._show()
        return answer

    async def _ask_person(self) -> int:
        """Show the ask and take the person's keys; it goes away as soon as somebody else has answered."""
        if not self._place.has_person:
            words = ", ".join(words_for(self._ask, self._context))
            raise UnfitAnswer(f"there is nobody to ask here: say one of {words} behind the ask's id")
        last_seq = (await self._session.row()).last_seq
        current = await self._place.ask(self._row.id)
        if current.state != "pending":
            raise _refusal(current)
        alone = OneAsk(self._session, current, last_seq=last_seq)
        until = UntilClosed()
        await follow(alone, surface=_surface(), actor=self._place.actor, until=until, after=last_seq, detaches=True)
        if await alone.was_decided_here():
            return ExitCode.OK
        if until.is_closed:
            return ExitCode.REFUSED
        self._place.remark("nothing was answered")
        return ExitCode.INTERRUPTED

    # ------------------------------------------------------------ asks whose session has ended

    async def _take_up(self, typed: Typed, digest: str | None, *, resume: bool) -> int:
        """Resume the session with the answer. What was asked is allowed once, if exactly that is called again."""
        refuse_inside_session()
        if not typed.says_something and self._place.has_person and not resume:
            self._show()
            if not self._place.confirmed("Its session has ended. Resume it here, and allow exactly this once?"):
                self._place.remark("nothing was answered")
                return ExitCode.FAILED
            typed = Typed(word="allow")
        elif not resume:
            raise _needs_resume(self._row)
        answer = self._shown_answer(typed, digest)
        before = (await self._session.row()).last_seq
        await self._session.decide(
            self._row.id, answer, actor=self._place.actor, digest=digest or self._row.digest, resume=True
        )
        self._place.done(answer_words(encode_answer(answer)))
        return await until_idle(self._place, self._session, after=await self._seq_of_answer(before))

    async def _seq_of_answer(self, before: int) -> int:
        """The event that tells of this answer; what is behind it is news."""
        events = await self._session.events(after=before)
        told = (event.seq for event in events if isinstance(event, Closed) and event.ask_id == self._row.id)
        return max(told, default=before)

    def _show(self) -> None:
        """Show all of what is answered. It stays on the screen, or in the log, with the answer below it."""
        asking = Asking(plan=self._context)
        if self._ask.kind == "question":
            for question in self._ask.questions:
                self._place.print(question_panel(question, asking))
        else:
            self._place.print(ask_panel(self._ask, asking))


def _surface() -> Surface:
    surface = make_surface(without="leave")
    if surface.keyboard is None or surface.answerer is None:
        return surface
    return replace(surface, answerer=LeavesOnInterrupt(surface.answerer, surface.keyboard))


def _needs_resume(row: AskRow) -> AskClosed:
    why = "its session ended before it was answered"
    if row.state == "unsent":
        why = f"it was answered by {row.decided_by}, but {UNSENT}; look whether it was carried out"
    return AskClosed(
        f"{why}: resume the session and allow exactly this once with handrail answer {row.id} allow --resume",
        state=row.state,
    )


def _refusal(row: AskRow) -> DecisionRefused:
    """Why this ask cannot be answered any more."""
    if row.state in ("decided", "sent", "resumed") and row.decided_at is not None:
        when = datetime.fromtimestamp(row.decided_at).astimezone().strftime("%Y-%m-%d %H:%M:%S")
        who = f"{row.decided_by} ({row.surface})" if row.surface else row.decided_by
        how = f": {answer_words(msgspec.json.decode(row.answer))}" if row.answer is not None else ""
        return AlreadyDecided(f"already decided by {who}, {when}{how}", actor=who, at=row.decided_at)
    return AskClosed(f"this ask is closed: {CLOSED.get(row.state, row.state)}", state=row.state)

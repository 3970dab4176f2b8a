"""The asks of one session: who answered what, once. Nothing else changes the state of an ask.

Whoever answers (a person, a callback, a policy, a hook) calls `AskBook.decide`; the first answer wins. An ask is opened
with a `Correspondent`, which turns an answer into what is sent, and sends it.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Protocol, TypeAlias

import msgspec

from handrail.errors import AlreadyDecided, AskClosed, LocalProtocolError, SelfApproval, StaleDigest, UnfitAnswer
from handrail.policy.answers.plan import PlanAnswer
from handrail.protocol.asks import Answer, Ask
from handrail.protocol.state import ASKS, AskState, Move, next_state

__all__ = ["ActionParcel", "Actor", "AnyAnswer", "AskBook", "AskChange", "Correspondent", "Decision", "Parcel"]

REMEMBERED_ASKS = 1_000
"""How many closed asks are remembered, so that a late answer can be told what became of the ask."""

LOCAL_SURFACES = frozenset({"python", "callback", "hook", "policy", "terminal"})
"""Surfaces inside this process. They see the ask itself; every other one saw a copy, and must name its digest."""


AnyAnswer: TypeAlias = Answer | PlanAnswer
"""Whatever an ask can be answered with; which answers fit depends on its kind."""


class Actor(msgspec.Struct, frozen=True):
    """Who answers: a name, the surface they use, and the process the answer comes from, if it is another one."""

    name: str
    surface: str = "python"
    pid: int | None = None
    granted_by: str = ""
    """The ask that they answered, if it was not this one: its process had ended, and this one asks for the same."""

    @property
    def is_remote(self) -> bool:
        return self.surface not in LOCAL_SURFACES

    def __str__(self) -> str:
        return f"{self.name} ({self.surface})"


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """The one answer that an ask got: what, by whom, when, and the digest of what it was given for."""

    ask_id: str
    answer: AnyAnswer
    actor: Actor
    at: float
    """Seconds since the epoch."""
    digest: str


class AskChange(msgspec.Struct, frozen=True, kw_only=True):
    """An ask was opened, changed, or moved on: what a surface needs to show it, or to take it off the screen."""

    ask: Ask
    state: AskState
    decision: Decision | None = None


class Parcel(Protocol):
    """An answer that fits its ask, ready to be sent."""

    def send(self, decision: Decision) -> None:
        """Send it, as the answer that was decided on. Called at most once."""
        ...


class ActionParcel(msgspec.Struct, frozen=True):
    """A parcel whose sending is one action."""

    action: Callable[[Decision], None]

    def send(self, decision: Decision) -> None:
        self.action(decision)


class Correspondent(Protocol):
    """Whoever waits for the answer to an ask."""

    def prepare(self, ask: Ask, answer: AnyAnswer) -> Parcel:
        """`answer`, ready to be sent. Raises `UnfitAnswer` if it does not fit the ask."""
        ...

    def unanswered(self, ask: Ask, seconds: float) -> None:
        """Say that nobody answered within `seconds`."""
        ...

    def look_again(self, ask: Ask) -> Ask:
        """The ask as it is now: the same object, or a new one with another digest if what it is about has changed."""
        ...


class _Closed(msgspec.Struct, frozen=True):
    """What is remembered of an ask that is closed: not what it was about, which can be large."""

    state: AskState
    decided_by: Actor | None
    decided_at: float


class _Entry(msgspec.Struct, eq=False):
    ask: Ask
    correspondent: Correspondent
    state: AskState = AskState.PENDING
    decision: Decision | None = None
    expiry: asyncio.TimerHandle | None = None
    overdue: float | None = None
    """After how many seconds it should have expired, if a decision was being recorded just then."""


Record = Callable[[Decision], Awaitable[None]]
"""Writes a decision down, before it is sent."""


class AskBook:
    """Every ask of one session.

    `on_change` hears of each change. `record` is awaited with each decision before it is sent; if it fails, the ask is
    pending again and whoever decided gets the error. `is_own_process` tells whether a session started a process.
    """

    def __init__(
        self,
        *,
        on_change: Callable[[AskChange], None] = lambda change: None,
        record: Record | None = None,
        is_own_process: Callable[[int], bool] = lambda pid: False,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._on_change = on_change
        self._record = record
        self._is_own_process = is_own_process
        self._clock = clock
        self._pending: dict[str, Ask] = {}
        self._entries: dict[str, _Entry] = {}
        self._closed: OrderedDict[str, _Closed] = OrderedDict()
        self._recording: set[asyncio.Task[Decision]] = set()

    @property
    def pending(self) -> Mapping[str, Ask]:
        """What waits for an answer, by id, oldest first. A view: it follows what happens."""
        return MappingProxyType(self._pending)

    def open(self, ask: Ask, correspondent: Correspondent, *, expire_after: float | None = None) -> None:
        """Take an ask on. With `expire_after` it waits for so many seconds, otherwise for as long as it takes."""
        if ask.id in self._entries:
            raise LocalProtocolError(f"the ask {ask.id} is open already")
        entry = _Entry(ask, correspondent)
        self._entries[ask.id] = entry
        self._pending[ask.id] = ask
        if expire_after is not None:
            entry.expiry = asyncio.get_running_loop().call_later(expire_after, self.expire, ask.id, expire_after)
        self._tell(entry)

    async def decide(self, ask_id: str, answer: AnyAnswer, *, actor: Actor, digest: str | None = None) -> Decision:
        """Answer an ask. The first answer wins.

        Raises `AlreadyDecided`, `AskClosed`, `StaleDigest`, `SelfApproval` or `UnfitAnswer`; the ask is then as it was.
        """
        entry = self._answerable(ask_id)
        self._check_actor(entry, actor)
        self._check_digest(entry, actor, digest)
        parcel = _prepared(entry, answer)
        decision = Decision(ask_id=ask_id, answer=answer, actor=actor, at=self._clock(), digest=entry.ask.digest)
        self._move(entry, Move.DECIDE, decision)
        if self._record is None:
            return self._send(entry, decision, parcel)
        # Of its own, so that it is seen through if whoever decided goes away meanwhile: it may be stored already.
        task = asyncio.get_running_loop().create_task(self._record_and_send(entry, decision, parcel, self._record))
        self._recording.add(task)
        task.add_done_callback(self._recorded)
        return await asyncio.shield(task)

    def cancel(self, ask_id: str) -> None:
        """The CLI no longer wants an answer."""
        entry = self._entries.get(ask_id)
        if entry is not None:
            self._move(entry, Move.CANCEL, entry.decision)

    def expire(self, ask_id: str, seconds: float) -> None:
        """Nobody answered within `seconds`. A decision that is being recorded goes first, if it succeeds."""
        entry = self._entries.get(ask_id)
        if entry is None:
            return
        if entry.state is AskState.DECIDED:
            entry.overdue = seconds
            return
        self._move(entry, Move.EXPIRE, None)
        entry.correspondent.unanswered(entry.ask, seconds)

    def lose(self) -> None:
        """The process that asked is gone."""
        for entry in list(self._entries.values()):
            self._move(entry, Move.LOSE, entry.decision)

    def update(self, ask: Ask) -> None:
        """More is known about a pending ask now."""
        entry = self._entries.get(ask.id)
        if entry is not None and entry.state is AskState.PENDING:
            entry.ask = self._pending[ask.id] = ask
            self._tell(entry)

    # ------------------------------------------------------------ may this be answered, so, by them?

    def _answerable(self, ask_id: str) -> _Entry:
        entry = self._entries.get(ask_id)
        if entry is not None and entry.state is AskState.PENDING:
            return entry
        if entry is not None:
            raise _refusal(entry.state, entry.decision)
        closed = self._closed.get(ask_id)
        if closed is None:
            raise AskClosed(f"there is no ask {ask_id!r}, or it was closed long ago", state="unknown")
        raise _refusal(closed.state, closed)

    def _check_actor(self, entry: _Entry, actor: Actor) -> None:
        if actor.pid is not None and self._is_own_process(actor.pid):
            raise SelfApproval(
                f"process {actor.pid} was started by the session that asks, and a session cannot answer for itself: "
                "answer from a terminal or page of your own"
            )

    def _check_digest(self, entry: _Entry, actor: Actor, digest: str | None) -> None:
        if digest is None and actor.is_remote:
            raise StaleDigest(f"an answer from {actor.surface} must carry the digest of the ask that was shown")
        if digest is not None and digest != entry.ask.digest:
            raise StaleDigest("the digest is not that of this ask: what was shown is not what is asked; look again")
        current = entry.correspondent.look_again(entry.ask)
        if current.digest != entry.ask.digest:
            self.update(current)
            if digest is not None:
                raise StaleDigest("what the ask would change has changed since it was shown: look again, then answer")

    # ------------------------------------------------------------ the one place where the state changes

    def _move(self, entry: _Entry, move: Move, decision: Decision | None) -> None:
        state = next_state(ASKS, entry.state, move)
        if state is None:
            return
        entry.state = state
        entry.decision = decision
        if state is AskState.PENDING:
            self._pending[entry.ask.id] = entry.ask
        else:
            self._pending.pop(entry.ask.id, None)
        if not ASKS[state]:
            self._close(entry)
        self._tell(entry)

    async def _record_and_send(self, entry: _Entry, decision: Decision, parcel: Parcel, record: Record) -> Decision:
        try:
            await record(decision)
        except BaseException:
            self._move(entry, Move.WITHDRAW, None)
            if entry.overdue is not None:
                self.expire(entry.ask.id, entry.overdue)
            raise
        return self._send(entry, decision, parcel)

    def _recorded(self, task: asyncio.Task[Decision]) -> None:
        self._recording.discard(task)
        if not task.cancelled():
            task.exception()  # if whoever decided has gone away, nobody needs to know: the ask is pending again

    def _send(self, entry: _Entry, decision: Decision, parcel: Parcel) -> Decision:
        if next_state(ASKS, entry.state, Move.SEND) is None:  # it was closed while the decision was being recorded
            raise _refusal(entry.state, entry.decision)
        parcel.send(decision)
        self._move(entry, Move.SEND, decision)
        return decision

    def _close(self, entry: _Entry) -> None:
        if entry.expiry is not None:
            entry.expiry.cancel()
        self._entries.pop(entry.ask.id, None)
        decision = entry.decision
        self._closed[entry.ask.id] = _Closed(
            entry.state, decision.actor if decision else None, decision.at if decision else 0.0
        )
        if len(self._closed) > REMEMBERED_ASKS:
            self._closed.popitem(last=False)

    def _tell(self, entry: _Entry) -> None:
        self._on_change(AskChange(ask=entry.ask, state=entry.state, decision=entry.decision))


def _prepared(entry: _Entry, answer: AnyAnswer) -> Parcel:
    try:
        return entry.correspondent.prepare(entry.ask, answer)
    except (TypeError, ValueError, AttributeError, LookupError) as error:  # it is not even made as an answer should be
        raise UnfitAnswer(f"this {type(answer).__name__} is malformed: {type(error).__name__}: {error}") from error


def _refusal(state: AskState, decided: Decision | _Closed | None) -> AlreadyDecided | AskClosed:
    """Why an ask cannot be answered any more."""
    actor, at = _who_and_when(decided)
    if state in (AskState.DECIDED, AskState.SENT) and actor is not None:
        when = datetime.fromtimestamp(at, UTC).isoformat(sep=" ", timespec="seconds")
        return AlreadyDecided(f"already decided by {actor}, {when}", actor=str(actor), at=at)
    words = {
        AskState.CANCELLED: "the CLI no longer wants an answer",
        AskState.EXPIRED: "nobody answered in time, and the CLI was told so",
        AskState.LOST: "the process that asked has ended",
    }
    return AskClosed(f"this ask is closed: {words[state]}", state=state.value)


def _who_and_when(decided: Decision | _Closed | None) -> tuple[Actor | None, float]:
    match decided:
        case Decision(actor=actor, at=at):
            return actor, at
        case _Closed(decided_by=actor, decided_at=at):
            return actor, at
    return None, 0.0

"""Writes the asks of a live session into its journal: each when it opens, when it changes, and what became of it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

import msgspec

from handrail.errors import StoreError
from handrail.events.model import AskClosed, AskOpened
from handrail.policy.answers.encoding import encode_answer
from handrail.policy.answers.plan import PlanContext
from handrail.protocol.asks import Ask
from handrail.protocol.state import AskState
from handrail.sessions.ask_records import ask_record, title_of
from handrail.sessions.asks import AskChange, Decision
from handrail.sessions.journal import Journal
from handrail.store.base import AskRow, AskRowState, DecisionRow, Store

__all__ = ["AskJournal"]

RECORDING_PATIENCE = 15.0
"""How long a decision may wait for the store, before whoever decided is told that it cannot be stored."""

OUTCOMES: dict[AskState, AskRowState] = {
    AskState.SENT: "sent",
    AskState.CANCELLED: "cancelled",
    AskState.EXPIRED: "expired",
    AskState.LOST: "lost",
}


class AskJournal:
    """The asks of one session on their way into the journal.

    Changes are written behind the frames that arrived together with them, so that an ask follows the call it is about;
    `flush` writes them at once. `run` tells which run goes on; `on_open` hears of every ask that waits.
    """

    def __init__(
        self,
        session_id: str,
        store: Store,
        journal: Journal,
        *,
        run: Callable[[], int | None],
        plan_context: Callable[[], PlanContext],
        on_open: Callable[[Ask], None],
    ) -> None:
        self._session_id = session_id
        self._store = store
        self._journal = journal
        self._run = run
        self._plan_context = plan_context
        self._on_open = on_open
        self._changes: list[AskChange] = []
        self._open: dict[str, AskRow] = {}
        self._answers: dict[str, dict[str, Any]] = {}
        """The answers of decisions that were recorded, until their asks are closed."""

    @property
    def waiting(self) -> int:
        """How many asks wait for an answer."""
        return len(self._open)

    def changed(self, change: AskChange) -> None:
        """An ask was opened, or moved on."""
        if not self._changes:
            asyncio.get_running_loop().call_soon(self.flush)
        self._changes.append(change)

    def flush(self) -> None:
        """Write what has changed."""
        changes, self._changes = self._changes, []
        for change in changes:
            if change.state is AskState.PENDING:
                self._opened(change.ask)
            elif change.state in OUTCOMES:
                self._closed(change)

    async def record(self, decision: Decision) -> None:
        """Store a decision, if it is the first, so that a power cut cannot undo it. Raises `StoreError` if not."""
        self.flush()
        answer = self._answers[decision.ask_id] = encode_answer(decision.answer)
        row = DecisionRow(
            session_id=self._session_id,
            ask_id=decision.ask_id,
            digest=decision.digest,
            answer=msgspec.json.encode(answer),
            decided_by=decision.actor.name,
            surface=decision.actor.surface,
            decided_at=decision.at,
            granted_by=decision.actor.granted_by,
        )
        try:
            async with asyncio.timeout(RECORDING_PATIENCE):
                await self._journal.stored()
        except TimeoutError:
            why = self._journal.trouble or "the store does not answer"
            raise StoreError(f"the decision cannot be stored, so it was not taken: {why}") from None
        # Not given up once it is on its way: it could be stored all the same, and the ask never be answered.
        await self._store.decide(row)

    def _opened(self, ask: Ask) -> None:
        known = self._open.get(ask.id)
        if known is not None and known.digest == ask.digest:
            return  # a decision could not be recorded: the ask is as it was
        record = ask_record(ask, plan=self._plan_context())
        row = AskRow(
            session_id=self._session_id,
            id=ask.id,
            kind=ask.kind,
            digest=ask.digest,
            title=title_of(ask),
            body=msgspec.json.encode(record),
            opened_at=ask.opened_at,
        )
        self._open[ask.id] = row
        event = AskOpened(run=self._run(), ask_id=ask.id, kind=ask.kind, digest=ask.digest, title=row.title, ask=record)
        self._journal.add([event], asks=[row])
        self._on_open(ask)

    def _closed(self, change: AskChange) -> None:
        row = self._open.pop(change.ask.id, None)
        recorded = self._answers.pop(change.ask.id, None)
        if row is None:
            return
        decision = change.decision
        state: AskRowState = OUTCOMES[change.state]
        if decision is None:
            event = AskClosed(run=self._run(), ask_id=change.ask.id, outcome=_outcome(state))
            closed = msgspec.structs.replace(row, state=state, closed_at=time.time())
        else:
            state = "unsent" if state == "lost" else state
            answer = recorded if recorded is not None else encode_answer(decision.answer)
            event = _answered_event(change.ask.id, state, decision, answer, self._run())
            closed = _answered_row(row, state, decision, answer)
        self._journal.add([event], asks=[closed])


def _outcome(state: AskRowState) -> Any:
    return "decided" if state == "sent" else state


def _answered_event(
    ask_id: str, state: AskRowState, decision: Decision, answer: dict[str, Any], run: int | None
) -> AskClosed:
    return AskClosed(
        run=run,
        ask_id=ask_id,
        outcome=_outcome(state),
        answer=answer,
        by=decision.actor.name,
        surface=decision.actor.surface,
        decided_at=decision.at,
        granted_by=decision.actor.granted_by,
    )


def _answered_row(row: AskRow, state: AskRowState, decision: Decision, answer: dict[str, Any]) -> AskRow:
    return msgspec.structs.replace(
        row,
        state=state,
        closed_at=time.time(),
        answer=msgspec.json.encode(answer),
        decided_by=decision.actor.name,
        surface=decision.actor.surface,
        decided_at=decision.at,
        granted_by=decision.actor.granted_by,
    )

"""An ask as it came from a journal, read: what is asked, its description, and what answers to it depend on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec

from handrail.events.view import AskItem
from handrail.policy.answers.plan import PlanContext
from handrail.policy.describing.undescribed import undescribed
from handrail.protocol import descriptions as d
from handrail.protocol.asks import Ask
from handrail.sessions.ask_records import ask_of, plan_context_of
from handrail.store.base import AskRow

__all__ = ["RESUMABLE", "Asked", "described_anew", "item_of", "read"]

RESUMABLE = ("lost", "unsent")
"""The process that asked has ended; an answer resumes the session."""
_OUTCOMES = {"pending": None, "sent": "decided"}
"""The outcome that goes with a row's state, where it has another name."""


@dataclass(frozen=True, slots=True)
class Asked:
    """An ask with everything that is needed to show and to answer it.

    `ask` is None where a newer Handrail wrote something that this one cannot read: all of it is shown, and it can be
    allowed or denied as it is.
    """

    item: AskItem
    ask: Ask | None
    description: d.Description
    plan: PlanContext

    @property
    def is_open(self) -> bool:
        """Whether it waits for an answer."""
        return self.item.outcome is None

    @property
    def resumes(self) -> bool:
        """Whether an answer resumes the session."""
        return self.item.outcome in RESUMABLE

    @property
    def is_answerable(self) -> bool:
        return self.is_open or self.resumes


def read(item: AskItem) -> Asked:
    """The ask of an item, whatever that holds."""
    record = item.ask if isinstance(item.ask, dict) else {}
    ask = _ask(record)
    description = (ask.description if ask is not None else None) or undescribed(ask, record, item.kind, item.title)
    return Asked(item, ask, description, _plan_context(record))


def item_of(row: AskRow) -> AskItem:
    """A stored ask as the item of a session's view."""
    body = msgspec.json.decode(row.body)
    return AskItem(
        ask_id=row.id,
        kind=row.kind,
        digest=row.digest,
        title=row.title,
        ask=body if isinstance(body, dict) else {},
        at=row.opened_at,
        outcome=_OUTCOMES.get(row.state, row.state),
        answer=msgspec.json.decode(row.answer) if row.answer else None,
        by=row.decided_by,
        surface=row.surface,
        ended_at=row.closed_at or row.decided_at,
        granted_by=row.granted_by,
    )


def described_anew(ask: Ask, title: str) -> d.Description:
    """An ask whose input was changed here. Its files may be on another machine, so only what it says is shown."""
    return undescribed(ask, {}, ask.kind, title)


def _ask(record: dict[str, Any]) -> Ask | None:
    try:
        return ask_of(record)
    except (msgspec.ValidationError, TypeError, KeyError):
        return None


def _plan_context(record: dict[str, Any]) -> PlanContext:
    try:
        return plan_context_of(record)
    except msgspec.ValidationError:
        return PlanContext()

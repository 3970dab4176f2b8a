"""An ask as it came from a journal, read: what is asked, its description, and what answers to it depend on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec

from handrail.events.view import AskItem
from handrail.policy.answers.plan import PlanContext
from handrail.policy.describing.described_forms import form_of, questions_of
from handrail.policy.describing.json_text import fields_of
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
    description = (ask.description if ask is not None else None) or _undescribed(ask, record, item.kind, item.title)
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
    )


def described_anew(ask: Ask, title: str) -> d.Description:
    """An ask whose input was changed here. Its files may be on another machine, so only what it says is shown."""
    return _undescribed(ask, {}, ask.kind, title)


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


def _undescribed(ask: Ask | None, record: dict[str, Any], kind: str, title: str) -> d.Description:
    if ask is None:
        return d.Description(title=title, kind=kind, tool="", what=d.Call(tool=kind), fields=fields_of(record))
    what, shown = _plain_what(ask)
    return d.Description(
        title=title,
        kind=kind,
        tool=ask.tool_name,
        what=what,
        fields=fields_of(ask.request if ask.kind == "elicitation" else ask.input, shown),
        cwd=ask.cwd,
        agent_id=ask.agent_id,
        agent=ask.agent,
        purpose=ask.message,
    )


def _plain_what(ask: Ask) -> tuple[d.What, set[str]]:
    if ask.kind == "plan":
        path = ask.input.get("planFilePath")
        return d.PlanReview(plan=ask.plan or "", path=path if isinstance(path, str) else ""), {"plan", "planFilePath"}
    if ask.kind == "question" and (questions := questions_of(ask.input)) is not None:
        return questions, {"questions"}
    if ask.kind == "elicitation":
        return form_of(ask.request)
    command = ask.input.get("command")
    if ask.tool_name == "Bash" and isinstance(command, str):
        return d.Command(text=command), {"command"}
    return d.Call(tool=ask.tool_name or ask.kind), set()

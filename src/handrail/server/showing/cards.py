"""An ask as a card: who asks, what exactly would happen, why, what stands out, and what may be answered."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from handrail.events.view import AskItem
from handrail.policy.answers.encoding import encode_answer
from handrail.policy.answers.plan_choices import plan_choices
from handrail.policy.answers.plan_rules import proposed_rules
from handrail.policy.describing.hidden import hidden_in
from handrail.policy.describing.suggestions import describe_suggestion
from handrail.policy.describing.undescribed import undescribed
from handrail.protocol import descriptions as d
from handrail.protocol.asks import Ask
from handrail.server.showing.closing import ENDED, closed, closed_row
from handrail.server.showing.pieces import Pieces
from handrail.server.showing.strings import exact, fields, line, words
from handrail.server.showing.whats import what_of
from handrail.sessions.ask_records import ask_of, plan_context_of
from handrail.sessions.exporting.noise import is_any_hook
from handrail.store.base import AskRow, SessionRow

__all__ = ["card", "card_of_item"]

RESUMABLE = ("lost", "unsent")
_REASONS: Mapping[str, str] = {
    "decision_reason": "",
    "decision_reason_hook_source": "a hook of ",
    "server_prompt": "the server says: ",
    "matched_ask_rule": "the rule ",
    "blocked_path": "touches ",
}


def card(row: AskRow, *, session: SessionRow, pieces: Pieces | None = None) -> dict[str, Any]:
    """The card of a stored ask."""
    return _Card(msgspec.json.decode(row.body), row.kind, row.title, pieces or Pieces(0)).shown(
        session, row.id, row.digest, row.opened_at, row.state, closed_row(row)
    )


def card_of_item(item: AskItem, *, session: SessionRow, pieces: Pieces | None = None) -> dict[str, Any]:
    """The card of an ask in the timeline of a session."""
    over = None
    if item.outcome is not None:
        over = closed(
            item.outcome,
            answer=item.answer,
            by=item.by,
            surface=item.surface,
            at=item.ended_at,
            message=item.message,
            granted=bool(item.granted_by),
        )
    return _Card(item.ask, item.kind, item.title, pieces or Pieces(0)).shown(
        session, item.ask_id, item.digest, item.at, item.outcome or "pending", over
    )


class _Card:
    def __init__(self, record: Any, kind: str, title: str, pieces: Pieces) -> None:
        self._record: dict[str, Any] = record if isinstance(record, dict) else {}
        self._kind = kind
        self._pieces = pieces
        self._ask = _ask(self._record)
        self._description = (self._ask.description if self._ask else None) or undescribed(
            self._ask, self._record, kind, title
        )

    def shown(
        self,
        session: SessionRow,
        ask_id: str,
        digest: str,
        opened_at: float,
        state: str,
        over: dict[str, Any] | None,
    ) -> dict[str, Any]:
        description = self._description
        return {
            "session": session.id,
            "session_title": line(session.title),
            "ask_id": ask_id,
            "digest": digest,
            "kind": self._kind,
            "state": state,
            "opened_at": opened_at,
            "tool_use_id": self._ask.tool_use_id if self._ask else None,
            "tool": line(description.tool),
            "title": line(description.title),
            "agent": _agent(description),
            "cwd": exact(description.cwd or session.cwd),
            "purpose": words(_purpose(description)),
            "reasons": [words(reason) for reason in _reasons(description)],
            "risk": description.risk.level,
            "flags": [_flag(flag) for flag in description.flags],
            "hidden": hidden_in(description),
            "what": what_of(description.what, self._pieces),
            "fields": fields(description.fields, self._pieces),
            "paths": [_path(path) for path in description.paths],
            "suggestions": list(self._suggestions()),
            "input": self._ask.input if self._ask else {},
            **self._plan(),
            "answerable": state in ("pending", *RESUMABLE),
            "resumes": state in RESUMABLE,
            "note": ENDED if state in RESUMABLE else "",
            "closed": over,
        }

    def _suggestions(self) -> Iterator[dict[str, Any]]:
        for suggestion in self._ask.suggestions if self._ask else ():
            if isinstance(suggestion, Mapping):
                yield {"words": describe_suggestion(suggestion), "permission": suggestion}

    def _plan(self) -> dict[str, Any]:
        """What may be answered to a plan."""
        if self._ask is None or self._ask.kind not in ("plan", "enter_plan"):
            return {"plan_choices": [], "allowed_prompts": [], "prompt_rules": []}
        prompts = proposed_rules(self._ask)
        return {
            "plan_choices": [
                {"id": choice.id, "label": choice.label, "needs": choice.needs, "answer": encode_answer(choice.answer)}
                for choice in plan_choices(self._ask, plan_context_of(self._record))
            ],
            "allowed_prompts": [line(f"{prompt.tool}: {prompt.prompt}") for prompt in prompts],
            "prompt_rules": [
                {
                    "position": position,
                    "tool": line(prompt.tool),
                    "prompt": line(prompt.prompt),
                    "rules": [line(rule) for rule in prompt.rules],
                }
                for position, prompt in enumerate(prompts)
            ],
        }


# ---------------------------------------------------------------- around it


def _agent(description: d.Description) -> str | None:
    if description.agent_id is None:
        return None
    return line(description.agent) or f"subagent {line(description.agent_id)}"


def _purpose(description: d.Description) -> str:
    """What Claude says it is for. For tools on files that is only the file's name again."""
    said = description.purpose
    path = description.paths[0].path if description.paths and isinstance(description.what, d.Change | d.Call) else ""
    return "" if said == description.tool or (path and path.endswith(said)) else said


def _reasons(description: d.Description) -> Iterator[str]:
    for reason in description.reasons:
        if not is_any_hook(reason):
            yield _REASONS.get(reason.code, f"{reason.code}: ") + reason.words


def _flag(flag: d.Flag) -> dict[str, str]:
    return {"code": flag.code, "words": line(flag.words), "where": line(flag.where), "level": flag.level}


def _path(path: d.AffectedPath) -> dict[str, Any]:
    elsewhere = path.resolved if path.resolved != path.absolute else ""
    return {
        "path": exact(path.path),
        "absolute": exact(path.absolute),
        "leads_to": exact(elsewhere),
        "access": path.access,
        "inside_project": path.inside_project,
    }


# ---------------------------------------------------------------- asks without a description


def _ask(record: dict[str, Any]) -> Ask | None:
    try:
        return ask_of(record)
    except (msgspec.ValidationError, TypeError, KeyError):  # made by a newer Handrail: all of it is shown as it is
        return None

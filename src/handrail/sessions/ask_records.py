"""Asks as they are stored and sent to other processes: everything that a surface needs to show and answer one."""

from __future__ import annotations

from typing import Any

import msgspec

from handrail.policy.answers.plan import PlanContext
from handrail.protocol.asks import Ask
from handrail.protocol.descriptions import Description, LazyDescription, decode_description

__all__ = ["ask_of", "ask_record", "plan_context_of", "title_of"]

_FIELDS = (
    "id",
    "kind",
    "request",
    "tool_name",
    "input",
    "suggestions",
    "tool_use_id",
    "agent_id",
    "agent",
    "message",
    "cwd",
    "opened_at",
    "plan",
    "after_outline",
    "digest",
)


def ask_record(ask: Ask, *, plan: PlanContext | None = None) -> dict[str, Any]:
    """`ask` as plain JSON values, with its description; `plan` is what answers to a plan depend on."""
    record: dict[str, Any] = {name: getattr(ask, name) for name in _FIELDS}
    description = ask.description
    if description is not None:
        record["description"] = msgspec.to_builtins(description)
    if plan is not None and ask.kind in ("plan", "enter_plan"):
        record["plan_context"] = msgspec.to_builtins(plan)
    return record


def ask_of(record: dict[str, Any]) -> Ask:
    """The ask of a record. Its description is the stored one: it is not made anew from another machine's files."""
    stored = record.get("description")
    ask = msgspec.convert({name: record[name] for name in _FIELDS if name in record}, Ask)
    return msgspec.structs.replace(ask, described=LazyDescription(lambda: _description(stored)))


def plan_context_of(record: dict[str, Any]) -> PlanContext:
    """What the answers to the plan of a record depend on."""
    return msgspec.convert(record.get("plan_context") or {}, PlanContext)


def title_of(ask: Ask) -> str:
    """One line that says what is asked."""
    description = ask.description
    if description is not None:
        return description.title
    return ask.message or ask.tool_name or ask.kind


def _description(stored: Any) -> Description | None:
    if stored is None:
        return None
    try:
        return decode_description(msgspec.json.encode(stored))
    except msgspec.ValidationError:  # made by a newer Handrail: the ask itself can still be shown
        return None

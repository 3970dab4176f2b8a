"""Asks that came without a description, described as far as their fields say: nothing of them is left out."""

from __future__ import annotations

from typing import Any

from handrail.policy.describing.described_forms import form_of, questions_of
from handrail.policy.describing.json_text import fields_of
from handrail.protocol import descriptions as d
from handrail.protocol.asks import Ask

__all__ = ["undescribed"]


def undescribed(ask: Ask | None, record: dict[str, Any], kind: str, title: str) -> d.Description:
    """The description of an ask; of one that cannot be read, what its record says."""
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

"""Asks, sessions and events to be shown."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from handrail.policy.answers.plan import PlanContext
from handrail.protocol import descriptions as d
from handrail.protocol.asks import Ask
from handrail.sessions.ask_records import ask_record
from handrail.store.base import AskRow, SessionRow

__all__ = ["PIXEL", "SESSION", "html_in", "row_of", "texts_in"]

SESSION = SessionRow(id="3f2a9c1e", cwd="/home/ada/weather", created_at=1.0, updated_at=2.0, title="Fix the rounding")
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

RAW = {"input", "permission", "answer", "text", "label", "name", "value", "default", "digest", "ask_id", "uuid", "src"}
"""Fields that an answer or an address needs as they are."""


def row_of(
    what: d.What | None,
    *,
    kind: Any = "permission",
    tool: str = "Bash",
    given: dict[str, Any] | None = None,
    suggestions: tuple[dict[str, Any], ...] = (),
    plan: str | None = None,
    context: PlanContext | None = None,
    row: dict[str, Any] | None = None,
    **described: Any,
) -> AskRow:
    """The stored row of an ask about `what`; without that, of an ask that was never described."""
    description = None
    if what is not None:
        fields = {"title": "Run a command", "kind": kind, "tool": tool, "cwd": SESSION.cwd, **described}
        description = d.LazyDescription(lambda: d.Description(what=what, **fields))
    ask = Ask(
        id="ask-1",
        kind=kind,
        request={"subtype": "can_use_tool"},
        tool_name=tool,
        input=given or {},
        suggestions=suggestions,
        plan=plan,
        described=description,
    )
    return AskRow(
        **{
            "session_id": SESSION.id,
            "id": "ask-1",
            "kind": kind,
            "digest": "d1",
            "title": "Run a command",
            "body": msgspec.json.encode(ask_record(ask, plan=context)),
            "opened_at": 5.0,
            **(row or {}),
        }
    )


def html_in(value: Any) -> Iterator[str]:
    """Every field that is HTML."""
    if isinstance(value, dict):
        for name, each in value.items():
            if (name == "html" or name.endswith("_html")) and each is not None:
                yield each
            else:
                yield from html_in(each)
    elif isinstance(value, list):
        for each in value:
            yield from html_in(each)


def texts_in(value: Any) -> Iterator[str]:
    """Every field that is shown as text."""
    if isinstance(value, dict):
        for name, each in value.items():
            if name not in RAW and name != "html" and not name.endswith("_html"):
                yield from texts_in(each)
    elif isinstance(value, list):
        for each in value:
            yield from texts_in(each)
    elif isinstance(value, str):
        yield value

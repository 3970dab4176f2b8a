"""What waits for an answer, as a table for a person and as plain data for a program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from rich.console import RenderableType
from rich.text import Text

from handrail.cli.commands.table import Column, Table
from handrail.cli.commands.wording import age, short_id, short_ids
from handrail.cli.showing.style import FAILED, MARKS, NEEDS_YOU, QUIET, exact
from handrail.cli.showing.tools import call_line, tool_title
from handrail.policy.describing.visible import one_line
from handrail.protocol.asks import Ask
from handrail.sessions.ask_records import ask_of
from handrail.store.base import AskRow, SessionRow

__all__ = ["ask_data", "ask_in", "ask_table", "ask_words"]

RISKS: Mapping[str, tuple[str, str]] = {
    "high": (FAILED, "high"),
    "medium": (NEEDS_YOU, "medium"),
    "low": (QUIET, "low"),
    "unknown": (NEEDS_YOU, "unknown"),
}
KINDS: Mapping[str, str] = {"enter_plan": "plan mode", "elicitation": "form"}

COLUMNS = (
    Column("ASK"),
    Column("AGE", right=True),
    Column("RISK"),
    Column("KIND", optional=2),
    Column("WHAT", flexible=True),
    Column("SESSION", optional=1),
    Column("TITLE", flexible=True, optional=3),
)


def ask_in(row: AskRow) -> Ask:
    """The ask of a row, as its owner has it."""
    return ask_of(msgspec.json.decode(row.body))


def ask_table(rows: Sequence[AskRow], sessions: Mapping[str, SessionRow], *, now: float) -> RenderableType:
    """The asks in columns."""
    short = short_ids(row.id for row in rows)
    return Table(COLUMNS, [_cells(row, short[row.id], sessions.get(row.session_id), now) for row in rows])


def _cells(row: AskRow, shown_id: str, session: SessionRow | None, now: float) -> tuple[Text, ...]:
    colour, risk = RISKS[_risk(row)]
    kind = KINDS.get(row.kind, row.kind)
    return (
        exact(shown_id),
        Text(age(now - row.opened_at)),
        exact(f"{MARKS[colour]} {risk}", colour),
        exact(kind if row.state == "pending" else f"{kind} ({row.state})"),
        exact(_what(row)),
        exact(short_id(row.session_id)),
        exact(one_line(session.title) if session is not None else ""),
    )


def ask_words(ask: Ask, title: str) -> str:
    """What is asked, on one line: of a tool, the call itself; else its title."""
    if ask.kind != "permission":
        return one_line(title)
    return f"{tool_title(ask.tool_name)} {call_line(ask.tool_name, ask.input, ask.cwd)}"


def _what(row: AskRow) -> str:
    return ask_words(ask_in(row), row.title)


def _risk(row: AskRow) -> str:
    description = ask_in(row).description
    return description.risk.level if description is not None else "unknown"


def ask_data(row: AskRow, session: SessionRow | None) -> dict[str, Any]:
    """An ask for a program; these names stay. `ask` is all of it."""
    return {
        "id": row.id,
        "session_id": row.session_id,
        "session_title": session.title if session is not None else "",
        "cwd": session.cwd if session is not None else "",
        "kind": row.kind,
        "title": row.title,
        "risk": _risk(row),
        "state": row.state,
        "digest": row.digest,
        "opened_at": row.opened_at,
        "decided_by": row.decided_by or None,
        "surface": row.surface or None,
        "decided_at": row.decided_at,
        "answer": msgspec.json.decode(row.answer) if row.answer is not None else None,
        "ask": msgspec.json.decode(row.body),
    }

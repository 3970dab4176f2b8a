"""Claude Code's own sessions as a table for a person, and as plain data for a program."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from rich.console import RenderableType
from rich.text import Text

from handrail.cli.commands.table import Column, Table
from handrail.cli.commands.wording import age, from_home
from handrail.cli.showing.style import NEEDS_YOU, exact
from handrail.policy.describing.visible import one_line
from handrail.sessions.adoption import Adoptable

__all__ = ["adoptable_data", "adoptable_table"]

COLUMNS = (
    Column("CLAUDE CODE'S ID"),
    Column("TITLE", flexible=True),
    Column("AGE", right=True, optional=1),
    Column("DIRECTORY", flexible=True, optional=2),
)


def adoptable_table(found: Sequence[Adoptable], *, now: float) -> RenderableType:
    """The sessions in columns."""
    return Table(COLUMNS, [_cells(each, now) for each in found])


def _cells(each: Adoptable, now: float) -> tuple[Text, ...]:
    title = exact(one_line(each.title) or "(no title)")
    if each.may_be_running(now):
        title.append(" (may be running)", NEEDS_YOU)
    return (
        exact(each.session_id),
        title,
        Text(age(now - each.updated_at)),
        exact(from_home(each.cwd)),
    )


def adoptable_data(each: Adoptable) -> dict[str, Any]:
    """A session for a program; these names stay."""
    data: dict[str, Any] = msgspec.to_builtins(each)
    return {"cli_session_id": data.pop("session_id"), **data}

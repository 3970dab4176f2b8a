"""Sessions as a table for a person, those that need somebody first, and as plain data for a program."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from handrail.cli.commands.table import Column, Table
from handrail.cli.commands.wording import age, from_home, short_id, short_ids
from handrail.cli.hosting.names import HostNames
from handrail.cli.showing.amounts import cost
from handrail.cli.showing.style import FAILED, MARKS, NEEDS_YOU, QUIET, RUNNING, exact
from handrail.policy.describing.visible import one_line
from handrail.store.base import SessionRow

__all__ = ["by_status", "session_data", "session_heading", "session_table", "status_words"]

STATUSES: dict[str, tuple[str, str]] = {
    "needs_you": (NEEDS_YOU, "needs you"),
    "running": (RUNNING, "running"),
    "queued": (RUNNING, "queued"),
    "waiting": (QUIET, "waits for its CLI"),
    "idle": (QUIET, "idle"),
    "failed": (FAILED, "failed"),
    "stopped": (QUIET, "stopped"),
}
"""Each status' colour and words, in the order in which sessions are listed."""

COLUMNS = (
    Column("STATUS"),
    Column("ID"),
    Column("TITLE", flexible=True),
    Column("HOST", flexible=True),
    Column("AGE", right=True, optional=1),
    Column("DIRECTORY", flexible=True, optional=3),
    Column("COST", right=True, optional=2),
)


def by_status(rows: Sequence[SessionRow]) -> list[SessionRow]:
    """Those that need somebody first; of the same status, the latest first."""
    order = list(STATUSES)
    return sorted(
        rows, key=lambda row: (order.index(row.status) if row.status in order else len(order), -row.updated_at)
    )


def session_table(rows: Sequence[SessionRow], *, now: float, hosts: HostNames | None = None) -> RenderableType:
    """The sessions in columns; with `hosts`, where each of them runs."""
    short = short_ids(row.id for row in rows)
    cells = [_cells(row, short[row.id], now, hosts) for row in rows]
    shown = [index for index, column in enumerate(COLUMNS) if hosts is not None or column.title != "HOST"]
    return Table([COLUMNS[index] for index in shown], [[each[index] for index in shown] for each in cells])


def _cells(row: SessionRow, shown_id: str, now: float, hosts: HostNames | None) -> tuple[Text, ...]:
    title = exact(one_line(row.title) or "(no title)", "" if row.title else QUIET)
    if row.archived:
        title.append(" (archived)", QUIET)
    return (
        status_words(row.status),
        Text(shown_id),
        title,
        exact(hosts.of(row.host) if hosts is not None else ""),
        Text(age(now - row.updated_at)),
        exact(_directory(row)),
        Text(_cost(row)),
    )


def session_heading(row: SessionRow, *, now: float, hosts: HostNames | None = None) -> RenderableType:
    """One session in a few lines: what it is, where, and how to go on with it."""
    where = f"{_directory(row)} on {hosts.of(row.host)}" if hosts is not None else _directory(row)
    facts = [f"{age(now - row.updated_at)} ago" if now - row.updated_at >= 1 else "now", where]
    facts += [fact for fact in (row.model, _cost(row), "archived" if row.archived else "") if fact]
    return Group(
        exact(one_line(row.title) or "(no title)", "bold"),
        Text.assemble(status_words(row.status), "  ", exact(" · ".join(facts), QUIET)),
        Text.assemble(("go on with: ", QUIET), f"handrail resume {short_id(row.id)}"),
        Text(),
    )


def status_words(status: str) -> Text:
    """A status with its sign."""
    colour, words = STATUSES.get(status, (QUIET, status))
    return exact(f"{MARKS[colour]} {words}", colour)


def _directory(row: SessionRow) -> str:
    """Where it works. What is home on another machine is not known here."""
    return row.cwd if row.host else from_home(row.cwd)


def _cost(row: SessionRow) -> str:
    return cost(row.cost_usd) if row.cost_usd else ""


def session_data(row: SessionRow, hosts: HostNames | None = None) -> dict[str, Any]:
    """A session for a program; these names stay. `host` is empty for one of the machine itself."""
    return {
        "id": row.id,
        "title": row.title,
        "status": row.status,
        "cwd": row.cwd,
        "cli_session_id": row.cli_session_id,
        "model": row.model,
        "cost_usd": row.cost_usd,
        "created_at": row.created_at,
        "updated_at": row.updated_at,
        "archived": row.archived,
        "forked_from": row.forked_from,
        "last_seq": row.last_seq,
        "live": row.owner is not None,
        "host": row.host,
        "host_name": hosts.of(row.host) if hosts is not None and row.host else "",
    }

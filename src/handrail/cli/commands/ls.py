"""`handrail ls`: sessions, those that need you first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from handrail.cli.commands.parameters import JSON, Limit

if TYPE_CHECKING:
    from handrail.cli.commands.workplace import Workplace

__all__ = ["ls"]

LIMIT = 100

All = Annotated[bool, typer.Option("--all", "-a", help="Archived sessions, too.")]
Here = Annotated[bool, typer.Option("--here", help="Only sessions of this directory.")]
Adoptable = Annotated[
    bool, typer.Option("--adoptable", help="Claude Code's own sessions, which Handrail does not know yet.")
]


def ls(
    ctx: typer.Context,
    all_: All = False,
    here: Here = False,
    adoptable: Adoptable = False,
    limit: Limit = None,
    json: JSON = False,
) -> None:
    """List sessions: those that need you first.

    Example: handrail ls --here
    """
    from handrail.cli.commands.workplace import at_work

    async def work(place: Workplace) -> None:
        if adoptable:
            await _list_adoptable(place, here=here, limit=limit or LIMIT, as_json=json)
        else:
            await _list(place, archived=all_, here=here, limit=limit or LIMIT, as_json=json)

    at_work(ctx, work)


async def _list(place: Workplace, *, archived: bool, here: bool, limit: int, as_json: bool) -> None:
    from handrail.cli.commands.session_list import by_status, session_data, session_table
    from handrail.store.base import SessionFilter

    which = SessionFilter(archived=None if archived else False, cwd=place.cwd if here else None)
    rows = by_status(await place.manager.list(which, limit=limit))
    if as_json:
        place.json([session_data(row) for row in rows])
    elif rows:
        place.print(session_table(rows, now=place.now))
    else:
        where = " of this directory" if here else ""
        place.remark(f'there are no sessions{where}: handrail run "…" starts one')


async def _list_adoptable(place: Workplace, *, here: bool, limit: int, as_json: bool) -> None:
    from handrail.cli.commands.adoptable_list import adoptable_data, adoptable_table

    found = (await place.manager.adoptable(place.cwd if here else None, unknown_only=True))[:limit]
    if as_json:
        place.json([adoptable_data(each) for each in found])
    elif found:
        place.print(adoptable_table(found, now=place.now))
    else:
        place.remark("Claude Code keeps no sessions that Handrail does not know")

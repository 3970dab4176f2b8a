"""`handrail ls`: sessions, those that need you first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from handrail.cli.candidates import host_names
from handrail.cli.commands.parameters import JSON, Limit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from handrail.cli.commands.workplace import Workplace
    from handrail.sessions.adoption import Adoptable

__all__ = ["ls"]

LIMIT = 100

All = Annotated[bool, typer.Option("--all", "-a", help="Archived sessions, too.")]
Here = Annotated[bool, typer.Option("--here", help="Only sessions of this directory.")]
Host = Annotated[
    str | None,
    typer.Option(
        metavar="NAME", help="Only sessions of this host; here: those of this machine.", autocompletion=host_names
    ),
]
OfClaude = Annotated[
    bool, typer.Option("--adoptable", help="Claude Code's own sessions, which Handrail does not know yet.")
]


def ls(
    ctx: typer.Context,
    all_: All = False,
    here: Here = False,
    host: Host = None,
    adoptable: OfClaude = False,
    limit: Limit = None,
    json: JSON = False,
) -> None:
    """List sessions: those that need you first.

    With HANDRAIL_HUB and HANDRAIL_TOKEN, sessions are those of a hub elsewhere, for all commands.

    Example: handrail ls --here
    """
    from handrail.cli.commands.workplace import at_work

    async def work(place: Workplace) -> None:
        if adoptable:
            await _list_adoptable(place, here=here, host=host, limit=limit or LIMIT, as_json=json)
        else:
            await _list(place, archived=all_, here=here, host=host, limit=limit or LIMIT, as_json=json)

    at_work(ctx, work)


async def _list(place: Workplace, *, archived: bool, here: bool, host: str | None, limit: int, as_json: bool) -> None:
    from handrail.cli.commands.session_list import by_status, session_data, session_table
    from handrail.store.base import SessionFilter

    host_id = (await place.hosts()).id_of(host) if host is not None else None
    which = SessionFilter(archived=None if archived else False, cwd=place.cwd if here else None, host=host_id)
    rows = by_status(await place.manager.list(which, limit=limit))
    hosts = await place.hosts_of(rows)
    if as_json:
        place.json([session_data(row, hosts) for row in rows])
    elif rows:
        place.print(session_table(rows, now=place.now, hosts=hosts))
    else:
        where = " of this directory" if here else ""
        there = f" on {host}" if host_id else ""
        place.remark(f'there are no sessions{where}{there}: handrail run "…" starts one')


async def _list_adoptable(place: Workplace, *, here: bool, host: str | None, limit: int, as_json: bool) -> None:
    from handrail.cli.commands.adoptable_list import adoptable_data, adoptable_table

    found = await _adoptable(place, place.cwd if here else None, host, limit)
    if as_json:
        place.json([adoptable_data(each) for each in found])
    elif found:
        place.print(adoptable_table(found, now=place.now))
    else:
        place.remark("Claude Code keeps no sessions that Handrail does not know")


async def _adoptable(place: Workplace, cwd: str | None, host: str | None, limit: int) -> Sequence[Adoptable]:
    if host is None or not (await place.hosts()).id_of(host):
        return (await place.manager.adoptable(cwd, unknown_only=True))[:limit]
    from handrail.cli.hosting.hub_hosts import adoptable_on

    return await adoptable_on(host, cwd, limit=limit)

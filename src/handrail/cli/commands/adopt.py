"""`handrail adopt`: take over a session of Claude Code's own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from handrail.cli.candidates import host_names
from handrail.cli.commands.parameters import JSON

if TYPE_CHECKING:
    from handrail.cli.commands.workplace import Workplace
    from handrail.sessions.session import Session as DurableSession

__all__ = ["adopt"]

CliSession = Annotated[
    str,
    typer.Argument(metavar="CLI_ID", help="Claude Code's id of it, from handrail ls --adoptable."),
]


Host = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="The host that has it, if it is another machine.", autocompletion=host_names),
]


def adopt(ctx: typer.Context, cli_session: CliSession, host: Host = None, json: JSON = False) -> None:
    """Take over a session of Claude Code's own.

    Its history can be read here, and it can be resumed.

    Example: handrail adopt "claude --resume 6ca440c5-8391-4eb6-a834-4e5b6c95b955"
    """
    from handrail.cli.commands.workplace import at_work

    async def work(place: Workplace) -> None:
        from handrail.cli.commands.references import reference_in
        from handrail.cli.commands.session_list import session_data
        from handrail.cli.commands.wording import short_id

        session = await _adopted(place, reference_in(cli_session), host)
        if json:
            place.json(session_data(await session.row()))
        else:
            place.done(f"adopted as {short_id(session.id)}; go on with: handrail resume {short_id(session.id)}")

    at_work(ctx, work)


async def _adopted(place: Workplace, cli_session_id: str, host: str | None) -> DurableSession:
    if host is None or not (await place.hosts()).id_of(host):
        return await place.manager.adopt(cli_session_id)
    from handrail.cli.hosting.hub_hosts import adopt_on

    return place.manager.session(await adopt_on(host, cli_session_id))

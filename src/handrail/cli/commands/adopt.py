"""`handrail adopt`: take over a session of Claude Code's own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from handrail.cli.commands.parameters import JSON

if TYPE_CHECKING:
    from handrail.cli.commands.workplace import Workplace

__all__ = ["adopt"]

CliSession = Annotated[
    str,
    typer.Argument(metavar="CLI_ID", help="Claude Code's id of it, from handrail ls --adoptable."),
]


def adopt(ctx: typer.Context, cli_session: CliSession, json: JSON = False) -> None:
    """Take over a session of Claude Code's own.

    Its history can be read here, and it can be resumed.

    Example: handrail adopt "claude --resume 6ca440c5-8391-4eb6-a834-4e5b6c95b955"
    """
    from handrail.cli.commands.workplace import at_work

    async def work(place: Workplace) -> None:
        from handrail.cli.commands.references import reference_in
        from handrail.cli.commands.session_list import session_data
        from handrail.cli.commands.wording import short_id

        session = await place.manager.adopt(reference_in(cli_session))
        if json:
            place.json(session_data(await session.row()))
        else:
            place.done(f"adopted as {short_id(session.id)}; go on with: handrail resume {short_id(session.id)}")

    at_work(ctx, work)

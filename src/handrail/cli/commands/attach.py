"""`handrail attach`: watch a session live, and answer what it asks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from handrail.cli.commands.parameters import JSONLines, Session

if TYPE_CHECKING:
    from handrail.cli.commands.workplace import Workplace

__all__ = ["attach"]

After = Annotated[
    int | None,
    typer.Option(metavar="SEQ", min=0, help="Begin behind the event with this number; by default with the last run."),
]


def attach(ctx: typer.Context, session: Session, after: After = None, json: JSONLines = False) -> None:
    """Watch a session live, and answer what it asks.

    Any number of terminals can watch one session; the first answer to an ask counts. Ctrl-D leaves, and the session
    goes on.

    Example: handrail attach @
    """
    from handrail.cli.commands.workplace import at_work

    async def work(place: Workplace) -> int:
        from handrail.cli.commands.live import watch
        from handrail.cli.commands.wording import short_id
        from handrail.errors import SessionNotLive

        found = await place.session(session)
        if not await found.is_live():
            name = short_id(found.id)
            raise SessionNotLive(f"no Claude Code runs for {name}: handrail show {name}, or handrail resume {name}")
        return await watch(place, found, after=after, as_json=json)

    at_work(ctx, work)

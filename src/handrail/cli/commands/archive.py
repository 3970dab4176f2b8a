"""`handrail archive`: take a session off the list, and keep it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from handrail.cli.commands.parameters import Sessions

if TYPE_CHECKING:
    from handrail.cli.commands.workplace import Workplace

__all__ = ["archive"]

Undo = Annotated[bool, typer.Option("--undo", help="Put it back on the list.")]


def archive(ctx: typer.Context, sessions: Sessions, undo: Undo = False) -> None:
    """Take a session off the list, and keep it.

    handrail ls --all lists it still, and it can be resumed.

    Example: handrail archive 3f2a 91bc
    """
    from handrail.cli.commands.workplace import at_work

    async def work(place: Workplace) -> None:
        from handrail.cli.commands.wording import short_id

        for session in [await place.session(reference) for reference in sessions]:
            await session.archive(not undo)
            place.done(f"{short_id(session.id)} is {'on the list again' if undo else 'archived'}")

    at_work(ctx, work)

"""`handrail rename`: give a session another title."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from handrail.cli.commands.parameters import Session

if TYPE_CHECKING:
    from handrail.cli.commands.workplace import Workplace

__all__ = ["rename"]

Title = Annotated[str, typer.Argument(metavar="TITLE", help="What it is called from now on.")]


def rename(ctx: typer.Context, session: Session, title: Title) -> None:
    """Give a session another title.

    Example: handrail rename @ "the flaky login test"
    """
    if not title.strip():
        raise typer.BadParameter("a title has at least one letter", param_hint="TITLE")
    from handrail.cli.commands.workplace import at_work

    async def work(place: Workplace) -> None:
        await (await place.session(session)).rename(title.strip(), actor=place.actor)
        place.done("renamed")

    at_work(ctx, work)

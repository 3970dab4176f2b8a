"""`handrail interrupt`: end the turn that goes on, not the session."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from handrail.cli.commands.parameters import Session

if TYPE_CHECKING:
    from handrail.cli.commands.workplace import Workplace

__all__ = ["interrupt"]


def interrupt(ctx: typer.Context, session: Session) -> None:
    """Interrupt what a session does now.

    Claude Code goes on running and takes the next message.

    Example: handrail interrupt 3f2a
    """
    from handrail.cli.commands.workplace import at_work

    async def work(place: Workplace) -> None:
        await (await place.session(session)).interrupt()
        place.done("interrupted")

    at_work(ctx, work)

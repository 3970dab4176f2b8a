"""`handrail stop`: end the Claude Code of a session, or of all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from handrail.cli.candidates import session_ids

if TYPE_CHECKING:
    from handrail.cli.commands.workplace import Workplace

__all__ = ["stop"]

Sessions = Annotated[
    list[str] | None,
    typer.Argument(metavar="ID", help="Sessions, as for handrail show.", autocompletion=session_ids),
]
All = Annotated[bool, typer.Option("--all", help="Every session that runs on this machine.")]


def stop(ctx: typer.Context, sessions: Sessions = None, all_: All = False) -> None:
    """End the Claude Code of a session; it can be resumed.

    Everything that it started ends with it.

    Example: handrail stop --all
    """
    if bool(sessions) == all_:
        raise typer.BadParameter("say which session to stop, or --all", param_hint="ID")
    from handrail.cli.commands.workplace import at_work

    async def work(place: Workplace) -> None:
        from handrail.cli.commands.wording import short_id

        if all_:
            await _stop_all(place)
        for session in [await place.session(reference) for reference in sessions or ()]:
            was_live = await session.is_live()
            await session.stop()
            done = "stopped" if was_live else "nothing was running"
            place.done(f"{done}; go on with: handrail resume {short_id(session.id)}")

    at_work(ctx, work)


async def _stop_all(place: Workplace) -> None:
    from handrail.cli.showing.amounts import count

    stopped = await place.manager.stop_all()
    place.done(f"{count(stopped, 'session')} stopped" if stopped else "nothing was running")

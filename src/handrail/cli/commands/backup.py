"""`handrail backup`: a copy of everything that is kept, and back."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from handrail.cli.commands.parameters import Yes

if TYPE_CHECKING:
    from handrail.cli.commands.workplace import Workplace

__all__ = ["backup"]

File = Annotated[Path, typer.Argument(metavar="FILE", help="Where the copy is written to, or read from.")]
Restore = Annotated[bool, typer.Option("--restore", help="Put what is in FILE in the place of all sessions here.")]


def backup(ctx: typer.Context, file: File, restore: Restore = False, yes: Yes = False) -> None:
    """Copy all sessions to a file, or bring them back.

    A copy can be made while sessions run. Nothing may run while they are brought back, and what they replace is kept.

    Example: handrail backup ~/handrail-backup.db
    """
    from handrail.cli.commands.workplace import at_work
    from handrail.cli.named_hub import refuse_elsewhere

    refuse_elsewhere("backup")
    path = os.path.abspath(file)
    if restore and not file.is_file():
        raise typer.BadParameter(f"there is no file {path}", param_hint="FILE")
    if restore:
        at_work(ctx, lambda place: _restore(place, path, yes=yes), with_sessions=False)
    else:
        at_work(ctx, lambda place: _backup(place, path))


async def _backup(place: Workplace, path: str) -> None:
    await place.own.store.backup(path)
    place.done(f"all sessions are copied to {path}")


async def _restore(place: Workplace, path: str, *, yes: bool) -> int | None:
    import asyncio

    from handrail.cli.commands.failures import ExitCode
    from handrail.cli.inside_session import refuse_inside_session
    from handrail.places import Places
    from handrail.store.place import store_path
    from handrail.store.restoring import restore

    refuse_inside_session()
    if not place.confirmed("Put this backup in the place of all sessions here?", yes=yes):
        place.remark("nothing was changed")
        return ExitCode.FAILED
    aside = await asyncio.to_thread(restore, path, store_path(Places.of_user(os.environ)))
    place.done("restored" + (f"; what was here is kept as {aside}" if aside else ""))
    return None

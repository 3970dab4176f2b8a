"""`handrail rm`: delete sessions and everything that was kept of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from handrail.cli.commands.parameters import Sessions, Yes

if TYPE_CHECKING:
    from handrail.cli.commands.workplace import Workplace
    from handrail.sessions.session import Session

__all__ = ["rm"]

Force = Annotated[bool, typer.Option("--force", help="Stop a session that runs, and remove it then.")]


def rm(ctx: typer.Context, sessions: Sessions, yes: Yes = False, force: Force = False) -> None:
    """Delete sessions and everything that was kept of them.

    Claude Code's own record of a session stays where it is. A worktree is removed only if nothing in it would be lost.

    Example: handrail rm 3f2a --yes
    """
    from handrail.cli.commands.workplace import at_work

    async def work(place: Workplace) -> int | None:
        found = [await place.session(reference) for reference in dict.fromkeys(sessions)]
        if not force:
            await _refuse_live(found)
        if not await _agreed(place, found, yes=yes):
            return _nothing_deleted(place)
        for session in found:
            await _delete(place, session)
        return None

    at_work(ctx, work)


async def _refuse_live(sessions: list[Session]) -> None:
    from handrail.cli.commands.wording import short_id
    from handrail.errors import SessionBusy

    for session in sessions:
        if await session.is_live():
            raise SessionBusy(
                f"{short_id(session.id)} runs: end it first with handrail stop {short_id(session.id)}, or say --force"
            )


async def _agreed(place: Workplace, sessions: list[Session], *, yes: bool) -> bool:
    from handrail.cli.commands.session_list import session_table
    from handrail.cli.showing.amounts import count

    if not yes:
        rows = [await session.row() for session in sessions]
        place.print(session_table(rows, now=place.now, hosts=await place.hosts_of(rows)))
    return place.confirmed(f"Delete {count(len(sessions), 'session')} for good?", yes=yes)


def _nothing_deleted(place: Workplace) -> int:
    from handrail.cli.commands.failures import ExitCode

    place.remark("nothing was deleted")
    return ExitCode.FAILED


async def _delete(place: Workplace, session: Session) -> None:
    from handrail.cli.commands.wording import short_id
    from handrail.cli.named_hub import is_named
    from handrail.sessions.launching import decode_settings

    row = await session.row()
    worktree = decode_settings(row.settings).worktree
    await session.stop()
    await session.delete()
    place.done(f"{short_id(session.id)} is deleted")
    if worktree is None:
        return
    if row.host or is_named():
        place.remark("its worktree stays where it is: it is on another machine")
    else:
        await _remove_worktree(place, worktree)


async def _remove_worktree(place: Workplace, stored: dict[str, Any]) -> None:
    """Remove the session's worktree, unless something in it would be lost."""
    import msgspec

    from handrail.cli.showing.style import NEEDS_YOU
    from handrail.errors import HandrailError
    from handrail.sessions.worktrees import Worktree, remove_worktree

    worktree = msgspec.convert(stored, Worktree)
    try:
        await remove_worktree(worktree)
    except HandrailError as error:
        place.remark(f"its worktree stays: {error}", NEEDS_YOU)
    else:
        place.done(f"its worktree {worktree.path} is removed")

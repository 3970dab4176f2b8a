"""`handrail show`: what happened in a session."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from handrail.cli.commands.parameters import Session

if TYPE_CHECKING:
    from handrail.cli.commands.workplace import Workplace
    from handrail.events.model import Event
    from handrail.sessions.session import Session as DurableSession
    from handrail.store.base import FrameRow

__all__ = ["show"]

Raw = Annotated[bool, typer.Option("--raw", help="Every line of the wire, as a recording that handrail replay plays.")]
Events = Annotated[bool, typer.Option("--events", help="Every event, one line of JSON each.")]
JSON = Annotated[bool, typer.Option("--json", help="The session and the state it is in, as one JSON document.")]
Last = Annotated[
    int | None,
    typer.Option("--last", "-n", metavar="N", min=1, help="Only the last N runs; with --events or --raw, lines."),
]


def show(
    ctx: typer.Context,
    session: Session,
    raw: Raw = False,
    events: Events = False,
    json: JSON = False,
    last: Last = None,
) -> None:
    """Show what happened in a session.

    What was said and done, what was asked, and who decided.

    Example: handrail show @ --last 1
    """
    if raw + events + json > 1:
        raise typer.BadParameter("choose one of --raw, --events and --json", param_hint="--json")
    from handrail.cli.commands.workplace import at_work

    async def work(place: Workplace) -> None:
        found = await place.session(session)
        if raw:
            await _show_frames(place, found, last)
        elif events:
            await _show_events(place, found, last)
        elif json:
            await _show_state(place, found)
        else:
            await _tell(place, found, last)

    at_work(ctx, work)


async def _tell(place: Workplace, session: DurableSession, last: int | None) -> None:
    from handrail.cli.commands.session_list import session_heading
    from handrail.cli.commands.story import Story, the_last_runs

    row, events = await session.row(), await _all_events(session)
    story = Story(
        cwd=row.cwd,
        waiting=frozenset(ask.id for ask in await session.asks()),
        live=await session.is_live(),
    )
    place.print(session_heading(row, now=place.now, hosts=await place.hosts_of([row])))
    for part in story.tell(events if last is None else the_last_runs(events, last)):
        place.print(part)


async def _show_state(place: Workplace, session: DurableSession) -> None:
    from handrail.cli.commands.session_list import session_data

    row = await session.row()
    place.json({**session_data(row, await place.hosts_of([row])), "view": await session.view()})


async def _show_events(place: Workplace, session: DurableSession, last: int | None) -> None:
    from handrail.events.codec import encode_event

    after = max(0, (await session.row()).last_seq - last) if last is not None else 0
    while events := await session.events(after=after):
        for event in events:
            place.line(encode_event(event).decode())
        after = events[-1].seq


async def _show_frames(place: Workplace, session: DurableSession, last: int | None) -> None:
    from handrail.cli.commands.recorded import recorded_line

    frames = await _all_frames(session)
    for frame in frames if last is None else frames[-last:]:
        place.line(recorded_line(frame, since=frames[0].at))


async def _all_events(session: DurableSession) -> list[Event]:
    events: list[Event] = []
    while page := await session.events(after=events[-1].seq if events else 0):
        events += page
    return events


async def _all_frames(session: DurableSession) -> list[FrameRow]:
    frames: list[FrameRow] = []
    while page := await session.frames(after=frames[-1].number if frames else 0):
        frames += page
    return frames

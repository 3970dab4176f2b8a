"""Following a session live, from the commands that do so: attach, send, resume and fork."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from handrail.cli.attachment import Until, follow
from handrail.cli.commands.wording import short_id
from handrail.cli.endings import Answered, Idle, Pulse
from handrail.cli.named_hub import is_named
from handrail.cli.surface import Without, make_surface
from handrail.events.model import Completed, Event, Started

if TYPE_CHECKING:
    from handrail.cli.commands.workplace import Workplace
    from handrail.sessions.session import Session
    from handrail.store.base import SessionRow

__all__ = ["go_on", "until_answered", "until_idle", "watch"]

HINTS = "type to steer · Ctrl-C interrupts"


class UntilGone:
    """Until Claude Code ends. What is up to event `known` is the past: it may have ended and been resumed there."""

    def __init__(self, known: int) -> None:
        self._known = known
        self._pulse = Pulse()

    def over(self, event: Event) -> bool:
        self._pulse.receive(event)
        return self._pulse.is_gone and event.seq > self._known


async def watch(place: Workplace, session: Session, *, after: int | None, as_json: bool) -> int:
    """Show what happens behind event `after`, or in the last run and from then on, until the person leaves."""
    until = UntilGone((await session.row()).last_seq)
    if after is None:
        after = await _end_of_run_before_last(session)
    return await _follow(place, session, until, after=after, as_json=as_json)


async def go_on(place: Workplace, session: Session, prompt: str | None, *, as_json: bool) -> int:
    """Send a message and show what happens until it is answered; without one, until the person leaves."""
    after = (await session.row()).last_seq
    await session.resume()
    if prompt is None:
        return await watch(place, session, after=after, as_json=as_json)
    uuid = await session.send(prompt, actor=await place.actor_in(session))
    return await until_answered(place, session, uuid, after=after, as_json=as_json)


async def until_answered(place: Workplace, session: Session, uuid: str, *, after: int, as_json: bool = False) -> int:
    """Show what happens behind event `after` until this message is answered."""
    return await _follow(place, session, Answered(uuid), after=after, as_json=as_json)


async def until_idle(place: Workplace, session: Session, *, after: int) -> int:
    """Show what happens behind event `after` until nothing goes on any more. What is asked waits for an answer."""
    return await _follow(place, session, Idle(), after=after, as_json=False, without="leave")


async def _follow(
    place: Workplace, session: Session, until: Until, *, after: int, as_json: bool, without: Without | None = None
) -> int:
    # What runs in this process ends with it. Sessions of others go on, and what they ask waits.
    is_mine = await session.is_mine()
    surface = make_surface(
        json=as_json,
        verbose=place.looks.verbose,
        hints=HINTS if is_mine else f"{HINTS} · Ctrl-D leaves",
        without=without or ("deny" if is_mine else "leave"),
        terminal=place.looks,
    )
    return await follow(
        session,
        surface=surface,
        actor=await place.actor_in(session),
        until=until,
        after=after,
        detaches=not is_mine,
        go_on=_go_on,
    )


def _go_on(row: SessionRow) -> Collection[str]:
    """The commands that go on with a session."""
    own = f'handrail resume {short_id(row.id)} "…"'
    is_elsewhere = bool(row.host) or is_named()
    return (own,) if row.cli_session_id is None or is_elsewhere else (own, f"claude --resume {row.cli_session_id}")


async def _end_of_run_before_last(session: Session) -> int:
    """Behind it is the last run, with the messages that caused it. Read backwards: the last run is near the end."""
    before = (await session.row()).last_seq + 1
    has_started = False
    while page := await session.events(before=before):
        for event in reversed(page):
            has_started = has_started or isinstance(event, Started)
            if has_started and isinstance(event, Completed):
                return event.seq
        before = page[0].seq
    return 0

"""A session as a view: the message for each cursor, made once for all viewers that stand at the same place."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeVar

from handrail.events.codec import decode_event
from handrail.events.model import Event
from handrail.server.live.channel import Channel
from handrail.server.live.protocol import ViewMessage, encode
from handrail.server.live.rows import Row, Shows, Sketch, finish
from handrail.server.live.state import StateLog, state_of
from handrail.server.live.timeline import Timeline
from handrail.server.live.timelines import Timelines
from handrail.server.summaries import HERE, Whereabouts
from handrail.store.base import SessionRow, Store

__all__ = ["Cursor", "Finisher", "LiveView", "Page"]

TAIL = 200
"""Rows of the top level in the first message."""
MOST_CHANGED = 500
"""A viewer that missed more rows than this gets the latest ones anew."""
REMEMBERED = 4

T = TypeVar("T")


class Page(Shows, Protocol):
    """What shows things, and does so aside where that takes long."""

    async def aside(self, work: Callable[[], T], *, size: int) -> T: ...


class Cursor(NamedTuple):
    """What a viewer has: every row as of event number `seq`, and this version of the state; -1: no state yet."""

    seq: int
    version: int = -1


class Made(NamedTuple):
    """A message, and where a viewer stands that has it."""

    text: str
    cursor: Cursor


class Finisher:
    """Makes rows whole: reads what they need from the journal, and has them rendered."""

    def __init__(self, store: Store, shows: Page) -> None:
        self._store = store
        self._shows = shows

    async def finished(self, sketches: Sequence[Sketch], session: SessionRow) -> list[Row]:
        """The rows of some sketches, ready to be sent."""
        sources = await self._sources(session.id, sketches)
        size = sum(sketch.weight for sketch in sketches)
        return await self._shows.aside(lambda: finish(sketches, sources, self._shows, session), size=size)

    async def _sources(self, session_id: str, sketches: Sequence[Sketch]) -> dict[int, Event]:
        found: dict[int, Event] = {}
        for seq in {seq for sketch in sketches for seq in sketch.sources}:
            for row in await self._store.read(session_id, after=seq - 1, limit=1):
                found[row.seq] = decode_event(row.body)
        return found


@dataclass(slots=True, frozen=True)
class _Draft:
    """What a message will say, taken from the timeline at one moment."""

    sketches: Sequence[Sketch]
    state: dict[str, Any]
    reset: bool
    before: str | None
    total: int


class LiveView:
    """The view of one session, for all who follow it so."""

    def __init__(
        self, channel: Channel, timelines: Timelines, finisher: Finisher, hosts: Whereabouts | None = None
    ) -> None:
        self._channel = channel
        self._hosts = hosts
        self._timelines = timelines
        self._finisher = finisher
        self._log = StateLog()
        self._looked_at = -1
        self._made: OrderedDict[tuple[Cursor | None, Cursor], asyncio.Task[str]] = OrderedDict()

    async def message(self, cursor: Cursor | None) -> Made | None:
        """What to tell a viewer that stands at `cursor`, or that has nothing; None if it lacks nothing."""
        timeline = await self._timeline()
        now = self._now(timeline)
        if cursor == now:
            return None
        task = self._made.get((cursor, now))
        if task is None:
            making = self._make(self._draft(timeline, cursor), now)
            task = self._made[cursor, now] = asyncio.get_running_loop().create_task(making)
            task.add_done_callback(lambda done: self._drop_failed((cursor, now), done))
            self._forget_the_oldest()
        # Shielded: a viewer that leaves must not take it from the others.
        return Made(await asyncio.shield(task), now)

    async def close(self) -> None:
        """Make nothing more."""
        for task in self._made.values():
            task.cancel()
        await asyncio.gather(*self._made.values(), return_exceptions=True)

    def row_of_action(self, action_id: str | None) -> str | None:
        """The row of an action, by the action's id."""
        timeline = self._channel.timeline
        return timeline.row_of_action(action_id) if timeline is not None else None

    async def _timeline(self) -> Timeline:
        """The timeline; from the first time on the channel feeds it."""
        channel = self._channel
        while channel.timeline is None:
            timeline = await self._timelines.get(channel.session_id, at_least=channel.seq)
            if timeline.seq >= channel.seq:
                channel.timeline = timeline
        return channel.timeline

    def _now(self, timeline: Timeline) -> Cursor:
        if self._looked_at != self._channel.version:
            self._looked_at = self._channel.version
            row = self._channel.row
            self._log.look(state_of(timeline, row, self._hosts.where(row.host) if self._hosts is not None else HERE))
        return Cursor(timeline.seq, self._log.version)

    def _draft(self, timeline: Timeline, cursor: Cursor | None) -> _Draft:
        fits = cursor is not None and cursor.seq <= timeline.seq
        changed = timeline.changed_after(cursor.seq, limit=MOST_CHANGED) if cursor is not None and fits else None
        if cursor is not None and changed is not None:
            return _Draft(changed, self._log.since(cursor.version), False, None, timeline.total)
        window = timeline.tail(TAIL)
        return _Draft(window.sketches, self._log.state, True, window.before, window.total)

    async def _make(self, draft: _Draft, now: Cursor) -> str:
        rows = await self._finisher.finished(draft.sketches, self._channel.row)
        message = ViewMessage(
            session=self._channel.session_id,
            seq=now.seq,
            reset=draft.reset,
            state=draft.state,
            rows=rows,
            before=draft.before,
            total=draft.total,
        )
        return encode(message)

    def _drop_failed(self, key: tuple[Cursor | None, Cursor], task: asyncio.Task[str]) -> None:
        """The next one who wants it tries again."""
        if (task.cancelled() or task.exception() is not None) and self._made.get(key) is task:
            del self._made[key]

    def _forget_the_oldest(self) -> None:
        while len(self._made) > REMEMBERED:
            self._made.popitem(last=False)

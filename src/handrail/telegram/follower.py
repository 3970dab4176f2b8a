"""Follows one session for all chats that do: reads its journal on, and wants what is to stand in them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from typing import Final

from handrail.events.model import AskOpened, Delta
from handrail.events.reduce import reduce
from handrail.events.view import AskItem, SessionView
from handrail.remote.hub import Hub
from handrail.sessions.feed import Item
from handrail.store.base import SessionRow
from handrail.telegram.afterwards import want_files
from handrail.telegram.asks.desk import AskDesk, item_of
from handrail.telegram.model import Place
from handrail.telegram.news import News
from handrail.telegram.outbox.worker import Outbox
from handrail.telegram.passing import Passing
from handrail.telegram.people import People
from handrail.telegram.plan_leaving import PlanLeaving
from handrail.telegram.rhythm import Rhythm
from handrail.telegram.sessions import let_go
from handrail.telegram.show.streamed import written_so_far
from handrail.telegram.state import BridgeState, Follow, Tables
from handrail.telegram.telling import Teller
from handrail.telegram.viewing import opened_view, trim, turn_the_page

__all__ = ["Follower"]

WAITING_ITEMS: Final = 1_000
AWAY: Final = "away"
UNSEEN: Final = -1


@dataclass(slots=True)
class _Shown:
    """The progress that was shown last: when, and what was known then."""

    at: float = 0.0
    seq: int = 0
    text: str = ""


@dataclass
class Follower:
    """One session and those who follow it. `run` ends once it has rested, or was deleted, or must begin anew."""

    session_id: str
    hub: Hub
    state: BridgeState
    outbox: Outbox
    desk: AskDesk
    people: People
    on_over: Callable[[str, bool], None]
    """Is told when a run is over, and whether Claude has nothing to do any more."""
    rhythm: Rhythm = field(default_factory=Rhythm)
    clock: Callable[[], float] = time.time
    ticks: Callable[[], float] = time.monotonic
    """What waits are measured with: nobody sets it back."""
    _view: SessionView = field(default_factory=SessionView)
    _news: News = field(default_factory=News)
    _shown: _Shown = field(default_factory=_Shown)
    _refresh: bool = True
    _told: int = 0
    """The number of the last event that all chats were told of."""
    _host: str = ""
    _is_away: bool = False
    """Whether nothing is heard of that host now."""
    _hears_text: bool = False
    """Whether what is being written comes, too: only some want to know that."""
    _last_change: float = 0.0
    _settled_at: float = 0.0

    def __post_init__(self) -> None:
        self._passing = Passing(self.session_id, self.outbox, self.rhythm)
        self._plans = PlanLeaving(self.session_id, self.hub, self.state, self.people)

    def refresh(self) -> None:
        """Somebody else follows it now, or otherwise: show everybody what is asked."""
        self._refresh = True

    def host_is(self, state: str) -> None:
        """How the host is that runs it: what goes on there is not known while it is away."""
        is_away = state == AWAY
        if is_away != self._is_away:
            self._is_away = is_away
            self._shown.seq = UNSEEN

    async def run(self) -> None:
        """Raises `SessionNotFound` if the session was deleted."""
        follows = await self._follows()
        row = await self.hub.session(self.session_id).row()
        if not follows:
            return
        await self._begin(row, min(follow.cursor for follow in follows))
        queue: asyncio.Queue[Item | None] = asyncio.Queue(WAITING_ITEMS)
        self._hears_text = any(follow.mode == "all" for follow in follows)
        items = self.hub.session(self.session_id).subscribe(self._view.seq, deltas=self._hears_text)
        pump = asyncio.get_running_loop().create_task(_pump(items, queue))
        try:
            if await self._follow(queue):
                await pump  # it is at its end, and raises why
        finally:
            pump.cancel()
            await asyncio.gather(pump, return_exceptions=True)

    async def _begin(self, row: SessionRow, cursor: int) -> None:
        self._view = await opened_view(self.hub.store, row, cursor)
        self._told = cursor
        await self._look_at_host(row.host)
        self._last_change = self.ticks()
        age = self.clock() - max((item.at for item in self._view.asks.values()), default=0.0)
        if 0 <= age < self.rhythm.settling:
            self._settled_at = self.ticks() + self.rhythm.settling - age

    async def _follow(self, queue: asyncio.Queue[Item | None]) -> bool:
        """Until it need not go on. Says whether that is because nothing more will come."""
        while True:
            is_open = await self._take_in(queue)
            if is_open and self._is_settling:
                continue
            is_told = await self._tell()
            if not is_open:
                return True
            if not is_told or self._has_rested:
                await self._catch_up()
                return False

    async def _catch_up(self) -> None:
        """Have it known that there is nothing to tell of the last events: whoever is behind is followed again."""
        if self._has_rested and self._view.seq > self._told:
            await self._write()

    async def _take_in(self, queue: asyncio.Queue[Item | None]) -> bool:
        """Whatever has come, or nothing for a while. False at the end."""
        with suppress(TimeoutError):
            async with asyncio.timeout(self._patience()):
                if not self._take(await queue.get()):
                    return False
        while not queue.empty():
            if not self._take(queue.get_nowait()):
                return False
        return True

    def _take(self, item: Item | None) -> bool:
        if item is None:
            return False
        reduce(self._view, item)
        self._last_change = self.ticks()
        if not isinstance(item, Delta):
            trim(self._view)
            if item.seq > self._told:
                if isinstance(item, AskOpened) and not self._is_settling:
                    self._settled_at = self.ticks() + self.rhythm.settling
                self._news.take(self._view, item)
        return True

    def _patience(self) -> float:
        """How long to wait for something new."""
        if self._is_settling:
            return self._settled_at - self.ticks()
        if self._news or self._refresh:
            return 0.0
        if self._view.run is not None:
            return min(self.rhythm.draft, self.rhythm.progress)
        return max(0.05, self._last_change + self.rhythm.rest - self.ticks())

    @property
    def _is_settling(self) -> bool:
        """Whether something was asked only just now, and may be answered before a person could."""
        is_open = any(item.outcome is None for _, item in self._news.asks.values())
        is_to_be_shown = self._refresh and bool(self._view.asks)
        return (is_open or is_to_be_shown) and self.ticks() < self._settled_at

    @property
    def _has_rested(self) -> bool:
        view = self._view
        idle = view.run is None and not view.asks and not view.running_tasks and not self._news
        return idle and self.ticks() >= self._last_change + self.rhythm.rest

    # ------------------------------------------------------------ telling

    async def _tell(self) -> bool:
        """Bring the chats to what is so now. False if somebody is behind: then it must be read from there."""
        await self._look_up_strange_asks()
        for item in await self._plans.answer(self._view):
            self._hide(item)
        if (self._news or self._refresh or self._is_progress_due) and not await self._write():
            return False
        now = self.ticks()
        if self._view.seq >= self._told and not self._is_away and self._passing.is_due(self._view, now):
            self._passing.show(self._view, await self._places(), now)
        return True

    @property
    def _is_progress_due(self) -> bool:
        run, now = self._view.run, self.ticks()
        if run is None or self._view.seq < self._told:
            return False
        # Where it runs, the clock may be another one: a run of the future has gone on for who knows how long.
        if not self._shown.at and 0 <= self.clock() - run.started_at < self.rhythm.first_progress:
            return False
        has_changed = self._view.seq != self._shown.seq or written_so_far(self._view) != self._shown.text
        return now >= self._shown.at + (self.rhythm.progress if has_changed else self.rhythm.heartbeat)

    async def _write(self) -> bool:
        news, self._news = self._news, News()
        refresh, self._refresh = self._refresh, False
        shows_progress = self._is_progress_due
        if news.runs:
            self._passing.drop((run for _, run in news.runs), await self._places())
        told = await self.state.write(lambda tables: self._told_all(tables, news, refresh, shows_progress))
        if not told:
            return False
        self._told = max(self._told, self._view.seq)
        if shows_progress:
            self._shown = _Shown(self.ticks(), self._view.seq, written_so_far(self._view))
        if news.runs:
            self._run_is_over()
        return True

    def _run_is_over(self) -> None:
        self._shown = _Shown()
        turn_the_page(self._view)
        self.on_over(self.session_id, self._view.run is None and not self._view.asks)

    def _told_all(self, tables: Tables, news: News, refresh: bool, shows_progress: bool) -> bool:
        """In one transaction: what every chat is to show, and that it knows of it."""
        follows = self._served(tables)
        if not follows or any(self._is_left_behind(follow) for follow in follows):
            return False
        for follow in follows:
            teller = Teller(
                tables, follow, self._view, self.desk, host=self._host, is_away=self._is_away, now=self.clock()
            )
            teller.tell(news)
            if refresh:
                for item in self._view.asks.values():
                    teller.ask(item)
            if shows_progress:
                teller.progress(streamed=not self._passing.has_draft(follow.place))
            tables.move(follow.place, self.session_id, self._view.seq)
            if news.runs:
                want_files(tables, follow, self._view.seq)
            if news.runs and self._view.run is None:
                let_go(tables, [follow])
        return True

    def _served(self, tables: Tables) -> list[Follow]:
        """Those who follow it and may. A place that is not served any more hears nothing more."""
        follows = tables.follows(self.session_id)
        for follow in follows:
            if not self.people.serves(follow.place):
                tables.unfollow(follow.place, self.session_id)
        return [follow for follow in follows if self.people.serves(follow.place)]

    def _is_left_behind(self, follow: Follow) -> bool:
        """Whether somebody came who must be told of more than what comes from now on."""
        return follow.cursor < self._told or (follow.mode == "all" and not self._hears_text)

    # ------------------------------------------------------------ asks

    async def _look_up_strange_asks(self) -> None:
        """Asks that were opened before the part of the journal that is in memory."""
        strange, self._news.strange_asks = self._news.strange_asks, []
        for seq, ask_id in strange:
            row = await self.hub.store.get_ask(self.session_id, ask_id)
            if row is not None:
                self._news.asks[ask_id] = (seq, item_of(row))

    def _hide(self, item: AskItem) -> None:
        """It is answered: it will be shown when that is in the journal."""
        self._news.asks.pop(item.ask_id, None)
        self._view.asks.pop(item.ask_id, None)
        self._view.closed_asks[item.ask_id] = item

    # ------------------------------------------------------------ inside

    async def _look_at_host(self, host_id: str) -> None:
        """What people call the machine that the session runs on, and how it is; nothing for the hub's own."""
        hosts = {host.id: host for host in await self.hub.hosts()} if host_id else {}
        host = hosts.get(host_id)
        self._host = host.name if host is not None else host_id
        self._is_away = host is not None and host.state == AWAY

    async def _follows(self) -> list[Follow]:
        return await self.state.read(lambda tables: tables.follows(self.session_id))

    async def _places(self) -> list[Place]:
        return [follow.place for follow in await self._follows() if follow.mode == "all"]


async def _pump(items: AsyncGenerator[Item, None], queue: asyncio.Queue[Item | None]) -> None:
    """Put what comes where it is waited for, and None at the end."""
    try:
        async with aclosing(items):
            async for item in items:
                await queue.put(item)
    except Exception:
        await queue.put(None)
        raise
    await queue.put(None)

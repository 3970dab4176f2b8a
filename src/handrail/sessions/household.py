"""The sessions that live in this process, and the way to those that live elsewhere.

Whoever holds a handle of a session asks here where it lives. Making a session live goes through here too: one start at
a time, the lock before the CLI, and what a dead owner left behind is closed first.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import AsyncGenerator, Coroutine, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from typing import Any, Protocol
from weakref import WeakValueDictionary

import msgspec

from handrail.errors import (
    HandrailError,
    HostAway,
    InvalidOptions,
    SessionBusy,
    SessionError,
    SessionLimit,
    SessionNotFound,
    SessionNotLive,
    StoreError,
)
from handrail.events.model import Event
from handrail.places import Places
from handrail.policy.policy import Policy
from handrail.policy.storage.loading import PolicySource
from handrail.protocol.options import Options
from handrail.sessions.abroad import Abroad
from handrail.sessions.conversations import begin, go_on
from handrail.sessions.dialled_in import DIALLED_IN, waits_for_its_cli
from handrail.sessions.engine import Engine
from handrail.sessions.feed import Feed, Item
from handrail.sessions.guards.admission import Admission
from handrail.sessions.guards.notifications import Notifier, Notify
from handrail.sessions.guards.restarts import check_restart
from handrail.sessions.guards.spending import DayPurse
from handrail.sessions.guards.watch import Limits, SessionGuards
from handrail.sessions.house_rules import HouseRules
from handrail.sessions.launching import SessionSettings, changed, check_policy_is_known
from handrail.sessions.owning.ownership import Owned, Ownership
from handrail.sessions.pursuing import Pursuit
from handrail.sessions.seats import HereSeat, SeatServer, ThereSeat
from handrail.sessions.session import Seat, Session
from handrail.sessions.sitting import Attachments
from handrail.store.base import FrameRow, SessionFilter, SessionRow, Store
from handrail.transports.ingress.transport import IngressTransport

__all__ = ["Host", "Household"]

logger = logging.getLogger("handrail.session")


class Host(Protocol):
    """Another process that sessions may live in: the hub of this machine."""

    async def take(self, session_id: str) -> bool:
        """Make a session live there; False if it cannot be asked, and the session is to live here."""


class Household:
    """Where sessions live. Owned by a manager, which opens and closes it."""

    def __init__(
        self,
        store: Store,
        places: Places,
        *,
        env: Mapping[str, str],
        limits: Limits,
        notify: Sequence[Notify],
        host: Host | None = None,
        abroad: Abroad | None = None,
    ) -> None:
        self.store = store
        self.limits = limits
        self._places = places
        self._env = env
        self._host = host
        self.abroad = abroad
        """The other machines, if this is the household of a hub."""
        self.rules = HouseRules(places)
        self._admission = Admission(limits.concurrent_sessions, directory=os.path.join(places.runtime, "seats"))
        self._day: DayPurse | None = None
        self._notifier = Notifier(notify)
        self._resources = AsyncExitStack()
        self._work: set[asyncio.Task[None]] = set()
        self._engines: dict[str, Engine] = {}
        self._feeds: dict[str, Feed] = {}
        self._copies: set[str] = set()
        self._starting: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._ownership = Ownership(store, places, SeatServer(self._here), environ={**os.environ, **env})
        self._closed = False

    async def open(self) -> None:
        """Answer other processes from now on, and close what dead owners left open."""
        await self._resources.enter_async_context(self._notifier)
        if self.limits.daily_budget is not None:
            self._day = await self._resources.enter_async_context(self._purse_of_the_day(self.limits.daily_budget))
        await self._ownership.start()
        await self._recover_orphans()

    def _purse_of_the_day(self, limit: float) -> DayPurse:
        directory = os.path.join(self._places.state, "today")
        return DayPurse(limit, read_spent=lambda since: self.store.spent(since=since), directory=directory)

    async def close(self) -> None:
        """Stop every session that lives here."""
        self._closed = True
        for task in self._work:
            task.cancel()
        await asyncio.gather(*self._work, return_exceptions=True)
        await asyncio.gather(*(engine.part() for engine in list(self._engines.values())), return_exceptions=True)
        for feed in self._feeds.values():
            feed.close()
        await self._ownership.close()
        await self._resources.aclose()

    async def owned(self, *, everywhere: bool = False) -> Sequence[SessionRow]:
        """The sessions of this machine that have an owner, in whichever process, as far as is stored; or of all."""
        host = None if everywhere else ""
        rows = await self.store.list_sessions(SessionFilter(archived=None, host=host), limit=100_000)
        return [row for row in rows if row.owner]

    # ------------------------------------------------------------ where sessions live

    async def seat(self, session_id: str) -> Seat | None:
        """Where a session lives now; None if nowhere."""
        starting = self._starting.get(session_id)
        if starting is not None and session_id not in self._engines:
            async with starting:
                pass
        return await self._seat(session_id)

    async def _seat(self, session_id: str) -> Seat | None:
        engine = self._engines.get(session_id)
        if engine is not None and not engine.leaving:
            return self._here(session_id)
        if engine is not None:
            await engine.over.wait()
        row = await self._row(session_id)
        if row.host:
            return await self._other_machines(row).seat(row)
        if row.owner is None:
            return None
        link = await self._ownership.link_to_owner(row)
        if link is not None:
            return ThereSeat(session_id, link)
        await self._ownership.recover(row, self._feed(session_id))
        return None

    async def seat_here(self, session_id: str) -> Seat:
        """Resume a session in this process, unless it lives already."""
        await self.resume(session_id, Attachments(), {})
        seat = await self.seat(session_id)
        if seat is None:
            raise SessionNotLive(f"the CLI of session {session_id[:8]} ended as soon as it was started")
        return seat

    async def start_again(self, session_id: str) -> None:
        """Resume a session in this process, unless it lives already."""
        await self.seat_here(session_id)

    def stored_items(self, session_id: str, after: int, *, deltas: bool, follow: bool) -> AsyncGenerator[Item, None]:
        """The journal of a session, and what is added to it, by this process or by another that takes it."""
        feed = self._feed(session_id)
        if not follow:
            return feed.read(after, deltas=deltas, follow=False)
        pursuit = Pursuit(
            feed,
            elsewhere=partial(self._seat_elsewhere, session_id),
            watch=partial(self.store.watch, partial(self._stirs, feed), session_id=session_id),
        )
        return pursuit.read(after, deltas=deltas)

    async def _seat_elsewhere(self, session_id: str) -> Seat | None:
        """Where a session lives, if another process has it and can be reached. Nothing is waited for or closed."""
        if self._is_here(session_id):
            return None
        row = await self._row(session_id)
        if row.host:
            return None  # its journal is copied here: there is nothing to follow elsewhere
        link = await self._ownership.link_to_owner(row)
        return ThereSeat(session_id, link) if link is not None else None

    def _stirs(self, feed: Feed, session_id: str, last_seq: int) -> None:
        """Something was done with a session. What is done here is published anyway."""
        if not self._is_here(session_id):
            feed.move()

    def _is_here(self, session_id: str) -> bool:
        """Whether a session lives in this process, or is about to."""
        return session_id in self._engines or session_id in self._starting or session_id in self._copies

    def _other_machines(self, row: SessionRow) -> Abroad:
        if self.abroad is None:
            raise HostAway(f"session {row.id[:8]} runs on another machine, which only the hub can reach")
        return self.abroad

    def copy_feed(self, session_id: str) -> Feed:
        """What readers follow of a session of another machine: whoever copies it here publishes into it."""
        self._copies.add(session_id)
        return self._feed(session_id)

    async def frames(self, session_id: str, *, after: int, limit: int) -> Sequence[FrameRow]:
        """Raw frames of a session: they stay where it ran."""
        row = await self._row(session_id)
        if row.host:
            return await self._other_machines(row).frames(row, after=after, limit=limit)
        return await self.store.frames(session_id, after=after, limit=limit)

    async def export(self, session_id: str, format: str) -> str:
        """A session as one document."""
        from handrail.sessions.exporting import export

        session = Session(session_id, self)
        row = await session.row()
        events = [item async for item in session.subscribe(deltas=False, follow=False) if isinstance(item, Event)]
        return await asyncio.to_thread(export, format, row, events)

    async def change(self, session_id: str, **columns: Any) -> None:
        """Set what can be set without a session's CLI."""
        row = await self._row(session_id)
        if row.host:
            await self._other_machines(row).change(row, columns)
        else:
            await self.store.change_session(session_id, **columns)

    async def delete(self, session_id: str) -> None:
        """Remove a session and everything of it."""
        row = await self._row(session_id)
        if row.host:
            await self._other_machines(row).delete(row)
            self.forget_copy(session_id)
            return
        if await self.seat(session_id) is not None:
            raise SessionBusy(f"session {session_id[:8]} is live: stop it before you delete it")
        await self._remove(session_id)

    async def discard(self, session_id: str) -> bool:
        """Remove a session that did not come about, while its start is held (`while_starting`), unless it lives."""
        if await self._seat(session_id) is not None:
            return False
        await self._remove(session_id)
        return True

    async def _remove(self, session_id: str) -> None:
        await self.store.delete_session(session_id)
        self._close_feed(session_id)

    def forget_copy(self, session_id: str) -> None:
        """A copied session is not here any more: whoever follows it has read all there was."""
        self._copies.discard(session_id)
        self._close_feed(session_id)

    def _close_feed(self, session_id: str) -> None:
        feed = self._feeds.pop(session_id, None)
        if feed is not None:
            feed.close()

    async def _row(self, session_id: str) -> SessionRow:
        row = await self.store.get_session(session_id)
        if row is None:
            raise SessionNotFound(f"there is no session {session_id}")
        return row

    # ------------------------------------------------------------ making a session live

    async def resume(
        self,
        session_id: str,
        attachments: Attachments,
        changes: Mapping[str, Any],
        *,
        why: str = "resume",
        policy: Policy | PolicySource | None = None,
    ) -> None:
        """Make a session live here, unless it lives already. `policy` takes the place of the one that is remembered.

        One that goes on as it was lives with the host, if there is one.
        """
        as_it_was = not changes and policy is None and attachments == Attachments()
        async with self.while_starting(session_id):
            if await self._seat(session_id) is not None:
                return
            row = await self._row(session_id)
            if row.host:
                if policy is not None or attachments != Attachments():
                    raise InvalidOptions(
                        f"session {session_id[:8]} runs on another machine: callbacks, hooks, tools, recordings and a "
                        "policy of a program's own need `handrail.Hub`"
                    )
                await self._other_machines(row).resume(row, changes)
                return
            if as_it_was and self._host is not None and await self._host.take(session_id):
                return
            settings = changed(self.rules.remembered(row), changes)
            if settings.dials_in:
                raise SessionNotLive(waits_for_its_cli(session_id))
            check_policy_is_known(settings, session_id, given=policy is not None)
            sit = partial(self.sit, settings=settings, why=why, attachments=attachments, policy=policy)
            try:
                await (go_on if await self._has_begun(row) else begin)(row, settings, sit)
            except SessionBusy:
                if await self._seat(session_id) is None:
                    raise
                # Another process was faster: the session lives there.

    async def seat_dialled_in(self, session_id: str, transport: IngressTransport) -> None:
        """Make a session live here whose CLI has dialled in. Raises `SessionBusy` if it lives already."""
        async with self.while_starting(session_id):
            if await self._seat(session_id) is not None:
                raise SessionBusy(f"session {session_id[:8]} has a Claude Code already")
            row = await self._row(session_id)
            settings = self.rules.remembered(row)
            await self.sit(
                row, settings.options, settings, why=DIALLED_IN, attachments=Attachments(), dialled_in=transport
            )

    @asynccontextmanager
    async def while_starting(self, session_id: str) -> AsyncGenerator[None, None]:
        """One start of a session at a time; whoever looks for the session meanwhile waits for it."""
        lock = self._starting.setdefault(session_id, asyncio.Lock())  # it is kept by those who hold or await it
        async with lock:
            yield

    async def _has_begun(self, row: SessionRow) -> bool:
        """Whether the CLI keeps a conversation of this session: before its first run there is none to resume."""
        return bool(await self.store.runs(row.id))

    async def sit(
        self,
        row: SessionRow,
        options: Options,
        settings: SessionSettings,
        *,
        why: str,
        attachments: Attachments,
        policy: Policy | PolicySource | None = None,
        dialled_in: IngressTransport | None = None,
    ) -> Engine:
        owned = await self._take(row)
        if self._closed:
            await owned.give_up()
            raise SessionError(f"session {row.id[:8]} is not started: its manager was closed")
        engine = Engine(
            row,
            owned=owned,
            settings=settings,
            guards=SessionGuards(self.limits, admission=self._admission, day=self._day),
            attachments=attachments,
            dialled_in=dialled_in,
            on_end=self._forget,
        )
        try:
            engine.policy = policy or self.rules.source(settings, options, engine.note)
            self._engines[row.id] = engine
            await engine.start(self._with_env(options), why=why)
        except BaseException:
            await engine.stop()
            raise
        return engine

    async def write_history(self, row: SessionRow, events: Sequence[Event]) -> None:
        """Put what happened before Handrail knew a session into its journal."""
        # Not the feed of the session: nobody is to be notified of what happened long ago.
        owned = await self._ownership.take(row, Feed(row.id, self.store), on_failure=lambda error: None)
        try:
            owned.journal.add(events)
        finally:
            await owned.give_up()

    async def _take(self, row: SessionRow) -> Owned:
        return await self._ownership.take(row, self._feed(row.id), on_failure=lambda error: self._failed(row.id, error))

    def _failed(self, session_id: str, error: StoreError) -> None:
        engine = self._engines.get(session_id)
        if engine is not None:
            engine.failed(error)

    def _forget(self, engine: Engine) -> None:
        if self._engines.get(engine.session_id) is engine:
            del self._engines[engine.session_id]
            self._feed(engine.session_id).rest()
        if engine.died and not self._closed:
            self._start(self._revive(engine))

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._work.add(task)
        task.add_done_callback(self._work.discard)

    async def _revive(self, engine: Engine) -> None:
        """Start the CLI again if it died with messages that it never got, unless that happens too often.

        It is held to what the one before was held to: the program's hooks and policy are still there.
        """
        session_id = engine.session_id
        policy = engine.policy if engine.settings.policy is None else None
        try:
            if await self.store.messages(session_id, states=("queued",)):
                await check_restart(self.store, session_id, self.limits.restarts, now=time.time())
                await self.resume(session_id, engine.attachments.again(), {}, why="recovery", policy=policy)
        except SessionLimit as error:
            await self._warn(session_id, f"messages were not sent: {error}")
        except HandrailError as error:
            logger.warning("session %s has messages that were not sent: %s", session_id[:8], error)

    async def _warn(self, session_id: str, text: str) -> None:
        """Put a warning into the journal of a session that nobody owns."""
        logger.warning("session %s: %s", session_id[:8], text)
        async with self.while_starting(session_id):
            row = await self.store.get_session(session_id)
            if row is None or await self._seat(session_id) is not None:
                return
            owned = await self._take(row)
            owned.journal.remark(text, warning=True)
            await owned.give_up()

    def _here(self, session_id: str) -> HereSeat:
        engine = self._engines.get(session_id)
        if engine is None:
            raise SessionNotLive(f"session {session_id[:8]} does not live in this process any more")
        return HereSeat(engine, self._feed(session_id))

    def _feed(self, session_id: str) -> Feed:
        feed = self._feeds.get(session_id)
        if feed is None:
            feed = self._feeds[session_id] = Feed(session_id, self.store, on_event=self._notify)
        return feed

    def _notify(self, session_id: str, event: Event) -> None:
        engine = self._engines.get(session_id)
        self._notifier.see(event, session_id=session_id, title=engine.title if engine is not None else "")

    def _with_env(self, options: Options) -> Options:
        return msgspec.structs.replace(options, env={**self._env, **options.env})

    # ------------------------------------------------------------ after a crash

    async def _recover_orphans(self) -> None:
        """Bring the journals of sessions whose owner died to an end, so that everybody sees what became of them."""
        for row in await self.owned():
            try:
                await self._ownership.recover(row, self._feed(row.id))
            except SessionError as error:  # one session must not keep people from all the others
                logger.warning("session %s cannot be brought to an end now: %s", row.id[:8], error)

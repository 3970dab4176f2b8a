"""Copies the journals of this host to the hub: page by page, one pump for each session that has something new.

One copier serves one connection. It begins with what the hub says it has, and ends with the connection; whatever was
not acknowledged by then is not in what the hub says the next time.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterable
from typing import Any, Final

import msgspec

from handrail.errors import StoreError
from handrail.host.outbox import Outbox
from handrail.host.watching import DeltaFollower
from handrail.link.windows import Window, page_size
from handrail.link.wire import LONGEST_PARCEL, Ack, CopyRefused, Gone, Offer, Page
from handrail.sessions.manager import Manager
from handrail.store.base import CopyHead, CopyPage

__all__ = ["Copier", "Lane"]

logger = logging.getLogger("handrail.host")

PAGE: Final = 256 * 1024
SMALLEST_PAGE: Final = 16 * 1024
LONGEST_PAGE: Final = LONGEST_PARCEL - 1024 * 1024
"""What is longer would end the connection, and with it the copying of all other sessions: small messages may share its
parcel."""
HEADS: Final = 1_000
SHORTEST_PAUSE: Final = 1.0
LONGEST_PAUSE: Final = 30.0


class Lane:
    """One session on its way to the hub: how far it was sent, and what is under way."""

    def __init__(self, session_id: str, window: Window) -> None:
        self.session_id = session_id
        self.window = window
        self.cursor = 0
        """The last event that was sent."""
        self.revision = 0
        self.changed = 0
        self.has_news = False
        self.refusals = 0
        self._moved = asyncio.Event()

    def begin(self, head: CopyHead) -> None:
        """The hub has so much of it, and nothing is under way."""
        self.window.reset()
        self.cursor, self.revision, self.changed = head.last_seq, head.revision, head.changed
        self._move()

    def sent(self, page: CopyPage) -> Page:
        """A page, to be sent now."""
        size = page_size(page)
        message = Page(number=self.window.sent(size), page=page, size=size)
        if page.events:
            self.cursor = page.events[-1].seq
        self.revision, self.changed = page.revision, page.changed
        self._move()
        return message

    def acknowledged(self, number: int) -> None:
        self.window.acknowledge(number)
        self.refusals = 0
        self._move()

    async def open(self) -> None:
        """Wait until a page may be sent."""
        await self._until(lambda: self.window.room > 0)

    async def reached(self, seq: int) -> None:
        """Wait until the event with this number was sent."""
        await self._until(lambda: self.cursor >= seq)

    def adds(self, page: CopyPage) -> bool:
        """Whether the hub lacks anything of a page."""
        return bool(page.events) or page.revision > self.revision or page.changed > self.changed

    async def _until(self, condition: Callable[[], bool]) -> None:
        while not condition():
            self._moved.clear()
            await self._moved.wait()

    def _move(self) -> None:
        self._moved.set()


class Copier:
    """The journals of a store on one connection. Used inside `run`, which ends only by being cancelled.

    `trouble` hears what is wrong with the store, and an empty text once it is well again.
    """

    def __init__(
        self,
        manager: Manager,
        outbox: Outbox,
        *,
        window: int,
        trouble: Callable[[str], None] = lambda words: None,
        sleep: Callable[[float], Coroutine[Any, Any, None]] = asyncio.sleep,
    ) -> None:
        self._manager = manager
        self._store = manager.store
        self._outbox = outbox
        self._window = window
        self._trouble = trouble
        self._sleep = sleep
        self._lanes: dict[str, Lane] = {}
        self._have: dict[str, CopyHead] = {}
        self._offered: dict[str, CopyHead] = {}
        """What was offered, and not answered yet."""
        self._early: set[str] = set()
        """What stirred before the hub said what it has of it."""
        self._offering = True
        self._in_trouble = False
        self._too_long: set[str] = set()
        """Sessions of which nothing more can be copied."""
        self._over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._pumps: dict[str, asyncio.Task[None]] = {}
        self._followers: dict[str, asyncio.Task[None]] = {}

    async def run(self) -> None:
        """Offer every journal, and copy what the hub lacks, for as long as the connection lasts."""
        unwatch = self._store.watch(self._stirred)
        try:
            await self._offer()
            await self._over
        finally:
            unwatch()
            self._over.cancel()
            await self._end([*self._pumps.values(), *self._followers.values()])

    # ------------------------------------------------------------ what the hub says

    def have(self, heads: Iterable[CopyHead]) -> None:
        """The hub has so much of these sessions."""
        for head in heads:
            source = self._offered.pop(head.session_id, None)
            if source is None:
                continue
            if head.journal != source.journal:
                head = msgspec.structs.replace(head, revision=0, changed=0)  # each journal counts anew
            self._have[head.session_id] = head
            if head.session_id in self._lanes:
                self._lanes[head.session_id].begin(head)
            if head.is_behind(source) or head.session_id in self._early:
                self._early.discard(head.session_id)
                self._wake(self._lane(head.session_id))

    def acknowledged(self, ack: Ack) -> None:
        """Pages are committed. Raises `LocalProtocolError` if they were never sent."""
        lane = self._lanes.get(ack.session)
        if lane is not None:
            lane.acknowledged(ack.number)

    def refused(self, refusal: CopyRefused) -> None:
        """A page could not be stored: begin again behind what the hub has, after a pause."""
        lane = self._lanes.get(refusal.session)
        if lane is None:
            return
        pause = min(LONGEST_PAUSE, SHORTEST_PAUSE * 2**lane.refusals)
        logger.warning("the hub cannot store session %s now: %s", lane.session_id[:8], refusal.reason)
        pump = self._pumps.pop(lane.session_id, None)
        if pump is not None:
            pump.cancel()
        lane.begin(CopyHead(session_id=lane.session_id, fence=0, last_seq=refusal.last_seq))
        lane.refusals += 1
        lane.has_news = True
        self._start_pump(lane, pause)

    def watch(self, session_id: str, on: bool) -> None:
        """Somebody watches a session, or nobody any more."""
        following = self._followers.pop(session_id, None)
        if following is not None:
            following.cancel()
        if on:
            follower = DeltaFollower(self._manager, self._lane(session_id), self._outbox)
            self._followers[session_id] = self._task(follower.run())

    @property
    def trouble(self) -> str:
        """What cannot be copied, in words; empty if everything can."""
        if not self._too_long:
            return ""
        names = ", ".join(sorted(each[:8] for each in self._too_long))
        return f"what follows in session {names} is too long to be sent to the hub: it can only be read on the host"

    async def is_complete(self) -> bool:
        """Whether the hub has acknowledged everything that is stored here."""
        if self._offering or self._offered:
            return False
        after = 0
        while heads := await self._store.heads(after=after, limit=HEADS):
            if not all(map(self._has_all, heads)):
                return False
            after = heads[-1].changed
        return True

    def _has_all(self, source: CopyHead) -> bool:
        lane = self._lanes.get(source.session_id)
        if lane is not None:
            return lane.changed >= source.changed and lane.cursor >= source.last_seq and not lane.window.pages
        head = self._have.get(source.session_id)
        return head is not None and not head.is_behind(source)

    # ------------------------------------------------------------ what happens here

    async def _offer(self) -> None:
        after = 0
        while heads := await self._store.heads(after=after, limit=HEADS):
            self._offered |= {head.session_id: head for head in heads}
            self._outbox.put(Offer(heads=heads))
            after = heads[-1].changed
        self._outbox.put(Offer(done=True))
        self._offering = False
        for session_id in self._early - self._offered.keys():  # made meanwhile: the hub cannot have any of it
            self._early.discard(session_id)
            self._wake(self._lane(session_id))

    def _stirred(self, session_id: str, last_seq: int) -> None:
        """Something was stored."""
        self._wake(self._lane(session_id))

    def _lane(self, session_id: str) -> Lane:
        lane = self._lanes.get(session_id)
        if lane is None:
            lane = self._lanes[session_id] = Lane(session_id, Window(self._window))
            head = self._have.get(session_id)
            if head is not None:
                lane.begin(head)
        return lane

    def _wake(self, lane: Lane) -> None:
        """There is something new. The hub must have said what it has before anything is sent."""
        if self._over.done():
            return
        lane.has_news = True
        if self._offering or lane.session_id in self._offered:
            self._early.add(lane.session_id)
        elif lane.session_id not in self._pumps:
            self._start_pump(lane, 0.0)

    def _start_pump(self, lane: Lane, pause: float) -> None:
        self._pumps[lane.session_id] = self._task(self._pump(lane, pause))

    def _task(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[None]) -> None:
        """What nobody expected ends the connection: the next one begins anew."""
        error = None if task.cancelled() else task.exception()
        if error is not None and not self._over.done():
            self._over.set_exception(error)

    async def _pump(self, lane: Lane, pause: float) -> None:
        """Send what is new of one session, until nothing is."""
        failures = 0
        if pause:
            await self._sleep(pause)
        while lane.has_news:
            lane.has_news = False
            try:
                while await self._send_next(lane):
                    pass
            except StoreError as error:
                self._in_trouble = True
                self._trouble(f"the journal cannot be read: {error}")
                lane.has_news = True
                await self._sleep(min(LONGEST_PAUSE, SHORTEST_PAUSE * 2**failures))
                failures += 1
            else:
                failures = 0
                self._recovered()
        self._pumps.pop(lane.session_id, None)

    def _recovered(self) -> None:
        if self._in_trouble:
            self._in_trouble = False
            self._trouble("")

    async def _send_next(self, lane: Lane) -> bool:
        """Send the next page, if there is one; returns whether there may be another."""
        if lane.session_id in self._too_long:
            if await self._store.get_session(lane.session_id) is None:
                self._forget(lane)
            return False
        await lane.open()
        async with self._outbox.turn(PAGE):
            size = min(PAGE, max(SMALLEST_PAGE, lane.window.room))
            page = await self._store.copy_page(
                lane.session_id, after=lane.cursor, revision=lane.revision, limit_bytes=size
            )
            if page is None:
                self._forget(lane)
                return False
            if page_size(page) > LONGEST_PAGE:
                self._leave_out(lane)
                return False
            if lane.adds(page):
                self._outbox.put(lane.sent(page))
        return page.more

    def _leave_out(self, lane: Lane) -> None:
        self._too_long.add(lane.session_id)
        logger.error("%s", self.trouble)

    def _forget(self, lane: Lane) -> None:
        """The session was deleted."""
        self._outbox.put(Gone(session=lane.session_id))
        self._too_long.discard(lane.session_id)
        self._lanes.pop(lane.session_id, None)
        self._have.pop(lane.session_id, None)
        self.watch(lane.session_id, False)

    async def _end(self, tasks: list[asyncio.Task[None]]) -> None:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

"""Takes in what one host sends of its sessions: stored first, then shown to readers, then acknowledged.

Each session has a worker of its own, so pages and deltas of a session are handled in the order in which they came, and
a session whose pages take long holds up no other.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Awaitable, Callable, Container, Sequence
from dataclasses import dataclass
from typing import Final, Protocol
from uuid import uuid4

from msgspec.structs import replace

from handrail.errors import CopyDiverged, Fenced, HandrailError, LocalProtocolError, StoreError
from handrail.events.codec import decode_event, decode_item
from handrail.events.model import Delta
from handrail.link import wire
from handrail.link.windows import page_size
from handrail.server.hosts.arrivals import Arrivals
from handrail.server.hosts.checking import check_page, check_session_id, readable_settings
from handrail.server.hosts.ending import end_copy
from handrail.sessions.feed import Feed
from handrail.sessions.manager import Manager
from handrail.store.base import EventRow

__all__ = ["MOST_QUEUED", "WINDOW", "Copies", "CopyMeter", "HostSaid", "OnLoss"]

logger = logging.getLogger("handrail.hosts")

WINDOW: Final = 1024 * 1024
"""How many bytes of one session's pages a host may have sent before they are acknowledged."""
MOST_OF_A_SESSION: Final = 4 * WINDOW
MOST_QUEUED: Final = 64 * 1024 * 1024
"""Of all sessions of a host. What comes beyond it is to be sent again later."""
MOST_DELTAS: Final = 500
"""How many deltas of a session wait for the event that they come after."""
LONG_AGO: Final = 600.0
"""Beyond this age, in seconds, people are not notified of what happened: it is read where it is stored."""
A_DELTA: Final = 200
CLOSING_PATIENCE: Final = 10.0


class CopyMeter(Protocol):
    """Counts what is copied."""

    def copied(self, host: str, events: int, lag: float | None) -> None: ...

    def copy_refused(self, host: str) -> None: ...


class HostSaid(Protocol):
    """The host whose sessions are copied."""

    @property
    def id(self) -> str: ...

    @property
    def name(self) -> str: ...

    @property
    def skew(self) -> float:
        """How many seconds the clock here is ahead of the host's."""

    @property
    def watched(self) -> Container[str]:
        """The sessions that somebody watches as they are written."""


Send = Callable[[wire.FromHub], None]
OnReaders = Callable[[str, int], None]
OnLoss = Callable[[str, str], Awaitable[None]]
"""Hears which session a host has lost some or all of, and what was done about it."""


class Copies:
    """The copies that come over one link."""

    def __init__(
        self,
        host: HostSaid,
        manager: Manager,
        *,
        send: Send,
        on_readers: OnReaders,
        on_loss: OnLoss,
        arrivals: Arrivals,
        meter: CopyMeter,
        most_queued: int = MOST_QUEUED,
    ) -> None:
        self.host = host
        self.manager = manager
        self.send = send
        self.arrivals = arrivals
        self.on_loss = on_loss
        self.meter = meter
        self.queued = 0
        """About how many bytes wait to be stored."""
        self._on_readers = on_readers
        self._most_queued = most_queued
        self._sessions: dict[str, _Copy] = {}

    def page(self, page: wire.Page) -> None:
        """A page has come. Raises `LocalProtocolError` if it cannot be one."""
        check_session_id(page.page.session.id)
        copy = self._of(page.page.session.id)
        size, page = page_size(page.page), copy.readable(page)
        check_page(page.page, known_settings=copy.known_settings)
        copy.known_settings = page.page.session.settings
        copy.add(page, size)

    def deltas(self, deltas: wire.Deltas) -> None:
        """What is being written has come. What nobody watches is not even looked at."""
        check_session_id(deltas.session)
        if deltas.session not in self.host.watched:
            return
        self._of(deltas.session).add(deltas, sum(map(len, deltas.items)))

    def gone(self, gone: wire.Gone) -> None:
        """A session was deleted there."""
        check_session_id(gone.session)
        self._of(gone.session).add(gone, 0)

    def has_come(self, session_id: str) -> bool:
        """Whether something of a session came over this link."""
        return session_id in self._sessions

    def feed(self, session_id: str) -> Feed:
        """What readers of a session follow, and whose readers are counted."""
        feed = self.manager.copy_feed(session_id)
        if feed.on_readers is not self._on_readers:
            feed.on_readers = self._on_readers
            self._on_readers(session_id, feed.readers)
        return feed

    async def set_aside(self, session_id: str, why: str) -> None:
        """Keep a copy under another id and title, so that its place is free."""
        store = self.manager.store
        row = await store.get_session(session_id)
        title = f"{row.title or row.id[:8]} ({why})" if row is not None else why
        kept_as = uuid4().hex
        await store.set_copy_aside(session_id, as_id=kept_as, title=title)
        self.manager.forget_copy(session_id)
        logger.warning("the copy of session %s is kept as %s: %s", session_id[:8], kept_as[:8], why)
        await self.on_loss(session_id, f"kept as {kept_as}, {why}")

    @property
    def is_full(self) -> bool:
        return self.queued > self._most_queued

    async def close(self) -> None:
        """Take nothing more. What is being stored is, unless that takes too long: then it comes again."""
        workers = [worker for copy in self._sessions.values() if (worker := copy.stop()) is not None]
        if not workers:
            return
        _, late = await asyncio.wait(workers, timeout=CLOSING_PATIENCE)
        for worker in late:
            worker.cancel()
        await asyncio.gather(*late, return_exceptions=True)

    def _of(self, session_id: str) -> _Copy:
        copy = self._sessions.get(session_id)
        if copy is None:
            copy = self._sessions[session_id] = _Copy(session_id, self)
        return copy


@dataclass(frozen=True, slots=True)
class _Refusal:
    """In the place of a page that is not taken, and why."""

    reason: str


_Item = wire.Page | wire.Deltas | wire.Gone | _Refusal


class _Copy:
    """One session: what came of it and is not handled yet."""

    def __init__(self, session_id: str, copies: Copies) -> None:
        self.known_settings = b""
        """Those that are good: every page repeats them."""
        self._told_settings = b""
        self._readable_settings = b""
        """What is kept of those that the host told last."""
        self._id = session_id
        self._copies = copies
        self._items: deque[tuple[_Item, int]] = deque()
        self._queued = 0
        self._last_seq: int | None = None
        """Of the copy, once it was looked up."""
        self._refusing = False
        """Whether pages are thrown away until the host begins again."""
        self._told = ""
        """Why pages were refused last, if none was stored since."""
        self._ahead: list[Delta] = []
        self._worker: asyncio.Task[None] | None = None
        self._stopped = False

    def readable(self, page: wire.Page) -> wire.Page:
        """The page, with settings that this Handrail can read."""
        session = page.page.session
        if session.settings != self._told_settings:
            self._told_settings, self._readable_settings = session.settings, readable_settings(session.settings)
        if session.settings == self._readable_settings:
            return page
        session = replace(session, settings=self._readable_settings)
        return replace(page, page=replace(page.page, session=session))

    def add(self, item: _Item, size: int) -> None:
        if isinstance(item, wire.Page):
            if self._refusing and item.number != 1:
                return
            under_way = sum(size for waiting, size in self._items if isinstance(waiting, wire.Page))
            if under_way > MOST_OF_A_SESSION:
                raise LocalProtocolError(f"{under_way} bytes of session {self._id} are under way: too many")
            if self._copies.is_full:
                self._refusing = True
                item, size = _Refusal("the hub has too much of this host to store: it goes on in a moment"), 0
        elif isinstance(item, wire.Deltas):
            if len(self._items) > MOST_DELTAS or self._copies.is_full:
                return
            if self._is_idle and self._last_seq:
                self._show_deltas(_decoded(item))
                return
        self._items.append((item, size))
        self._count(size)
        if self._worker is None and not self._stopped:
            self._worker = asyncio.get_running_loop().create_task(self._work())

    @property
    def _is_idle(self) -> bool:
        """Whether everything that came is shown."""
        return not self._items and self._worker is None and not self._stopped

    def stop(self) -> asyncio.Task[None] | None:
        """Handle nothing more; the worker that has still something under way."""
        self._stopped = True
        self._clear()
        return self._worker

    def _count(self, size: int) -> None:
        self._queued += size
        self._copies.queued += size

    def _clear(self) -> None:
        self._items.clear()
        self._count(-self._queued)

    async def _work(self) -> None:
        try:
            while self._items:
                item, size = self._items[0]
                await self._handle(item)
                if self._items and self._items[0][0] is item:  # all may have been thrown away meanwhile
                    self._items.popleft()
                    self._count(-size)
        finally:
            self._worker = None

    async def _handle(self, item: _Item) -> None:
        if isinstance(item, wire.Deltas):
            if await self._has_events():
                self._show_deltas(_decoded(item))
        elif isinstance(item, wire.Gone):
            await self._remove()
        elif isinstance(item, _Refusal):
            await self._refuse(item.reason)
        elif not self._refusing or item.number == 1:
            await self._take(item)

    # ------------------------------------------------------------ pages

    async def _take(self, page: wire.Page) -> None:
        self._refusing = False
        try:
            await self._store(page)
        except CopyDiverged as error:
            await self._begin_anew(error)
        except Fenced as error:
            logger.warning(
                "session %s of %s: a page of an older owner: %s", self._id[:8], self._copies.host.name, error
            )
            await self._refuse(str(error))
        except StoreError as error:
            await self._refuse(str(error))
        except Exception as error:  # a mistake of ours: this session is tried again later, the others go on
            logger.exception("session %s of %s cannot be copied", self._id[:8], self._copies.host.name)
            await self._refuse(f"the hub failed: {type(error).__name__}")

    async def _store(self, page: wire.Page) -> None:
        copies, taken = self._copies, page.page
        before = await self._stored_up_to()
        feed = copies.feed(self._id)
        live = taken.session.owner is not None
        if live and not feed.is_live:
            feed.begin(before)  # before it is stored: what is stored is then shown here, in its order
        last = await copies.manager.store.take_copy(copies.host.id, taken)
        self._last_seq = last
        self._told = ""
        self._show(feed, [row for row in taken.events if before < row.seq <= last])
        if not live and feed.is_live:
            feed.rest()
        copies.send(wire.Ack(session=self._id, number=page.number, last_seq=last))
        copies.arrivals.came(self._id)

    async def _stored_up_to(self) -> int:
        """Raises `StoreError` for a session that is not this host's: its readers are to notice nothing."""
        if self._last_seq is None:
            host = self._copies.host
            row = await self._copies.manager.store.get_session(self._id)
            if row is not None and row.host != host.id:
                raise StoreError(f"session {self._id} is not one of the host {host.name}: it is not copied from there")
            self._last_seq = row.last_seq if row is not None else 0
        return self._last_seq

    async def _has_events(self) -> bool:
        """Whether some of the session is copied from this host, so that deltas can be shown behind that."""
        try:
            return await self._stored_up_to() > 0
        except StoreError:
            return False

    def _show(self, feed: Feed, rows: Sequence[EventRow]) -> None:
        """Publish what was stored. What happened long ago is not news: readers find it in the store."""
        if not rows:
            return
        age = time.time() - (rows[-1].at + self._copies.host.skew)
        if age > LONG_AGO:
            was_live = feed.is_live
            feed.begin(rows[-1].seq)
            if not was_live:
                feed.rest()
        else:
            feed.publish([(decode_event(row.body), len(row.body)) for row in rows])
        self._show_deltas([])
        self._copies.meter.copied(self._copies.host.name, len(rows), None if age > LONG_AGO else max(age, 0.0))

    async def _refuse(self, reason: str) -> None:
        """Have the host begin again, after a pause, behind what is stored; all that came since is thrown away."""
        if reason != self._told:
            logger.warning("session %s of %s is not copied now: %s", self._id[:8], self._copies.host.name, reason)
        self._told = reason
        self._refusing = True
        self._last_seq = None
        try:
            last = await self._stored_up_to()
        except StoreError:
            last = 0  # what is there already is left out when it comes again
        deletions = [entry for entry in self._items if isinstance(entry[0], wire.Gone)]
        self._clear()
        self._items.extend(deletions)  # the host does not say it again
        self._last_seq = None
        self._copies.meter.copy_refused(self._copies.host.name)
        self._copies.send(wire.CopyRefused(session=self._id, last_seq=last, reason=reason))

    async def _begin_anew(self, error: CopyDiverged) -> None:
        """The host's journal has another past than the copy: keep that under another name, and copy from the start."""
        try:
            await self._copies.set_aside(self._id, f"before {self._copies.host.name} lost its journal")
        except StoreError as failure:
            await self._refuse(str(failure))
            return
        await self._refuse(str(error))

    async def _remove(self) -> None:
        """The session is not there any more: its copy goes too, unless it was archived.

        Such a session may have been removed there for its age or its size: how long the copy is kept is this hub's own
        affair, and whoever deletes the session through the hub has the copy deleted as well.
        """
        store = self._copies.manager.store
        try:
            row = await store.get_session(self._id)
            if row is None or row.host != self._copies.host.id:
                pass
            elif row.archived:
                await end_copy(row.id, self._copies.manager)
            else:
                await store.delete_session(self._id)
                self._copies.manager.forget_copy(self._id)
        except HandrailError as error:
            logger.warning("the copy of session %s cannot be deleted: %s", self._id[:8], error)
        self._last_seq = None
        self._copies.arrivals.came(self._id)

    # ------------------------------------------------------------ deltas

    def _show_deltas(self, deltas: Sequence[Delta]) -> None:
        """Publish those that come after the last event that was shown; one whose event is not here yet waits for it."""
        self._ahead += deltas
        if not self._ahead:
            return
        feed = self._copies.feed(self._id)
        now = [delta for delta in self._ahead if delta.after == feed.seq]
        self._ahead = [delta for delta in self._ahead if delta.after > feed.seq][-MOST_DELTAS:]
        if now and feed.is_live:
            feed.publish([(delta, A_DELTA + len(delta.text)) for delta in now])


def _decoded(deltas: wire.Deltas) -> list[Delta]:
    return [delta for raw in deltas.items if isinstance(delta := decode_item(raw), Delta)]

"""One followed session, shared by all who follow it: read once, encoded once, told to everybody who is not too slow.

A channel has a ring of the latest events. Viewers have cursors and take from it what they lack; one that fell out of
the ring reads the journal. A channel goes on when the session moves: when its process ends, when it is resumed here,
when another process of this machine owns it.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Coroutine
from contextlib import aclosing, suppress
from types import TracebackType
from typing import Any, Self

import msgspec

from handrail.errors import HandrailError, SessionNotFound, StoreError
from handrail.events.codec import decode_event, encode_event
from handrail.events.model import Delta, Event
from handrail.server.live.blocks import Blocks, Gap, Read
from handrail.server.live.protocol import DeltaMessage, encode
from handrail.server.live.timeline import Timeline
from handrail.sessions.session import Session
from handrail.store.base import SessionRow, Store

__all__ = ["Channel", "RingEvent"]

logger = logging.getLogger("handrail.live")

RING_EVENTS = 500
RING_BYTES = 2 * 1024 * 1024
PAGE = 200
TICK = 0.05
"""How long viewers are let wait, so that what happens at the same time is told at once: 20 messages a second."""
TICK_PER_VIEWER = 0.001
GRACE = 0.3
"""How long an event may be stored without having been told here, before the session is looked for elsewhere."""
CLOSING_PATIENCE = 5.0
FIRST_PAUSE = 0.1
LONGEST_PAUSE = 5.0


class RingEvent:
    """An event of the ring. It becomes a message when somebody wants it as one, and is the same for all of them."""

    __slots__ = ("_body", "_prefix", "_text", "seq", "size")

    def __init__(self, seq: int, body: bytes, prefix: str) -> None:
        self.seq = seq
        self.size = len(body) + len(prefix)
        self._body = body
        self._prefix = prefix
        self._text: str | None = None

    @property
    def text(self) -> str:
        if self._text is None:
            self._text = f"{self._prefix}{self._body.decode()}}}"
            self._body = b""
        return self._text


class Channel:
    """What happens in one session. Used with `async with`; `gone` is set once the session was deleted."""

    def __init__(self, session: Session, store: Store, row: SessionRow) -> None:
        self.session_id = session.id
        self.row = row
        """What the store says of the session."""
        self.seq = row.last_seq
        """The number of the last event that was told here."""
        self.version = 0
        """Grows with everything that happens, also without an event."""
        self.blocks = Blocks()
        self.timeline: Timeline | None = None
        """Fed from here once it is there."""
        self.gone = False
        self._session = session
        self._store = store
        self._prefix = f'{{"type":"event","session":"{session.id}","event":'
        self._ring: deque[RingEvent] = deque()
        self._ring_bytes = 0
        self._deltas: dict[tuple[Gap, bool], str] = {}
        """As they are sent, since anything happened last."""
        self._listeners: set[Callable[[], None]] = set()
        self._told_at = -1.0
        self._timer: asyncio.TimerHandle | None = None
        self._stored = row.last_seq
        self._late: asyncio.TimerHandle | None = None
        self._moved = asyncio.Event()
        self._changed = asyncio.Event()
        self._work: list[asyncio.Task[None]] = []
        self._finding: asyncio.Task[bool] | None = None
        self._unwatch: Callable[[], None] = lambda: None

    # ------------------------------------------------------------ life

    async def __aenter__(self) -> Self:
        loop = asyncio.get_running_loop()
        self._unwatch = self._store.watch(self._woken, session_id=self.session_id)
        self._work = [loop.create_task(self._follow()), loop.create_task(self._keep_row())]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._unwatch()
        for timer in (self._timer, self._late):
            if timer is not None:
                timer.cancel()
        for task in self._work:
            task.cancel()
        await asyncio.gather(*self._work, return_exceptions=True)
        if self._finding is not None:
            await asyncio.wait([self._finding], timeout=CLOSING_PATIENCE)

    # ------------------------------------------------------------ viewers

    def listen(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Call `listener` when there is something new, not too often; returns what ends that."""
        self._listeners.add(listener)
        return lambda: self._listeners.discard(listener)

    @property
    def listeners(self) -> int:
        return len(self._listeners)

    def recent(self, after: int, limit: int) -> list[RingEvent] | None:
        """Events behind number `after`, as they are sent; None if the ring does not reach back so far."""
        if not self._ring or self._ring[0].seq > after + 1:
            return None
        start = after + 1 - self._ring[0].seq
        return [self._ring[place] for place in range(start, min(start + limit, len(self._ring)))]

    async def stored(self, after: int) -> list[RingEvent]:
        """The same from the journal, up to what was told here."""
        page = await self._store.read(self.session_id, after=after, limit=PAGE)
        return [self._as_sent(row.seq, row.body) for row in page if row.seq <= self.seq]

    async def last_stored(self) -> int:
        """The number of the last event of the journal, which may not have been told here yet."""
        row = await self._store.get_session(self.session_id)
        return self.seq if row is None else row.last_seq

    def deltas(self, read: Read, place: Callable[[str | None], str | None] | None = None) -> list[str]:
        """What is being written and a viewer lacks that has read this much; each piece is encoded once for all.

        `place` says what a view calls the action inside which something is written.
        """
        return [self._delta(gap, place) for gap in self.blocks.lacking(read)]

    def _delta(self, gap: Gap, place: Callable[[str | None], str | None] | None) -> str:
        key = (gap, place is None)
        text = self._deltas.get(key)
        if text is None:
            piece = self.blocks.piece(gap, self.seq)
            if place is not None:
                piece = msgspec.structs.replace(piece, parent=place(piece.parent))
            text = self._deltas[key] = encode(DeltaMessage(session=self.session_id, delta=piece))
        return text

    def _as_sent(self, seq: int, body: bytes) -> RingEvent:
        return RingEvent(seq, body, self._prefix)

    # ------------------------------------------------------------ what happens

    async def _follow(self) -> None:
        pause = FIRST_PAUSE
        while not self.gone:
            began = self.seq
            await self._read_journal()
            await self._until_moved(self._read())
            # The session moved, or its owner went away: it is looked for again, with ever more patience as long as
            # nothing comes of that.
            pause = FIRST_PAUSE if self.seq > began else min(pause * 2, LONGEST_PAUSE)
            if not self.gone:
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._moved.wait(), pause)
            self._moved.clear()

    async def _until_moved(self, reading: Coroutine[Any, Any, None]) -> None:
        """Read to the end, or until the session is found to be somewhere else."""
        loop = asyncio.get_running_loop()
        tasks = [loop.create_task(reading), loop.create_task(self._moved.wait())]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _read(self) -> None:
        """What is told of the session where it lives now."""
        try:
            await self._find()
            async with aclosing(self._session.subscribe(self.seq)) as items:
                async for item in items:
                    self._take(item)
        except SessionNotFound:
            self._is_gone()
        except HandrailError as error:
            logger.info("session %s cannot be followed where it lives: %s", self.session_id[:8], error)
        except Exception:  # whatever it is, the channel goes on with the journal
            logger.exception("session %s cannot be followed", self.session_id[:8])

    async def _find(self) -> None:
        """See where the session lives. That goes on if nobody waits for it any more: a dead owner's journal may be
        being brought to its end, which must not be left half done."""
        if self._finding is None or self._finding.done():
            self._finding = asyncio.get_running_loop().create_task(self._session.is_live())
            self._finding.add_done_callback(_unheard)
        await asyncio.shield(self._finding)

    async def _read_journal(self) -> None:
        """What is stored and was not told here: another process wrote it, which may not even answer."""
        try:
            while page := await self._store.read(self.session_id, after=self.seq, limit=PAGE):
                for row in page:
                    self._take_event(decode_event(row.body), row.body)
        except StoreError as error:
            logger.warning("the journal of session %s cannot be read now: %s", self.session_id[:8], error)

    def _take(self, item: Event | Delta) -> None:
        if isinstance(item, Delta):
            self.blocks.grow(item)
            self._tell()
        elif item.seq > self.seq + 1:
            self._moved.set()  # what is between was not told here: the journal has it
        else:
            self._take_event(item, encode_event(item))

    def _take_event(self, event: Event, body: bytes) -> None:
        if event.seq <= self.seq:
            return
        if event.seq > self.seq + 1:
            self._ring.clear()  # it is looked into by number
            self._ring_bytes = 0
        self.seq = event.seq
        self.blocks.settle(event)
        self._remember(self._as_sent(event.seq, body))
        if self.timeline is not None:
            self.timeline.take(body)
        self._tell()

    def _remember(self, event: RingEvent) -> None:
        self._ring.append(event)
        self._ring_bytes += event.size
        while len(self._ring) > RING_EVENTS or (self._ring_bytes > RING_BYTES and self._ring):
            self._ring_bytes -= self._ring.popleft().size

    def _is_gone(self) -> None:
        self.gone = True
        self._tell()

    # ------------------------------------------------------------ telling

    def stir(self) -> None:
        """Something about the session is other now that its journal does not say."""
        self._tell()

    def _tell(self) -> None:
        """Wake the viewers: at once if it was quiet, else together with what else happens in a moment."""
        self.version += 1
        self._deltas.clear()
        if self._timer is not None:
            return
        loop = asyncio.get_running_loop()
        tick = TICK + TICK_PER_VIEWER * len(self._listeners)
        wait = self._told_at + tick - loop.time()
        self._timer = loop.call_later(max(wait, 0.0), self._wake)

    def _wake(self) -> None:
        self._timer = None
        self._told_at = asyncio.get_running_loop().time()
        for listener in tuple(self._listeners):
            listener()

    # ------------------------------------------------------------ what the store says

    def _woken(self, session_id: str, last_seq: int) -> None:
        self._changed.set()
        self._stored = max(self._stored, last_seq)
        if last_seq > self.seq and self._late is None:
            # What this process writes is told here right after it was stored. What is not is written by another.
            self._late = asyncio.get_running_loop().call_later(GRACE, self._check_late, self.seq)

    def _check_late(self, seq: int) -> None:
        self._late = None
        if self._stored <= self.seq:
            return
        if self.seq == seq:
            self._moved.set()
        self._late = asyncio.get_running_loop().call_later(GRACE, self._check_late, self.seq)

    async def _keep_row(self) -> None:
        """Keep what the store says of the session: its title, its owner."""
        while True:
            await self._changed.wait()
            self._changed.clear()
            try:
                row = await self._store.get_session(self.session_id)
            except StoreError:
                await asyncio.sleep(LONGEST_PAUSE)
                self._changed.set()
                continue
            if row is None:
                self._is_gone()
                return
            if (row.title, row.owner, row.archived, row.settings) != (
                self.row.title,
                self.row.owner,
                self.row.archived,
                self.row.settings,
            ):
                self.row = row
                self._tell()
            await asyncio.sleep(TICK)


def _unheard(task: asyncio.Task[bool]) -> None:
    """Whoever waited for it has heard of its error; if nobody waited, nobody needs to."""
    if not task.cancelled():
        task.exception()

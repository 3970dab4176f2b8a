"""The list of sessions and what waits for a person, of all sessions of this machine, kept up to date for all viewers.

It is built from the rows of the store, whoever writes them, and each viewer gets what changed since it looked last.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter, deque
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

import msgspec

from handrail.errors import HandrailError, StoreError
from handrail.server.live.protocol import Counts, HomeMessage, ProblemMessage, encode
from handrail.server.live.view import Page
from handrail.server.problems import problem_of
from handrail.server.showing.closing import closed_row
from handrail.server.summaries import HERE, SessionSummary, Where, Whereabouts, owner_of, summary_of
from handrail.sessions.manager import Manager
from handrail.sessions.owning.locks import Holder
from handrail.sessions.owning.reaping import process_started
from handrail.store.base import NOT_ARCHIVED, SessionRow, Waiting

__all__ = ["Home", "HomeFollow"]

logger = logging.getLogger("handrail.live")

LISTED = 300
"""How many sessions the list begins with."""
TICK = 0.1
STALE = 5.0
"""How old the time of a session's last change may be, if nothing else of it changed."""
LOOK_ROUND = 5.0
"""How often to see whether owners of sessions live, and for what no store tells of."""
REMEMBERED = 500
"""How many that are gone are remembered. A viewer that is further behind gets everything anew."""
MANY = 25
RETRY = 1.0

AskKey = tuple[str, str]


@dataclass(slots=True, frozen=True)
class _Listed:
    version: int
    summary: SessionSummary


@dataclass(slots=True, frozen=True)
class _Card:
    version: int
    shown: tuple[str, str, str, str]
    """What the card was made of: digest, state, title of the session, and state of its host."""
    card: dict[str, Any]


class Home:
    """What all viewers see first. It looks at the store only while somebody follows it."""

    def __init__(self, manager: Manager, shows: Page, hosts: Whereabouts | None = None) -> None:
        self.version = 0
        """Grows with every change."""
        self.trouble: StoreError | None = None
        self._manager = manager
        self._store = manager.store
        self._shows = shows
        self._hosts = hosts
        self._sessions: dict[str, _Listed] = {}
        self._asks: dict[AskKey, _Card] = {}
        self._removed: deque[tuple[int, str]] = deque()
        self._closed: deque[tuple[int, dict[str, Any]]] = deque()
        self._floor = 1
        """The oldest version from which changes can be told."""
        self._loaded = False
        self._counts = Counts()
        self._more = False
        self._dirty: set[str] = set()
        self._stirred = asyncio.Event()
        self._look_round_next = False
        self._followers: dict[HomeFollow, Callable[[], None]] = {}
        self._keeping: asyncio.Task[None] | None = None
        self._recovering: dict[str, asyncio.Task[None]] = {}
        self._messages: dict[tuple[int, int], str] = {}

    # ------------------------------------------------------------ followers

    def follow(self, wake: Callable[[], None]) -> HomeFollow:
        """Follow it; `wake` is called when there is something new."""
        following = HomeFollow(self)
        self._followers[following] = wake
        if self._keeping is None:
            self._keeping = asyncio.get_running_loop().create_task(self._keep())
        return following

    def look_again(self) -> None:
        """Something is other now that no store tells of."""
        self._look_round_next = True
        self._stirred.set()

    def leave(self, following: HomeFollow) -> None:
        self._followers.pop(following, None)
        if not self._followers and self._keeping is not None:
            self._keeping.cancel()
            self._keeping = None
            self._loaded = False  # what happens from now on is not seen

    async def close(self) -> None:
        tasks = [*self._recovering.values(), *([self._keeping] if self._keeping is not None else [])]
        self._keeping = None
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def message(self, cursor: int) -> str | None:
        """What somebody lacks who has seen version `cursor`, or nothing; made once for all who stand there."""
        if cursor == self.version or not self._loaded:
            return None
        key = (cursor, self.version)
        text = self._messages.get(key)
        if text is None:
            self._messages = {other: made for other, made in self._messages.items() if other[1] == self.version}
            text = self._messages[key] = encode(self._since(cursor))
        return text

    def _since(self, cursor: int) -> HomeMessage:
        reset = cursor < self._floor
        return HomeMessage(
            reset=reset,
            sessions=self._first() if reset else self._changed_after(cursor),
            asks=[card.card for card in self._asks.values() if reset or card.version > cursor],
            removed_sessions=[] if reset else self._removed_after(cursor),
            closed_asks=[] if reset else self._closed_after(cursor),
            counts=self._counts,
            more=self._more or len(self._sessions) > LISTED,
        )

    def _first(self) -> list[SessionSummary]:
        """What a list begins with, however many sessions something happened to since: the latest, and who asks."""
        known = sorted((listed.summary for listed in self._sessions.values()), key=lambda each: -each.updated_at)
        return [*known[:LISTED], *(summary for summary in known[LISTED:] if summary.asks)]

    def _changed_after(self, version: int) -> list[SessionSummary]:
        return [listed.summary for listed in self._sessions.values() if listed.version > version]

    def _removed_after(self, version: int) -> list[str]:
        """Sessions that left the list, and did not come back."""
        return [name for at, name in self._removed if at > version and name not in self._sessions]

    def _closed_after(self, version: int) -> list[dict[str, Any]]:
        return [
            closed
            for at, closed in self._closed
            if at > version and (closed["session"], closed["ask"]) not in self._asks
        ]

    # ------------------------------------------------------------ keeping it

    async def _keep(self) -> None:
        unwatch = self._store.watch(self._woken)
        try:
            await self._patiently(None)
            while True:
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._stirred.wait(), LOOK_ROUND)
                stirred, self._dirty = self._dirty, set()
                all_of_them, self._look_round_next = self._look_round_next, False
                self._stirred.clear()
                await self._patiently(stirred if 0 < len(stirred) <= MANY and not all_of_them else None)
                await asyncio.sleep(TICK)
        finally:
            unwatch()

    def _woken(self, session_id: str, last_seq: int) -> None:
        self._dirty.add(session_id)
        self._stirred.set()

    async def _patiently(self, stirred: set[str] | None) -> None:
        """Look at the sessions that something happened to, or at all; again and again if the store fails."""
        while True:
            try:
                changed = await (self._look_at(stirred) if stirred is not None else self._look_round())
                self.trouble = None
            except StoreError as error:
                if self.trouble is None:
                    logger.warning("the list of sessions cannot be kept up to date now: %s", error)
                self.trouble = error
                self._wake()
                stirred = None
                await asyncio.sleep(RETRY)
                continue
            except Exception:  # nobody waits for this task: a mistake of ours must not end the list for good
                logger.exception("the list of sessions cannot be kept up to date")
                stirred = None
                await asyncio.sleep(LOOK_ROUND)
                continue
            if changed or not self._loaded:
                self.version += 1
                self._loaded = True
                self._wake()
            return

    async def _look_round(self) -> bool:
        waiting = await self._store.waiting_asks()
        latest = await self._store.list_sessions(NOT_ARCHIVED, limit=max(LISTED, len(self._sessions)) + 1)
        self._more = len(latest) > LISTED
        rows = {row.id: row for place, row in enumerate(latest) if place < LISTED or row.id in self._sessions}
        rows |= {each.session.id: each.session for each in waiting}
        for session_id in [name for name in self._sessions if name not in rows]:
            row = await self._store.get_session(session_id)
            if row is not None and not row.archived:
                rows[session_id] = row
        gone = [self._remove(session_id) for session_id in list(self._sessions) if session_id not in rows]
        asks = await self._take_asks(waiting, set(rows) | set(self._sessions))
        asked = Counter(session_id for session_id, _ in self._asks)
        listed = [self._list(row, asked[row.id], exact=True) for row in rows.values() if not row.archived]
        await self._look_for_the_dead(list(rows.values()))
        counted = await self._count()
        return bool(gone) or asks or any(listed) or counted

    async def _look_at(self, stirred: set[str]) -> bool:
        changed = False
        for session_id in stirred:
            row = await self._store.get_session(session_id)
            waiting = await self._store.waiting_asks(session_id)
            changed |= await self._take_asks(waiting, {session_id})
            if row is None or row.archived:
                changed |= self._remove(session_id)
            else:
                changed |= self._list(row, sum(asked == session_id for asked, _ in self._asks))
        return changed | await self._count()

    def _list(self, row: SessionRow, asks: int, *, exact: bool = False) -> bool:
        summary = summary_of(row, asks=asks, where=self._where(row))
        known = self._sessions.get(row.id)
        if known is not None and not _differ(known.summary, summary, exact=exact):
            return False
        self._sessions[row.id] = _Listed(self.version + 1, summary)
        return True

    def _where(self, row: SessionRow) -> Where:
        return HERE if self._hosts is None else self._hosts.where(row.host)

    def _remove(self, session_id: str) -> bool:
        if self._sessions.pop(session_id, None) is None:
            return False
        self._removed.append((self.version + 1, session_id))
        self._forget_the_oldest(self._removed)
        return True

    async def _take_asks(self, waiting: Sequence[Waiting], sessions: set[str]) -> bool:
        """These are the asks of these sessions that wait."""
        changed = False
        for ask, session in waiting:
            known = self._asks.get((ask.session_id, ask.id))
            where = self._where(session)
            shown = (ask.digest, ask.state, session.title, where.host_state)
            if known is None or known.shown != shown:
                make = partial(self._shows.card, ask, session=session)
                card = {**await self._shows.aside(make, size=len(ask.body)), **where._asdict()}
                self._asks[ask.session_id, ask.id] = _Card(self.version + 1, shown, card)
                changed = True
        wait = {(ask.session_id, ask.id) for ask, _ in waiting}
        for key in [key for key in self._asks if key[0] in sessions and key not in wait]:
            await self._close(key)
            changed = True
        return changed

    async def _close(self, key: AskKey) -> None:
        del self._asks[key]
        session_id, ask_id = key
        row = await self._store.get_ask(session_id, ask_id)
        how = closed_row(row) if row is not None else None
        how = how or {"outcome": "gone", "by": "", "surface": "", "at": None, "words": "it is gone"}
        self._closed.append((self.version + 1, {"session": session_id, "ask": ask_id, **how}))
        self._forget_the_oldest(self._closed)

    def _forget_the_oldest(self, gone: deque[tuple[int, Any]]) -> None:
        while len(gone) > REMEMBERED:
            self._floor = max(self._floor, gone.popleft()[0])

    async def _count(self) -> bool:
        by_status = await self._store.count_sessions()
        known = {name: by_status.get(name, 0) for name in ("needs_you", "running", "idle", "failed", "stopped")}
        known["running"] += by_status.get("queued", 0)
        known["idle"] += by_status.get("waiting", 0)
        before, self._counts = self._counts, Counts(**known, asks=len(self._asks))
        return self._counts != before

    def _wake(self) -> None:
        for wake in tuple(self._followers.values()):
            wake()

    # ------------------------------------------------------------ owners that died

    async def _look_for_the_dead(self, rows: list[SessionRow]) -> None:
        """Bring the journals of sessions to an end whose owner, another process, is gone without a word."""
        owners = {row.id: row.owner for row in rows if row.owner is not None and owner_of(row) == "elsewhere"}
        if not owners:
            return
        for session_id in await asyncio.to_thread(_dead, owners):
            if session_id not in self._recovering:
                task = asyncio.get_running_loop().create_task(self._recover(session_id))
                self._recovering[session_id] = task
                task.add_done_callback(partial(self._recovered, session_id))

    async def _recover(self, session_id: str) -> None:
        with suppress(HandrailError):
            await self._manager.session(session_id).is_live()  # looks, and closes what a dead owner left open

    def _recovered(self, session_id: str, task: asyncio.Task[None]) -> None:
        self._recovering.pop(session_id, None)


class HomeFollow:
    """How far one viewer of the list is."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self._cursor = 0
        self._complained = False

    async def messages(self) -> AsyncGenerator[str, None]:
        """What the viewer lacks."""
        trouble = self._home.trouble
        if trouble is not None and not self._complained:
            yield encode(ProblemMessage(code=problem_of(trouble).code, detail=str(trouble)))
        self._complained = trouble is not None
        text = self._home.message(self._cursor)
        if text is not None:
            self._cursor = self._home.version
            yield text

    def close(self) -> None:
        self._home.leave(self)


def _differ(one: SessionSummary, other: SessionSummary, *, exact: bool) -> bool:
    """Whether a viewer is to be told. That something was written a moment later is not worth a message."""
    age = other.updated_at - one.updated_at
    if exact or age >= STALE:
        return one != other
    return one != msgspec.structs.replace(other, updated_at=one.updated_at, last_seq=one.last_seq)


def _dead(owners: Mapping[str, str]) -> list[str]:
    """The sessions whose owner is not there any more."""
    return [session_id for session_id, owner in owners.items() if not _lives(owner)]


def _lives(owner: str) -> bool:
    try:
        holder = msgspec.json.decode(owner, type=Holder)
    except msgspec.DecodeError:
        return True  # of a Handrail that says it otherwise
    return process_started(holder.pid) is not None

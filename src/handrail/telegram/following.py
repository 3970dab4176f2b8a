"""Which sessions are followed now: those in which something happens that a chat has not been told of."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

import msgspec

from handrail.errors import HandrailError, SessionNotFound, StoreError
from handrail.remote.changes import HubChange
from handrail.remote.errors import HubUnreachable
from handrail.remote.hub import Hub
from handrail.remote.pauses import Pauses
from handrail.telegram.afterwards import forget_files, sessions_with_files
from handrail.telegram.commands.wishes import WORKING
from handrail.telegram.follower import Follower
from handrail.telegram.inbox import Inbox
from handrail.telegram.model import GONE, Content, Place, Priority, WantedMessage
from handrail.telegram.queue import Waiting
from handrail.telegram.reporting import Report
from handrail.telegram.sessions import let_go
from handrail.telegram.state import BridgeState, Follow, Tables
from handrail.telegram.text.rich import plain
from handrail.telegram.text.splitting import shortened

__all__ = ["Following"]

logger = logging.getLogger("handrail.telegram")

LOOKS_AT_ONCE: Final = 8
LONGEST_PAUSE: Final = 30.0
SAID_AFTER: Final = 3
"""So often in a row something must go wrong before people are told."""
NOT_SHOWN: Final = "What this session does cannot be shown here now. It is tried again."
GONE_WITH_IT: Final = "\n\nThe session was deleted."
DELETED: Final = "This session was deleted. The next message starts another."


@dataclass
class _Trouble:
    """What goes wrong with a session again and again."""

    times: int = 0
    pauses: Pauses = field(default_factory=lambda: Pauses(first=0.5, longest=LONGEST_PAUSE))


@dataclass
class _Sign:
    """That something is to be looked at: what the hub said of it last, and whether somebody else asked for it."""

    change: HubChange | None = None
    is_wanted: bool = False


@dataclass
class Following:
    """Starts a follower for each session that needs one, and lets it go when the session rests.

    A follower that fails is started again, later and later; it reads on from where the chats are.
    """

    hub: Hub
    state: BridgeState
    inbox: Inbox
    follower: Callable[[str], Follower]
    """Makes one."""
    afterwards: Callable[[str, bool], Awaitable[None]]
    """Does what is to be done after a run."""
    report: Report
    _followers: dict[str, Follower] = field(default_factory=dict)
    _tasks: dict[str, asyncio.Task[None]] = field(default_factory=dict)
    _troubles: dict[str, _Trouble] = field(default_factory=dict)
    _dirty: dict[str, _Sign] = field(default_factory=dict)
    _stirred: asyncio.Event = field(default_factory=asyncio.Event)
    _ended: dict[str, bool] = field(default_factory=dict)
    """Sessions of which a run is over, and whether they are done."""
    _after: dict[str, asyncio.Task[None]] = field(default_factory=dict)
    _later: dict[str, asyncio.TimerHandle] = field(default_factory=dict)

    # ------------------------------------------------------------ what happens

    def wake(self, session_id: str) -> None:
        """Something was changed about who follows a session, or it was given something to do."""
        self._refresh(session_id)
        self._mark(session_id)

    def _refresh(self, session_id: str) -> None:
        if session_id in self._followers:
            self._followers[session_id].refresh()

    def over(self, session_id: str, is_done: bool) -> None:
        """A run of a session is over; `is_done`: and Claude has nothing to do any more."""
        self._ended[session_id] = is_done
        self._look_after_it(session_id)

    def _look_after_it(self, session_id: str) -> None:
        if session_id in self._ended and session_id not in self._after:
            self._after[session_id] = asyncio.get_running_loop().create_task(self._look_after(session_id))

    def _changed(self, change: HubChange) -> None:
        self._dirty.setdefault(change.session_id, _Sign()).change = change
        self._stirred.set()

    def _mark(self, session_id: str) -> None:
        self._dirty.setdefault(session_id, _Sign()).is_wanted = True
        self._stirred.set()

    # ------------------------------------------------------------ life

    async def run(self) -> None:
        """Follow what is to be followed, until cancelled."""
        follows, cut_off = await self.state.read(lambda tables: (tables.follows(), sessions_with_files(tables)))
        for follow in follows:
            self._mark(follow.session_id)
        for session_id in cut_off:
            self.over(session_id, False)
        stop = self.hub.watch(self._changed)
        try:
            while True:
                await self._stirred.wait()
                self._stirred.clear()
                await self._look_round()
        finally:
            stop()
            await self._end()

    async def _look_round(self) -> None:
        dirty, self._dirty = self._dirty, {}
        names = list(dirty)
        for first in range(0, len(names), LOOKS_AT_ONCE):
            chosen = names[first : first + LOOKS_AT_ONCE]
            await asyncio.gather(*(self._look(name, dirty[name]) for name in chosen))

    async def _end(self) -> None:
        for handle in self._later.values():
            handle.cancel()
        tasks = [*self._tasks.values(), *self._after.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    # ------------------------------------------------------------ one session

    async def _look(self, session_id: str, sign: _Sign) -> None:
        """See whether a session needs a follower. One that fails is looked at again."""
        self._look_after_it(session_id)
        try:
            if sign.change is not None and await self.inbox.take(sign.change):
                self._refresh(session_id)
            follows = await self.state.read(lambda tables: tables.follows(session_id))
            if follows and session_id not in self._followers and _is_news(sign, follows):
                await self._consider(session_id, follows)
            if sign.change is not None and sign.change.is_listed and session_id in self._followers:
                self._followers[session_id].host_is(sign.change.host_state)
            if session_id not in self._followers and session_id not in self._after:
                await self._recovered(session_id)
        except HandrailError as error:
            await self._failed(session_id, error)
        except Exception as error:  # one session must not hold up the others
            logger.exception("session %s cannot be looked at", session_id)
            await self._failed(session_id, error)

    async def _consider(self, session_id: str, follows: list[Follow]) -> None:
        row = await self.hub.store.get_session(session_id)
        if row is None:
            await self._forget(session_id)
            return
        waits = await self.state.read(lambda tables: bool(Waiting(tables).all(session_id)))
        is_behind = any(follow.cursor < row.last_seq for follow in follows)
        if is_behind or row.status in WORKING:
            self._start(session_id)
            return
        await self.state.write(lambda tables: let_go(tables, follows))
        if waits:
            self.over(session_id, True)

    def _start(self, session_id: str) -> None:
        follower = self.follower(session_id)
        self._followers[session_id] = follower
        task = asyncio.get_running_loop().create_task(self._follow(follower), name=f"telegram follows {session_id}")
        self._tasks[session_id] = task

    async def _follow(self, follower: Follower) -> None:
        session_id = follower.session_id
        try:
            await follower.run()
            await self._recovered(session_id)
            self._mark(session_id)  # what happened at the last moment, and was not heard
        except SessionNotFound:
            await self._forget(session_id)
        except HandrailError as error:
            await self._failed(session_id, error)
        except Exception as error:  # one session must not hold up the others
            logger.exception("following session %s failed", session_id)
            await self._failed(session_id, error)
        finally:
            self._followers.pop(session_id, None)
            self._tasks.pop(session_id, None)

    async def _failed(self, session_id: str, error: Exception) -> None:
        """Something went wrong with one session: it is looked at again, later and later."""
        trouble = self._troubles.setdefault(session_id, _Trouble())
        trouble.times += 1
        self.report.on(session_id)(f"session {session_id[:8]} cannot be followed now: {error}")
        if trouble.times == SAID_AFTER and not isinstance(error, HubUnreachable | StoreError):
            await self._say_everywhere(session_id, Content(plain(f"{NOT_SHOWN} ({error})")))
        self._again(session_id, trouble.pauses.next())

    async def _recovered(self, session_id: str) -> None:
        trouble = self._troubles.pop(session_id, None)
        if trouble is not None:
            self.report.on(session_id)("")
            await self._say_everywhere(session_id, GONE)

    async def _say_everywhere(self, session_id: str, content: Content) -> None:
        """Have all who follow a session know that something is wrong with that, or is not any more."""

        def say(tables: Tables) -> None:
            for follow in tables.follows(session_id):
                key = f"unseen:{session_id}:{follow.place}"
                if content != GONE or tables.sent(key) is not None:
                    tables.want(_wanted(key, follow.place, session_id, content))

        with suppress(StoreError):  # then nothing can be said, and it is tried again all the same
            await self.state.write(say)

    def _again(self, session_id: str, seconds: float) -> None:
        def due() -> None:
            del self._later[session_id]
            self._mark(session_id)

        if session_id in self._later:
            self._later[session_id].cancel()
        self._later[session_id] = asyncio.get_running_loop().call_later(seconds, due)

    async def _look_after(self, session_id: str) -> None:
        try:
            while session_id in self._ended:
                await self.afterwards(session_id, self._ended.pop(session_id))
            if session_id not in self._followers:
                await self._recovered(session_id)
        except HandrailError as error:
            await self._failed_after(session_id, error)
        except Exception as error:  # one session must not hold up the others
            logger.exception("what follows a run of session %s could not be done", session_id)
            await self._failed_after(session_id, error)
        finally:
            del self._after[session_id]

    async def _failed_after(self, session_id: str, error: Exception) -> None:
        """It is done when the session is looked at again. Whether Claude is done then, is seen then."""
        self._ended.setdefault(session_id, False)
        await self._failed(session_id, error)

    async def _forget(self, session_id: str) -> None:
        """A session was deleted: whoever followed it hears so, and nothing is left that could be pressed."""
        self._troubles.pop(session_id, None)
        self.report.on(session_id)("")

        def forget(tables: Tables) -> None:
            for follow in tables.follows(session_id):
                _bury(tables, follow)
            for queued in Waiting(tables).all(session_id):
                Waiting(tables).remove(queued)
            forget_files(tables, session_id)

        await self.state.write(forget)


def _is_news(sign: _Sign, follows: list[Follow]) -> bool:
    """Whether there is something that those who follow the session may not know."""
    change = sign.change
    if sign.is_wanted or change is None or not change.is_listed:
        return True
    is_behind = any(follow.cursor < change.last_seq for follow in follows)
    return is_behind or bool(change.asks) or change.status in WORKING


def _bury(tables: Tables, follow: Follow) -> None:
    """Take leave of a session that was deleted, in one place."""
    place, session_id = follow.place, follow.session_id
    for message in tables.of_session(session_id, place):
        if message.key.startswith("progress:"):
            tables.want(_wanted(message.key, place, session_id, GONE))
        elif message.content.buttons and message.ask_id:
            tables.retire(message.key)
            tables.want(_wanted(message.key, place, session_id, _unanswerable(message.content)))
    chat = tables.chat(place)
    if chat.session_id == session_id:
        tables.set_chat(msgspec.structs.replace(chat, session_id=""))
        tables.want(_wanted(f"deleted:{session_id}:{place}", place, session_id, Content(plain(DELETED))))
    let_go(tables, [follow], anyway=True)


def _unanswerable(content: Content) -> Content:
    """An ask that nobody can answer any more."""
    text = shortened(content.text, content.longest_text - len(GONE_WITH_IT)) + GONE_WITH_IT
    return msgspec.structs.replace(content, text=text, buttons=())


def _wanted(key: str, place: Place, session_id: str, content: Content) -> WantedMessage:
    return WantedMessage(key=key, place=place, content=content, priority=Priority.REPLY, session_id=session_id)

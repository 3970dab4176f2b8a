"""The sessions of this machine: starts, finds, resumes, forks, adopts and ends them.

    async with Manager.local() as manager:
        session = await manager.start(Options(cwd="."), policy=Asked(profile="careful"))
        done = await session.run("Fix the failing test.")

Sessions that this process starts end with it, and can be resumed by another one.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import AsyncGenerator, Awaitable, Coroutine, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol, Self
from uuid import uuid4
from weakref import WeakValueDictionary

import msgspec

from handrail.errors import (
    AmbiguousSession,
    HandrailError,
    ProcessExited,
    SessionBusy,
    SessionError,
    SessionLimit,
    SessionNotFound,
    SessionNotLive,
    StoreError,
)
from handrail.events.model import Event
from handrail.events.resume import find_resume_token
from handrail.places import Places
from handrail.policy.policy import Policy
from handrail.policy.storage.loading import Asked, PolicySource
from handrail.protocol.asks import Allow, Deny
from handrail.protocol.options import Options
from handrail.sessions.asking import OnAsk
from handrail.sessions.engine import Engine
from handrail.sessions.feed import Feed, Item
from handrail.sessions.guards.admission import Admission
from handrail.sessions.guards.notifications import Notifier, Notify
from handrail.sessions.guards.restarts import check_restart
from handrail.sessions.guards.spending import DayPurse
from handrail.sessions.guards.watch import Limits, SessionGuards
from handrail.sessions.hooks import Hook
from handrail.sessions.launching import (
    SessionSettings,
    decode_settings,
    encode_settings,
    for_fork,
    for_new,
    for_resume,
)
from handrail.sessions.mcp import ToolServer
from handrail.sessions.ownership import Owned, Ownership
from handrail.sessions.seats import HereSeat, SeatServer, ThereSeat
from handrail.sessions.session import PYTHON, Seat, Session
from handrail.sessions.sitting import Attachments
from handrail.sessions.tidying import Tidying
from handrail.sessions.tools import Tool
from handrail.store.base import NOT_ARCHIVED, AskRow, AskRowState, Hit, Retention, SessionFilter, SessionRow, Store

if TYPE_CHECKING:
    from handrail.sessions.adoption import Adoptable

__all__ = ["Manager"]

logger = logging.getLogger("handrail.session")

NO_LIMITS = Limits()
SHORTEST_REFERENCE = 4
NO_CONVERSATION = "No conversation found"
"""What Claude Code says of an id that it keeps nothing of: it was ended before it had written anything down."""
IN_USE = "is already in use"
"""What it says of an id that it keeps a conversation of: Handrail ended before it could store the first run."""
STARTS_ANEW = "Claude Code kept nothing of this conversation: it starts anew, and knows nothing of what was said"
POLICY_UNREADABLE = "the policy cannot be reloaded, the last one holds"


class Sit(Protocol):
    """Makes a session live with these options."""

    def __call__(self, row: SessionRow, options: Options) -> Awaitable[Engine]: ...


class Manager:
    """Sessions on this machine, over one store. Opened and closed with `async with`; closing it stops its sessions."""

    def __init__(
        self,
        store: Store,
        places: Places,
        *,
        env: Mapping[str, str] | None = None,
        limits: Limits = NO_LIMITS,
        notify: Sequence[Notify] = (),
        retention: Retention | None = None,
    ) -> None:
        self.store = store
        self.places = places
        self.limits = limits
        self._env = dict(env or {})
        self._admission = Admission(limits.concurrent_sessions, directory=os.path.join(places.runtime, "seats"))
        self._day: DayPurse | None = None
        self._notifier = Notifier(notify)
        self._retention = retention
        self._resources = AsyncExitStack()
        self._work: set[asyncio.Task[None]] = set()
        self._engines: dict[str, Engine] = {}
        self._feeds: dict[str, Feed] = {}
        self._starting: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._ownership = Ownership(store, places, SeatServer(self._here))
        self._closed = False

    @classmethod
    def local(
        cls,
        places: Places | None = None,
        *,
        env: Mapping[str, str] | None = None,
        limits: Limits = NO_LIMITS,
        notify: Sequence[Notify] = (),
        retention: Retention | None = None,
    ) -> Manager:
        """A manager over the embedded store of this user.

        `env` is added to the environment of every CLI; `limits` hold for all sessions, `notify` says who is told of
        what happens in them, and what `retention` does not keep is removed once a day.
        """
        from handrail.store.place import store_path
        from handrail.store.sqlite import SqliteStore

        places = places or Places.of_user(os.environ)
        return cls(SqliteStore(store_path(places)), places, env=env, limits=limits, notify=notify, retention=retention)

    # ------------------------------------------------------------ life

    async def __aenter__(self) -> Self:
        try:
            await self.store.open()
            await self._resources.enter_async_context(self._notifier)
            if self.limits.daily_budget is not None:
                self._day = await self._resources.enter_async_context(self._purse_of_the_day(self.limits.daily_budget))
            await self._ownership.start()
            await self._recover_orphans()
        except BaseException:
            await self.close()
            raise
        if self._retention is not None:
            self._start(Tidying(self.store, self._retention, directory=self.places.state).run())
        return self

    def _purse_of_the_day(self, limit: float) -> DayPurse:
        directory = os.path.join(self.places.state, "today")
        return DayPurse(limit, read_spent=lambda since: self.store.spent(since=since), directory=directory)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Stop every session that lives here, and let go of everything. Idempotent."""
        if self._closed:
            return
        self._closed = True
        try:
            for task in self._work:
                task.cancel()
            await asyncio.gather(*self._work, return_exceptions=True)
            await asyncio.gather(*(engine.stop() for engine in list(self._engines.values())), return_exceptions=True)
            for feed in self._feeds.values():
                feed.close()
            await self._ownership.close()
            await self._resources.aclose()
        finally:
            await self.store.close()

    # ------------------------------------------------------------ sessions

    async def start(
        self,
        options: Options | None = None,
        *,
        title: str = "",
        policy: Asked | Policy | None = None,
        budget: float | None = None,
        worktree: str | None = None,
        on_ask: OnAsk | None = None,
        hooks: Sequence[Hook] = (),
        tools: Sequence[Tool[..., Any] | ToolServer] = (),
        record: str | os.PathLike[str] | None = None,
    ) -> Session:
        """Start a session in this process.

        With `policy`, every tool call is judged by it: what the policy files say, and what is asked beside them
        (`Asked`); or a `Policy` as it is, which is not remembered. `worktree` is the name of a git worktree to make
        for it. What nobody answers at once (`on_ask`) waits for `Session.decide`.
        """
        options = _located(options or Options())
        asked, fixed = (policy, None) if isinstance(policy, Asked) else (None, policy)
        settings = SessionSettings(options=options, policy=asked, budget=budget)
        if worktree is not None:
            settings = await self._in_worktree(settings, worktree)
        cli_session_id = settings.options.session_id or str(uuid4())
        row = await self._create(settings, title=title, cli_session_id=cli_session_id)
        attachments = Attachments(on_ask, hooks, tools, os.fspath(record) if record is not None else None)
        await self._sit(
            row, for_new(settings.options, cli_session_id), settings, why="new", attachments=attachments, policy=fixed
        )
        return Session(row.id, self)

    async def get(self, reference: str, *, adopt: bool = False) -> Session:
        """The session with this id, unique beginning of an id, or id of the CLI's, also in a `claude --resume` line.

        With `adopt`, a session of Claude Code that Handrail does not know is taken over. Raises `SessionNotFound` or
        `AmbiguousSession`.
        """
        wanted = (find_resume_token(reference) or reference).strip()
        if len(wanted) < SHORTEST_REFERENCE:
            raise SessionNotFound(f"{wanted!r} is too short for the id of a session: give at least 4 characters")
        found = await self.store.find_sessions(wanted)
        exact = [row for row in found if wanted in (row.id, row.cli_session_id)]
        if len(exact) == 1 or len(found) == 1:
            return Session((exact or found)[0].id, self)
        if found:
            raise AmbiguousSession(
                f"{wanted!r} fits several sessions: " + ", ".join(f"{row.id[:12]} ({row.title})" for row in found[:5])
            )
        if adopt:
            return await self.adopt(wanted)
        raise SessionNotFound(f"there is no session {wanted!r}: `handrail ls --all` lists all of them")

    async def latest(self, cwd: str | os.PathLike[str]) -> Session | None:
        """The session of this directory that was used last."""
        rows = await self.store.list_sessions(SessionFilter(cwd=_absolute(cwd)), limit=1)
        return Session(rows[0].id, self) if rows else None

    async def list(
        self,
        which: SessionFilter = NOT_ARCHIVED,
        *,
        limit: int = 100,
        before: tuple[float, str] | None = None,
    ) -> list[SessionRow]:
        """Sessions, the latest first."""
        return await self.store.list_sessions(which, limit=limit, before=before)

    async def asks(self, states: Sequence[AskRowState] = ("pending",)) -> Sequence[AskRow]:
        """The asks of all sessions, oldest first."""
        return await self.store.asks(states=states)

    async def search(self, text: str, *, limit: int = 50) -> Sequence[Hit]:
        """Where these words were said, asked or done."""
        return await self.store.search(text, limit=limit)

    async def resume(
        self,
        reference: str,
        *,
        on_ask: OnAsk | None = None,
        hooks: Sequence[Hook] = (),
        tools: Sequence[Tool[..., Any] | ToolServer] = (),
        record: str | os.PathLike[str] | None = None,
        **changes: Any,
    ) -> Session:
        """Start the CLI of a session again, in this process; `changes` are options that are to be other ones now.

        A session that lives elsewhere stays there: the handle reaches it.
        """
        session = await self.get(reference)
        attachments = Attachments(on_ask, hooks, tools, os.fspath(record) if record is not None else None)
        await self._resume(session.id, attachments, changes)
        return session

    async def fork(self, reference: str, *, title: str = "", **changes: Any) -> Session:
        """Start a copy of a session's conversation, which goes its own way from here."""
        parent = await (await self.get(reference)).row()
        if parent.cli_session_id is None:
            raise SessionError(f"session {parent.id[:8]} has no conversation yet that could be forked")
        settings = _changed(decode_settings(parent.settings), changes)
        settings = msgspec.structs.replace(settings, forks=parent.cli_session_id)
        row = await self._create(
            settings, title=title or f"{parent.title} (fork)".strip(), forked_from=parent.id, cli_session_id=None
        )
        options = for_fork(settings.options, parent.cli_session_id)
        await self._sit(row, options, settings, why="fork", attachments=Attachments())
        return Session(row.id, self)

    async def adoptable(self, cwd: str | os.PathLike[str] | None = None) -> Sequence[Adoptable]:
        """Sessions that Claude Code itself keeps, of one project or of all."""
        from handrail.sessions.adoption import adoptable

        directory = _absolute(cwd) if cwd is not None else None
        return await asyncio.to_thread(adoptable, self._home(), directory, environ={**os.environ, **self._env})

    async def adopt(self, cli_session_id: str) -> Session:
        """Take over a session that Claude Code keeps: its history can be read here, and a message resumes it."""
        from handrail.sessions.adoption import history

        known = await self.store.list_sessions(SessionFilter(archived=None, cli_session_id=cli_session_id), limit=1)
        if known:
            return Session(known[0].id, self)
        found = [each for each in await self.adoptable() if each.session_id.startswith(cli_session_id)]
        if len(found) != 1:
            raise SessionNotFound(
                f"neither Handrail nor Claude Code has a session {cli_session_id!r} on this machine: "
                "`handrail ls --adoptable` lists those of Claude Code"
            )
        settings = SessionSettings(options=Options(cwd=found[0].cwd), policy=Asked())
        row = await self._create(settings, title=found[0].title, cli_session_id=found[0].session_id, status="stopped")
        # Not the feed of the session: nobody is to be notified of what happened long ago.
        owned = await self._ownership.take(row, Feed(row.id, self.store), on_failure=lambda error: None)
        try:
            owned.journal.add(await asyncio.to_thread(lambda: list(history(found[0].path))))
        finally:
            await owned.give_up()
        return Session(row.id, self)

    async def stop_all(self) -> int:
        """Stop every session that is live on this machine; returns how many there were."""
        count = 0
        problems: list[str] = []
        for row in await self._owned():
            session = Session(row.id, self)
            try:
                if await session.is_live():
                    await session.stop()
                    count += 1
            except SessionError as error:  # one that cannot be stopped must not keep the others alive
                problems.append(f"session {row.id[:8]}: {error}")
        if problems:
            raise SessionError("\n".join(problems))
        return count

    async def write_control_response(
        self, session_id: str, request_id: str, approved: bool, deny_message: str | None = None
    ) -> None:
        """Answer a tool permission with yes or no: `Session.decide` in the words of older bridges."""
        answer = Allow() if approved else Deny(deny_message or "The user denied this.")
        await (await self.get(session_id)).decide(request_id, answer, actor=PYTHON)

    # ------------------------------------------------------------ where sessions live (for their handles)

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
        row = await self.store.get_session(session_id)
        if row is None:
            raise SessionNotFound(f"there is no session {session_id}")
        if row.owner is None:
            return None
        link = await self._ownership.link_to_owner(row)
        if link is not None:
            return ThereSeat(session_id, link)
        await self._ownership.recover(row, self._feed(session_id))
        return None

    async def seat_here(self, session_id: str) -> Seat:
        """Resume a session in this process, unless it lives already."""
        await self._resume(session_id, Attachments(), {})
        seat = await self.seat(session_id)
        if seat is None:
            raise SessionNotLive(f"the CLI of session {session_id[:8]} ended as soon as it was started")
        return seat

    def stored_items(self, session_id: str, after: int, *, deltas: bool, follow: bool) -> AsyncGenerator[Item, None]:
        """The journal of a session, and what this process adds to it."""
        return self._feed(session_id).read(after, deltas=deltas, follow=follow)

    async def export(self, session_id: str, format: str) -> str:
        """A session as one document."""
        from handrail.sessions.exporting import export

        session = Session(session_id, self)
        row = await session.row()
        events = [item async for item in session.subscribe(deltas=False, follow=False) if isinstance(item, Event)]
        return await asyncio.to_thread(export, format, row, events)

    async def delete(self, session_id: str) -> None:
        """Remove a session and everything of it."""
        if await self.seat(session_id) is not None:
            raise SessionBusy(f"session {session_id[:8]} is live: stop it before you delete it")
        await self.store.delete_session(session_id)
        feed = self._feeds.pop(session_id, None)
        if feed is not None:
            feed.close()

    # ------------------------------------------------------------ making a session live

    async def _resume(
        self,
        session_id: str,
        attachments: Attachments,
        changes: Mapping[str, Any],
        *,
        why: str = "resume",
        policy: Policy | PolicySource | None = None,
    ) -> None:
        async with self._while_starting(session_id):
            if await self._seat(session_id) is not None:
                return
            row = await self.store.get_session(session_id)
            if row is None:
                raise SessionNotFound(f"there is no session {session_id}")
            settings = _changed(decode_settings(row.settings), changes)
            sit = partial(self._sit, settings=settings, why=why, attachments=attachments, policy=policy)
            try:
                await (self._sit_again if await self._has_begun(row) else self._sit_first)(row, settings, sit)
            except SessionBusy:
                if await self._seat(session_id) is None:
                    raise
                # Another process was faster: the session lives there.

    async def _sit_first(self, row: SessionRow, settings: SessionSettings, sit: Sit) -> None:
        """Begin a session's conversation."""
        if settings.forks is not None:
            await sit(row, for_fork(settings.options, settings.forks))
            return
        cli_session_id = row.cli_session_id or str(uuid4())
        try:
            await sit(row, for_new(settings.options, cli_session_id))
        except ProcessExited as error:
            if IN_USE not in str(error):
                raise
            await sit(row, for_resume(settings.options, cli_session_id))

    async def _sit_again(self, row: SessionRow, settings: SessionSettings, sit: Sit) -> None:
        """Go on with a session's conversation, or, if Claude Code kept nothing of it, begin another one."""
        try:
            await sit(row, for_resume(settings.options, str(row.cli_session_id)))
        except ProcessExited as error:
            if NO_CONVERSATION not in str(error):
                raise
            # Another id: some versions refuse one of which they keep an empty file.
            row = msgspec.structs.replace(row, cli_session_id=str(uuid4()))
            engine = await sit(row, for_new(settings.options, str(row.cli_session_id)))
            engine.begins_anew(STARTS_ANEW)

    @asynccontextmanager
    async def _while_starting(self, session_id: str) -> AsyncGenerator[None, None]:
        """One start of a session at a time; whoever looks for the session meanwhile waits for it."""
        lock = self._starting.setdefault(session_id, asyncio.Lock())  # it is kept by those who hold or await it
        async with lock:
            yield

    async def _has_begun(self, row: SessionRow) -> bool:
        """Whether the CLI keeps a conversation of this session: before its first run there is none to resume."""
        return bool(await self.store.runs(row.id))

    async def _create(
        self,
        settings: SessionSettings,
        *,
        title: str,
        cli_session_id: str | None,
        forked_from: str | None = None,
        status: str = "idle",
    ) -> SessionRow:
        now = time.time()
        row = SessionRow(
            id=uuid4().hex,
            cwd=str(settings.options.cwd),
            created_at=now,
            updated_at=now,
            title=title,
            cli_session_id=cli_session_id,
            forked_from=forked_from,
            status=status,
            settings=encode_settings(settings),
        )
        await self.store.create_session(row)
        return row

    async def _sit(
        self,
        row: SessionRow,
        options: Options,
        settings: SessionSettings,
        *,
        why: str,
        attachments: Attachments,
        policy: Policy | PolicySource | None = None,
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
            on_end=self._forget,
        )
        try:
            engine.policy = policy or self._policy(settings.policy, options, engine)
            self._engines[row.id] = engine
            await engine.start(self._with_env(options), why=why)
        except BaseException:
            await engine.stop()
            raise
        return engine

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
                await self._resume(session_id, engine.attachments.again(), {}, why="recovery", policy=policy)
        except SessionLimit as error:
            await self._warn(session_id, f"messages were not sent: {error}")
        except HandrailError as error:
            logger.warning("session %s has messages that were not sent: %s", session_id[:8], error)

    async def _warn(self, session_id: str, text: str) -> None:
        """Put a warning into the journal of a session that nobody owns."""
        logger.warning("session %s: %s", session_id[:8], text)
        async with self._while_starting(session_id):
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

    def _policy(self, asked: Asked | None, options: Options, engine: Engine) -> PolicySource | None:
        if asked is None:
            return None
        return PolicySource(
            str(options.cwd),
            self.places,
            asked,
            on_error=lambda error: engine.note(
                f"the policy cannot be reloaded, the last one holds: {error}", warning=True
            ),
            on_change=lambda loaded: engine.note("the policy has changed, and holds from now on"),
        )

    def _with_env(self, options: Options) -> Options:
        return msgspec.structs.replace(options, env={**self._env, **options.env})

    def _home(self) -> str:
        return self._env.get("HOME") or os.path.expanduser("~")

    async def _in_worktree(self, settings: SessionSettings, name: str) -> SessionSettings:
        from handrail.sessions.worktrees import create_worktree

        directory = os.path.join(self.places.state, "worktrees")
        worktree = await create_worktree(str(settings.options.cwd), name=name, directory=directory)
        options = msgspec.structs.replace(settings.options, cwd=worktree.cwd)
        return msgspec.structs.replace(settings, options=options, worktree=msgspec.to_builtins(worktree))

    # ------------------------------------------------------------ after a crash

    async def _recover_orphans(self) -> None:
        """Bring the journals of sessions whose owner died to an end, so that everybody sees what became of them."""
        for row in await self._owned():
            try:
                await self._ownership.recover(row, self._feed(row.id))
            except SessionError as error:  # one session must not keep people from all the others
                logger.warning("session %s cannot be brought to an end now: %s", row.id[:8], error)

    async def _owned(self) -> Sequence[SessionRow]:
        return [row for row in await self.store.list_sessions(SessionFilter(archived=None), limit=100_000) if row.owner]


def _located(options: Options) -> Options:
    return msgspec.structs.replace(options, cwd=_absolute(options.cwd or os.getcwd()))


def _absolute(path: str | os.PathLike[str]) -> str:
    return os.path.abspath(path)


def _changed(settings: SessionSettings, changes: Mapping[str, Any]) -> SessionSettings:
    if not changes:
        return settings
    policy = changes.get("policy", settings.policy)
    budget = changes.get("budget", settings.budget)
    options = {name: value for name, value in changes.items() if name not in ("policy", "budget")}
    return msgspec.structs.replace(
        settings, options=msgspec.structs.replace(settings.options, **options), policy=policy, budget=budget
    )

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
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import msgspec

from handrail.errors import (
    AmbiguousSession,
    HostError,
    HostNotFound,
    InvalidOptions,
    SessionError,
    SessionNotFound,
)
from handrail.events.resume import find_resume_token
from handrail.places import Places
from handrail.policy.policy import Policy
from handrail.policy.storage.loading import Asked
from handrail.protocol.asks import Allow, Deny
from handrail.protocol.options import Options
from handrail.sessions.abroad import Abroad, WantedSession
from handrail.sessions.asking import OnAsk
from handrail.sessions.beginning import Beginning, checked_id, settled_request
from handrail.sessions.feed import Feed
from handrail.sessions.guards.notifications import Notify
from handrail.sessions.guards.watch import Limits
from handrail.sessions.hooks import Hook
from handrail.sessions.household import Host, Household
from handrail.sessions.launching import (
    SessionSettings,
    changed,
    check_policy_is_known,
    plain_options,
)
from handrail.sessions.making import Maker
from handrail.sessions.mcp import ToolServer
from handrail.sessions.session import PYTHON, Session
from handrail.sessions.sitting import Attachments
from handrail.sessions.tidying import Tidying
from handrail.sessions.tools import Tool
from handrail.store.base import (
    NOT_ARCHIVED,
    AskRow,
    AskRowState,
    Hit,
    Retention,
    SessionFilter,
    SessionRow,
    Store,
    UsageKey,
    UsageRow,
)

if TYPE_CHECKING:
    from handrail.sessions.adoption import Adoptable
    from handrail.transports.ingress.transport import IngressTransport

__all__ = ["Manager"]

logger = logging.getLogger("handrail.session")

NO_LIMITS = Limits()
NOTHING_ATTACHED = Attachments()
SHORTEST_REFERENCE = 4


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
        host: Host | None = None,
        abroad: Abroad | None = None,
    ) -> None:
        self.store = store
        self.places = places
        self.limits = limits
        self.adopted_as = SessionSettings(policy=Asked())
        """How sessions that are taken over from Claude Code are run, each in its own directory."""
        self._env = dict(env or {})
        self._house = Household(store, places, env=self._env, limits=limits, notify=notify, host=host, abroad=abroad)
        self._maker = Maker(store, self._house, worktrees=os.path.join(places.state, "worktrees"))
        self._retention = retention
        self._tidying: asyncio.Task[None] | None = None
        self._adopting = asyncio.Lock()
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
        host: Host | None = None,
    ) -> Manager:
        """A manager over the embedded store of this user.

        `env` is added to the environment of every CLI; `limits` hold for all sessions, `notify` says who is told of
        what happens in them, and what `retention` does not keep is removed once a day. Sessions that are resumed as
        they were live with the `host`, if there is one: the hub of this machine.
        """
        from handrail.store.place import store_path
        from handrail.store.sqlite import SqliteStore

        places = places or Places.of_user(os.environ)
        store = SqliteStore(store_path(places))
        return cls(store, places, env=env, limits=limits, notify=notify, retention=retention, host=host)

    # ------------------------------------------------------------ life

    async def __aenter__(self) -> Self:
        try:
            await self.store.open()
            await self._house.open()
        except BaseException:
            await self.close()
            raise
        if self._retention is not None:
            tidying = Tidying(self.store, self._retention, directory=self.places.state)
            self._tidying = asyncio.get_running_loop().create_task(tidying.run())
        return self

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
            if self._tidying is not None:
                self._tidying.cancel()
                await asyncio.wait([self._tidying])
            await self._house.close()
        finally:
            await self.store.close()

    # ------------------------------------------------------------ other machines

    def with_abroad(self, abroad: Abroad) -> None:
        """Reach the sessions of other machines through `abroad` from now on: it needs the manager's store itself."""
        self._house.abroad = abroad

    def hold_to(self, policy: Asked) -> None:
        """Hold every session that becomes live here to this from now on, beside what was asked of it itself.

        Rules add up; the profile is that of sessions that name none. Sessions that a program starts here without a
        policy have none until somebody resumes them.
        """
        self._house.rules.standing = policy

    def copy_feed(self, session_id: str) -> Feed:
        """What readers of another machine's session follow: whoever copies its journal here publishes into it."""
        return self._house.copy_feed(session_id)

    def forget_copy(self, session_id: str) -> None:
        """The copy of another machine's session is not here any more."""
        self._house.forget_copy(session_id)

    def _other_machines(self) -> Abroad:
        if self._house.abroad is None:
            raise HostNotFound("this manager has no other machines: a hub has them (`handrail serve`)")
        return self._house.abroad

    # ------------------------------------------------------------ sessions

    async def start(
        self,
        options: Options | None = None,
        *,
        id: str | None = None,
        host: str = "",
        title: str = "",
        policy: Asked | Policy | None = None,
        budget: float | None = None,
        worktree: str | None = None,
        on_ask: OnAsk | None = None,
        hooks: Sequence[Hook] = (),
        tools: Sequence[Tool[..., Any] | ToolServer] = (),
        record: str | os.PathLike[str] | None = None,
    ) -> Session:
        """Start a session in this process, or on the `host` of a hub: by its name, `label:NAME`, or `any`.

        With `policy`, every tool call is judged by it: what the policy files say, and what is asked beside them
        (`Asked`); or a `Policy` as it is, which is not remembered. `worktree` is the name of a git worktree to make
        for it. What nobody answers at once (`on_ask`) waits for `Session.decide`.

        The session gets the `id` that you chose, a UUID: whoever does not know what became of a start can then start
        the same again, and there is one session. Raises `SessionExists` if the id is that of another one.
        """
        options, session_id = options or Options(), checked_id(id)
        asked, fixed = (policy, None) if isinstance(policy, Asked) else (None, policy)
        settings = SessionSettings(options=options, policy=asked, budget=budget, fixed_policy=fixed is not None)
        if host:
            _check_can_travel(policy, on_ask, hooks, tools, record)
            wanted = WantedSession(
                id=session_id,
                request=settled_request(settings, title=title, worktree=worktree, host=host),
                options=plain_options(options),
                title=title,
                policy=asked,
                budget=budget,
                worktree=worktree,
            )
            return self.session(await self._other_machines().start(host, wanted))
        settings = msgspec.structs.replace(settings, options=_located(options))
        request = settled_request(settings, title=title, worktree=worktree, host="")
        beginning = Beginning(id=session_id, request=request, settings=settings, title=title, worktree=worktree)
        attachments = Attachments(on_ask, hooks, tools, os.fspath(record) if record is not None else None)
        return await self.begin(beginning, attachments, policy=fixed)

    async def begin(
        self, beginning: Beginning, attachments: Attachments = NOTHING_ATTACHED, *, policy: Policy | None = None
    ) -> Session:
        """Start a session in this process, for whoever takes requests of others (`start` is for programs).

        One that this request has begun already is made live again, if it is not. Raises `SessionExists`.
        """
        await self._maker.begin(beginning, attachments, policy)
        return self.session(beginning.id)

    async def expect(
        self,
        options: Options,
        *,
        title: str = "",
        policy: Asked | None = None,
        budget: float | None = None,
    ) -> Session:
        """A session whose CLI somebody starts elsewhere: it waits until that dials in (`receive`).

        `options` say what is known of that CLI; `cwd` is the directory where it runs, on its own machine.
        """
        settings = SessionSettings(options=options, policy=policy, budget=budget, dials_in=True)
        row = await self._maker.create(settings, title=title, cli_session_id=None, status="waiting")
        return self.session(row.id)

    async def started_elsewhere(self, session_id: str) -> Options:
        """How the CLI of such a session is to be started: its own settings say what they can of the policy."""
        return self._house.rules.started_elsewhere(await self.session(session_id).row())

    async def receive(self, session_id: str, transport: IngressTransport) -> None:
        """Seat a session whose CLI has dialled in. Raises `SessionBusy` if it has one already."""
        await self._house.seat_dialled_in(session_id, transport)

    def session(self, session_id: str) -> Session:
        """The handle of a session whose id is known. Nothing is looked up."""
        return Session(session_id, self._house)

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
            return self.session((exact or found)[0].id)
        if found:
            raise AmbiguousSession(
                f"{wanted!r} fits several sessions: " + ", ".join(f"{row.id[:12]} ({row.title})" for row in found[:5])
            )
        if adopt:
            return await self.adopt(wanted)
        raise SessionNotFound(f"there is no session {wanted!r}: `handrail ls --all` lists all of them")

    async def latest(self, cwd: str | os.PathLike[str]) -> Session | None:
        """The session of this machine's directory that was used last."""
        rows = await self.store.list_sessions(SessionFilter(cwd=_absolute(cwd), host=""), limit=1)
        return self.session(rows[0].id) if rows else None

    async def list(
        self,
        which: SessionFilter = NOT_ARCHIVED,
        *,
        limit: int = 100,
        before: tuple[float, str] | None = None,
    ) -> list[SessionRow]:
        """Sessions, the latest first."""
        return await self.store.list_sessions(which, limit=limit, before=before)

    async def count(self, which: SessionFilter = NOT_ARCHIVED) -> dict[str, int]:
        """How many of these sessions have each status."""
        return await self.store.count_sessions(which)

    async def usage(self, *, since: float = 0.0, by: Sequence[UsageKey] = ("day",)) -> Sequence[UsageRow]:
        """What was used since a time: tokens, dollars and runs, summed up by day, model, session, or several of them.

        A day is that of the place where the session ran.
        """
        return await self.store.usage(since=since, by=by)

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
        policy: Asked | Policy | None = None,
        **changes: Any,
    ) -> Session:
        """Start the CLI of a session again, in this process; `changes` are options that are to be other ones now.

        `policy` takes the place of the one that the session remembers. A session that lives elsewhere stays there: the
        handle reaches it.
        """
        session = await self.get(reference)
        attachments = Attachments(on_ask, hooks, tools, os.fspath(record) if record is not None else None)
        if isinstance(policy, Asked):
            changes["policy"] = policy
        fixed = policy if isinstance(policy, Policy) else None
        await self._house.resume(session.id, attachments, changes, policy=fixed)
        return session

    async def fork(self, reference: str, *, title: str = "", **changes: Any) -> Session:
        """Start a copy of a session's conversation, which goes its own way from here."""
        parent = await (await self.get(reference)).row()
        if parent.host:
            return self.session(await self._other_machines().fork(parent, title=title, changes=changes))
        if parent.cli_session_id is None:
            raise SessionError(f"session {parent.id[:8]} has no conversation yet that could be forked")
        settings = changed(self._house.rules.remembered(parent), changes)
        check_policy_is_known(settings, parent.id)
        if settings.dials_in:
            raise SessionError(
                f"the conversation of session {parent.id[:8]} is where its Claude Code runs: fork it there, with a "
                f"line of `handrail ingress new` and --resume {parent.cli_session_id} --fork-session"
            )
        return self.session(await self._maker.fork(parent, settings, title=title))

    async def adoptable(
        self, cwd: str | os.PathLike[str] | None = None, *, unknown_only: bool = False
    ) -> Sequence[Adoptable]:
        """Sessions that Claude Code itself keeps, of one project or of all; or only those that Handrail has not."""
        from handrail.sessions.adoption import adoptable

        directory = _absolute(cwd) if cwd is not None else None
        kept = await asyncio.to_thread(adoptable, self._home(), directory, environ={**os.environ, **self._env})
        return [each for each in kept if not await self._having(each.session_id)] if unknown_only else kept

    async def _having(self, cli_session_id: str) -> Sequence[SessionRow]:
        """The session that goes on with one of Claude Code's, if there is one."""
        return await self.store.list_sessions(SessionFilter(archived=None, cli_session_id=cli_session_id), limit=1)

    async def adopt(self, cli_session_id: str) -> Session:
        """Take over a session that Claude Code keeps: its history can be read here, and a message resumes it."""
        async with self._adopting:  # whoever wants the same one meanwhile gets that session
            return await self._adopt(cli_session_id)

    async def _adopt(self, cli_session_id: str) -> Session:
        from handrail.sessions.adoption import history

        if known := await self._having(cli_session_id):
            return self.session(known[0].id)
        found = [each for each in await self.adoptable() if each.session_id.startswith(cli_session_id)]
        if len(found) != 1:
            raise SessionNotFound(
                f"neither Handrail nor Claude Code has a session {cli_session_id!r} on this machine: "
                "`handrail ls --adoptable` lists those of Claude Code"
            )
        if known := await self._having(found[0].session_id):  # it was named by the beginning of its id
            return self.session(known[0].id)
        options = msgspec.structs.replace(self.adopted_as.options, cwd=found[0].cwd)
        settings = msgspec.structs.replace(self.adopted_as, options=options)
        row = await self._maker.create(
            settings, title=found[0].title, cli_session_id=found[0].session_id, status="stopped"
        )
        await self._house.write_history(row, await asyncio.to_thread(lambda: list(history(found[0].path))))
        return self.session(row.id)

    async def stop_all(self) -> int:
        """Stop every session that is live, on this machine and on the others of a hub; returns how many there were."""
        count = 0
        problems: list[str] = []
        for row in await self._house.owned(everywhere=self._house.abroad is not None):
            session = self.session(row.id)
            try:
                if await session.is_live():
                    await session.stop()
                    count += 1
            except (SessionError, HostError) as error:  # one that cannot be stopped must not keep the others alive
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

    def _home(self) -> str:
        return self._env.get("HOME") or os.path.expanduser("~")


def _check_can_travel(
    policy: Asked | Policy | None,
    on_ask: OnAsk | None,
    hooks: Sequence[Hook],
    tools: Sequence[Tool[..., Any] | ToolServer],
    record: str | os.PathLike[str] | None,
) -> None:
    """Raise `InvalidOptions` for what only a program that is connected to a hub can offer a session elsewhere."""
    if isinstance(policy, Policy):
        raise InvalidOptions("a session on another machine is held to the policies there: pass an Asked")
    if on_ask is not None or hooks or tools or record is not None:
        raise InvalidOptions("on_ask, hooks, tools and record of a session elsewhere need `handrail.Hub`")


def _located(options: Options) -> Options:
    return msgspec.structs.replace(options, cwd=_absolute(options.cwd or os.getcwd()))


def _absolute(path: str | os.PathLike[str]) -> str:
    return os.path.abspath(path)

"""The sessions of a hub, from any machine: the interface of `Manager`, over HTTP and a live stream.

    async with Hub("https://hub.example.org", token) as hub:
        session = await hub.start(Options(cwd="/srv/project"), host="build-box")
        done = await session.run("Fix the failing test.")

Sessions live with the hub, or with the host that it runs them on, and go on when this program ends.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self

from handrail.places import Places
from handrail.policy.policy import Policy
from handrail.policy.storage.loading import Asked
from handrail.protocol.asks import Allow, Deny
from handrail.protocol.options import Options
from handrail.remote import records, wishes
from handrail.remote.acting import ActingSurface, Role, acting_header
from handrail.remote.asking import AskWatch, OnHubAsk
from handrail.remote.callbacks import HubCallbacks, OnConnected, OnDisconnected, OnError
from handrail.remote.changes import HubWatch, OnHubChange
from handrail.remote.connection import HubConnection
from handrail.remote.errors import HubUnreachable
from handrail.remote.facts import RemoteFacts
from handrail.remote.files import RemoteFiles
from handrail.remote.hub_file import running_hub
from handrail.remote.keeper import RemoteKeeper
from handrail.remote.live import LivePool
from handrail.remote.paths import session_path
from handrail.remote.programs import OfferedProgram, Programs
from handrail.remote.reading import RemoteStore
from handrail.sessions.asking import OnAsk
from handrail.sessions.beginning import checked_id
from handrail.sessions.hooks import Hook
from handrail.sessions.mcp import ToolServer
from handrail.sessions.session import Session
from handrail.sessions.tools import Tool
from handrail.store.base import (
    NOT_ARCHIVED,
    AskRow,
    AskRowState,
    Hit,
    SessionFilter,
    SessionRow,
    UsageKey,
    UsageRow,
)

if TYPE_CHECKING:
    from handrail.sessions.adoption import Adoptable

__all__ = ["Hub"]

PATIENCE: Final = 30.0
"""For how many seconds something is tried again while the hub cannot be reached."""


class Hub:
    """The sessions of a hub. Opened and closed with `async with`; closing it ends none of them.

    `on_connected()`, `on_disconnected(reason)` and `on_error(error)` are called as the live connection comes and goes;
    with any of them it is opened at once, else when it is first needed.
    """

    def __init__(
        self,
        url: str,
        token: str = "",
        *,
        on_connected: OnConnected | None = None,
        on_disconnected: OnDisconnected | None = None,
        on_error: OnError | None = None,
        patience: float = PATIENCE,
    ) -> None:
        wishes.check_address(url, has_token=bool(token))
        connection = HubConnection(url=url, token=token, patience=patience)
        self._set_up(connection, HubCallbacks(on_connected, on_disconnected, on_error))

    @classmethod
    def local(
        cls,
        places: Places | None = None,
        *,
        on_connected: OnConnected | None = None,
        on_disconnected: OnDisconnected | None = None,
        on_error: OnError | None = None,
        patience: float = PATIENCE,
    ) -> Self:
        """The hub of this user on this machine, through its own socket. Raises `HubUnreachable` if none runs."""
        places = places or Places.of_user(os.environ)
        found = running_hub(places)
        if found is None:
            raise HubUnreachable("no hub runs here: start one with `handrail serve`")
        callbacks = HubCallbacks(on_connected, on_disconnected, on_error)
        return cls.over(HubConnection.local(found, patience=patience, places=places), callbacks)

    @classmethod
    def over(cls, connection: HubConnection, callbacks: HubCallbacks | None = None) -> Self:
        """The hub at the other end of a connection, which is closed with it."""
        hub = cls.__new__(cls)
        hub._set_up(connection, callbacks or HubCallbacks())
        return hub

    def _set_up(self, connection: HubConnection, callbacks: HubCallbacks) -> None:
        self._callbacks = callbacks
        self._live = LivePool(connection, callbacks)
        self._programs = Programs(connection, callbacks.error)
        self._speak_over(connection)
        self._is_mine = True

    def _speak_over(self, connection: HubConnection) -> None:
        self._connection = connection
        self.store = RemoteStore(connection)
        self._keeper = RemoteKeeper(connection, self.store, self._live)
        self.files = RemoteFiles(connection)
        self.facts = RemoteFacts(connection)
        self._watches: set[AskWatch] = set()
        self._closed = False

    def acting_for(self, name: str, *, role: Role, surface: ActingSurface = "telegram") -> Self:
        """The same hub, on which everything is done for somebody: what they do is theirs, and needs their role.

        For front ends that know their people themselves, and that connect as an owner: the hub refuses others. It
        shares this one's connection, and is of use for as long as that is open.
        """
        hub = type(self).__new__(type(self))
        hub._callbacks, hub._live, hub._programs = self._callbacks, self._live, self._programs
        hub._speak_over(self._connection.acting_for(acting_header(name, surface, role)))
        hub._is_mine = False
        return hub

    # ------------------------------------------------------------ life

    async def __aenter__(self) -> Self:
        try:
            await self._connection.greet()
        except BaseException:
            await self.close()
            raise
        if self._callbacks.are_wanted:
            self._live.open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Disconnect. Sessions go on, without what this program offered them. Idempotent."""
        if self._closed:
            return
        self._closed = True
        await asyncio.gather(*(watch.close() for watch in self._watches))
        if not self._is_mine:
            return
        await self._programs.close()
        await self._live.close()
        await self._callbacks.close()
        await self._connection.__aexit__()

    @property
    def is_connected(self) -> bool:
        """Whether the live connection is there now."""
        return self._callbacks.is_connected

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
        """Start a session with the hub, or on a `host` of it: by its name, `label:NAME`, or `any`.

        `cwd` is a directory there. The policy is what the hub is configured for, and what `policy` adds to it.
        `on_ask`, `hooks` and `tools` run in this process for as long as it is connected.

        The session gets the `id` that you chose, a UUID: a program that does not know what became of a start can then
        start the same again, and there is one session. Raises `SessionExists` if the id is that of another one.
        """
        wishes.check_record(record)
        session_id = checked_id(id)
        body = wishes.new_session(options or Options(), host=host, is_here=self._connection.socket is not None)
        body |= wishes.given(
            id=session_id,
            host=host or None,
            title=title or None,
            policy=wishes.policy(policy),
            budget=budget,
            worktree=worktree,
        )
        async with self._offering(on_ask, hooks, tools) as offer:
            made = await self._connection.post("/api/sessions", records.Made, body={**body, **offer}, repeatable=True)
        return self.session(made.id)

    def session(self, session_id: str) -> Session:
        """The handle of a session whose id is known. Nothing is looked up."""
        return Session(session_id, self._keeper)

    async def get(self, reference: str, *, adopt: bool = False) -> Session:
        """The session with this id, unique beginning of an id, or id of the CLI's, also in a `claude --resume` line.

        With `adopt`, a session of Claude Code that the hub does not know is taken over. Raises `SessionNotFound` or
        `AmbiguousSession`.
        """
        return self.session(await self.store.find_session(reference, adopt=adopt))

    async def latest(self, cwd: str | os.PathLike[str]) -> Session | None:
        """The session of this directory that was used last."""
        rows = await self.list(SessionFilter(cwd=self._directory(cwd)), limit=1)
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
        """Start the CLI of a session again, where it ran; `changes` are options that are to be other ones now.

        `policy` is added to what the hub is configured for. A session that is live stays as it is.
        """
        wishes.check_record(record)
        session = await self.get(reference)
        body = wishes.changes(policy, changes)
        async with self._offering(on_ask, hooks, tools) as offer:
            await self._connection.post(f"{session_path(session.id)}/resume", body={**body, **offer})
        return session

    async def fork(self, reference: str, *, title: str = "", **changes: Any) -> Session:
        """Start a copy of a session's conversation, which goes its own way from here."""
        session = await self.get(reference)
        body = {"title": title, **wishes.changes(changes.pop("policy", None), changes)}
        made = await self._connection.post(f"{session_path(session.id)}/fork", records.Made, body=body)
        return self.session(made.id)

    async def adoptable(
        self, cwd: str | os.PathLike[str] | None = None, *, unknown_only: bool = False
    ) -> Sequence[Adoptable]:
        """Sessions that Claude Code itself keeps on the hub's machine, of one project or of all."""
        return await self.store.adoptable(self._directory(cwd) if cwd is not None else None, unknown_only=unknown_only)

    async def adopt(self, cli_session_id: str) -> Session:
        """Take over a session that Claude Code keeps: its history can be read here, and a message resumes it."""
        body = {"cli_session_id": cli_session_id}
        return self.session((await self._connection.post("/api/adopt", records.Made, body=body)).id)

    async def stop_all(self) -> int:
        """Stop every session that is live on the hub's machine; returns how many there were."""
        return int((await self._connection.post("/api/sessions/stop-all", dict[str, int]))["stopped"])

    async def write_control_response(
        self, session_id: str, request_id: str, approved: bool, deny_message: str | None = None
    ) -> None:
        """Answer a tool permission with yes or no: `Session.decide` in the words of older bridges."""
        answer = Allow() if approved else Deny(deny_message or "The user denied this.")
        session = await self.get(session_id)
        row = await self.store.get_ask(session.id, request_id)
        await session.decide(request_id, answer, digest=row.digest if row is not None else "unknown")

    # ------------------------------------------------------------ what only a hub has

    async def hosts(self) -> Sequence[records.HostView]:
        """The machines that run sessions for the hub, the hub's own one first or among them."""
        found: records.Hosts = await self._connection.get("/api/hosts", records.Hosts)
        return found.items

    def on_ask(self, answer: OnHubAsk, *, session: str | None = None) -> Callable[[], None]:
        """Have `answer(ask, session)` called for whatever any session of the hub asks, or one of them.

        What waits already is asked at once. The first answer wins, whoever gives it; None leaves it to others. Returns
        what ends it.
        """
        watch = AskWatch(
            answer,
            session_id=session,
            store=self.store,
            live=self._live,
            session=self.session,
            on_error=self._callbacks.error,
        )
        self._watches.add(watch)
        return watch.stop

    def watch(self, listener: OnHubChange) -> Callable[[], None]:
        """Have `listener(change)` called for every session of the hub that changes, and for what waits in it.

        All that the hub lists comes at once, and again whenever the connection was lost. It is told that something
        changed, not each change: read the session for that. Returns what ends it.
        """
        return self._live.on_home(HubWatch(listener).take)

    # ------------------------------------------------------------ inside

    @asynccontextmanager
    async def _offering(
        self, on_ask: OnAsk | None, hooks: Sequence[Hook], tools: Sequence[Tool[..., Any] | ToolServer]
    ) -> AsyncGenerator[dict[str, Any], None]:
        """What is offered to a session that is being started, as the request for it says."""
        if on_ask is None and not hooks and not tools:
            yield {}
            return
        program = OfferedProgram(on_ask=on_ask, hooks=hooks, tools=tools)
        await self._programs.offer(program)
        try:
            yield {"program": program.spec}
        except BaseException:
            await self._programs.withdraw(program)
            raise

    def _directory(self, path: str | os.PathLike[str]) -> str:
        return wishes.directory(os.fspath(path), is_here=self._connection.socket is not None)

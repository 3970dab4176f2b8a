"""The hosts of a hub, as its manager, its API and its pages use them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from types import TracebackType
from typing import Any, Final, Self, TypeVar
from weakref import WeakValueDictionary

import msgspec

from handrail.errors import HandrailError, HostAway, HostError, OutcomeUnknown, SessionNotFound
from handrail.server.auth.audit import Audit
from handrail.server.calls import Caller
from handrail.server.hosts import link as links
from handrail.server.hosts.arrivals import Arrivals
from handrail.server.hosts.callbacks import CallPrograms
from handrail.server.hosts.commands import NOBODY, Done
from handrail.server.hosts.copies import CopyMeter
from handrail.server.hosts.ending import end_copies_of
from handrail.server.hosts.enrolments import Enrolments
from handrail.server.hosts.known import KnownHost
from handrail.server.hosts.placed import Placed
from handrail.server.hosts.placement import chosen
from handrail.server.hosts.registry import Registry
from handrail.server.hosts.seats import HostSeat
from handrail.server.hosts.serving import Door
from handrail.server.summaries import HERE, Where
from handrail.sessions.abroad import WantedSession
from handrail.sessions.asks import Actor
from handrail.sessions.beginning import begun
from handrail.sessions.manager import Manager
from handrail.sessions.programs import ProgramSpec
from handrail.store.base import FrameRow, SessionRow

__all__ = ["Hosts"]

logger = logging.getLogger("handrail.hosts")

KindT = TypeVar("KindT")

FIRST_COPY: Final = 15.0
"""How long the first copy of a session that was started on a host may take, in seconds."""
UNHEARD: Final = "whether it did is not known, so it is started nowhere else"
TO_BE_SEEN: Final = 3.0
"""How long is waited for what was done on a host to be in the copy here."""


class Hosts:
    """Every host of one hub. Fulfils `Abroad`. Used with `async with`."""

    def __init__(self, manager: Manager, *, url: Callable[[], str], audit: Audit, meter: CopyMeter) -> None:
        self.manager = manager
        self.enrolments = Enrolments()
        self.registry = Registry(manager.store)
        self.placed = Placed(manager.store)
        self._audit = audit
        self._arrivals = Arrivals()
        self._starting: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._listeners: list[Callable[[str], None]] = []
        self._door = Door(
            self.registry,
            manager,
            url=url,
            arrivals=self._arrivals,
            meter=meter,
            note=self._note,
            on_change=self.changed,
        )
        self.serve = self._door.serve

    async def __aenter__(self) -> Self:
        await self.registry.load()
        for host in self.registry.with_revoked():
            if host.state == "revoked":  # the hub may have ended before it was done
                await end_copies_of(host.id, self.manager)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    async def stop(self) -> None:
        """Send every host away: they go on by themselves, and come back. Idempotent."""
        self._door.closed = True
        open_links = [host.link for host in self.registry.with_revoked() if host.link is not None]
        for link in open_links:
            link.close(links.STOPPING)
        await asyncio.gather(*(link.over.wait() for link in open_links))
        for host in self.registry.with_revoked():
            host.commands.close(HostAway("the hub is stopping"))
            await host.callbacks.close()

    # ------------------------------------------------------------ who listens

    @property
    def on_callback(self) -> CallPrograms | None:
        """Passes calls of hosts' sessions on to the programs that started them."""
        return self.registry.programs

    @on_callback.setter
    def on_callback(self, call: CallPrograms | None) -> None:
        self.registry.programs = call

    def on_change(self, listener: Callable[[str], None]) -> None:
        """Call `listener` with the id of a host whose state has changed."""
        self._listeners.append(listener)

    def changed(self, host_id: str) -> None:
        """The state of a host is other now."""
        for listener in self._listeners:
            listener(host_id)

    async def _note(self, host: KnownHost, action: str, session_id: str, words: str) -> None:
        caller = Caller(name=f"host {host.name}", role="viewer", surface="api")
        await self._audit.note(caller, action, path={"id": session_id, "host": host.name}, detail=words)

    # ------------------------------------------------------------ what is known

    def where(self, host_id: str) -> Where:
        """Where a session is that is copied from this host."""
        if not host_id:
            return HERE
        host = self.registry.get(host_id)
        return Where(host_id, host.name, host.state) if host is not None else Where(host_id, host_id, "revoked")

    # ------------------------------------------------------------ who may come

    async def revoke(self, host: KnownHost) -> None:
        """Remove a host: its link ends at once, and its key is good for nothing. The copies stay, and claim nothing."""
        await self.registry.revoke(host)
        if host.link is not None:
            host.link.close(links.REVOKED)
            await host.link.over.wait()  # what came before is stored first
        await host.callbacks.close()
        await end_copies_of(host.id, self.manager)
        self.changed(host.id)

    async def drain(self, host: KnownHost, on: bool) -> None:
        """Start no further sessions there, or let them be started again. It is told now, or when it is back."""
        await self.registry.set_draining(host, on)
        if host.connected:
            try:
                await host.commands.call("drain", on=on)
            except HandrailError as error:
                logger.warning("%s was not told to drain: %s", host.name, error)
        self.changed(host.id)

    # ------------------------------------------------------------ doing something there

    async def call(
        self, host: KnownHost, method: str, session: str = "", *, actor: Actor = NOBODY, **params: Any
    ) -> Any:
        """Have a host do something that changes no session, or none yet."""
        return (await host.commands.call(method, session, actor=actor, **params)).result

    def understood(self, host: KnownHost, result: Any, kind: type[KindT]) -> KindT:
        """What a host answered, as this. Raises `HostError` if it is something else."""
        try:
            return msgspec.convert(result, kind)
        except msgspec.ValidationError as error:
            raise HostError(f"{host.name} answered with something unexpected: {error}") from None

    async def do(self, row: SessionRow, method: str, *, actor: Actor = NOBODY, **params: Any) -> Any:
        """Have something done with a session; when this returns, the copy here shows it, if that comes soon."""
        done = await self.host_of(row).commands.call(method, row.id, actor=actor, **params)
        await self._seen(row.id, done)
        return done.result

    def host_of(self, row: SessionRow) -> KnownHost:
        """The host that runs a session. Raises `HostAway` if it is not known any more."""
        host = self.registry.get(row.host)
        if host is None:
            raise HostAway(f"the host of session {row.id[:8]} is not known to this hub any more")
        return host

    async def _seen(self, session_id: str, done: Done) -> None:
        if not done.last_seq:
            return

        async def look() -> bool | None:
            row = await self.manager.store.get_session(session_id)
            return True if row is None or row.last_seq >= done.last_seq else None

        await self._arrivals.until(session_id, look, patience=TO_BE_SEEN)

    async def _taken_up(self, session_id: str, fence: int, host: KnownHost) -> None:
        """Wait until the copy shows that the session lives, or has lived since it had this fence."""

        async def look() -> bool | None:
            row = await self._copy_from(host, session_id)
            return True if row is not None and (row.owner is not None or row.fence > fence) else None

        if await self._arrivals.until(session_id, look, patience=FIRST_COPY) is None:
            raise OutcomeUnknown(
                f"session {session_id[:8]} runs on {host.name}, but its journal has not come here yet: "
                "it is listed as soon as it has"
            )

    async def _copy_from(self, host: KnownHost, session_id: str) -> SessionRow | None:
        """The copy of a session that a host says it has begun: not one that lives elsewhere, whatever the host says."""
        row = await self.manager.store.get_session(session_id)
        if row is not None and row.host != host.id:
            raise HostError(f"{host.name} says that it began session {session_id[:8]}, which is not one of its own")
        return row

    # ------------------------------------------------------------ the sessions of other machines

    async def seat(self, row: SessionRow) -> HostSeat | None:
        """Where a host's session lives; None if it is not live there, as far as is known."""
        return HostSeat(row, self) if row.owner is not None else None

    async def start(self, host: str, wanted: WantedSession) -> str:
        """Start a session on the host that `host` names; returns its id once a copy of it is here.

        One that was started already, as far as is known here, is made live again where it is, if it is not live.
        """
        async with self._one_start_of(wanted.id):
            row = await begun(self.manager.store, wanted.id, wanted.request)
            if row is None:
                return await self._start_anew(host, wanted)
            if row.owner is None:
                await self.resume(row, {}, wanted.program)
            return row.id

    @asynccontextmanager
    async def _one_start_of(self, session_id: str) -> AsyncGenerator[None, None]:
        lock = self._starting.setdefault(session_id, asyncio.Lock())  # it is kept by those who hold or await it
        async with lock:
            yield

    async def check_free(self, session_id: str, request: str) -> None:
        """Raise `SessionExists` if a host was told to start a session of this id, for another request than this."""
        if self.registry.with_revoked():
            await self.placed.check_free(session_id, request)

    async def _start_anew(self, reference: str, wanted: WantedSession) -> str:
        """Have a host start a session of which there is no copy here, and wait for that."""
        host, is_told_again = await self._place(reference, wanted)
        host.starting += 1
        try:
            done = await host.commands.call("start", wanted.id, **msgspec.to_builtins(wanted))
        except HandrailError as error:
            if is_told_again:
                raise _not_heard_of(wanted.id, host, error) from None
            if not isinstance(error, OutcomeUnknown) and host.state != "revoked":
                await self.placed.take_back(wanted.id, wanted.request)
            raise
        finally:
            host.starting -= 1
        session_id = _id_of(done, host)
        await self._taken_up(session_id, 0, host)
        return session_id

    async def _place(self, reference: str, wanted: WantedSession) -> tuple[KnownHost, bool]:
        """The host that is to start a session, and whether it may have been told so before."""
        given = await self.placed.host_of(wanted.id, wanted.request)
        if given is None:
            host = chosen(reference, self.registry.all())
            await self.placed.give(wanted.id, wanted.request, host.id)
            return host, False
        known = self.registry.get(given)
        if known is None:
            raise OutcomeUnknown(f"the host that was to start session {wanted.id[:8]} is not known any more; {UNHEARD}")
        if not known.facts.starts_once:
            raise OutcomeUnknown(
                f"the host {known.name} was told before to start this session, and its Handrail is too old to be told "
                f"again without starting another one: look for it in `handrail ls --host {known.name}`; {UNHEARD}"
            )
        return known, True

    async def resume(self, row: SessionRow, changes: Mapping[str, Any], program: ProgramSpec | None = None) -> None:
        """Make a session live there again, unless it is."""
        host = self.host_of(row)
        await host.commands.call("resume", row.id, changes=msgspec.to_builtins(dict(changes)), program=program)
        await self._taken_up(row.id, row.fence, host)

    async def fork(self, row: SessionRow, *, title: str, changes: Mapping[str, Any]) -> str:
        """Start a copy of a session's conversation on its host; returns its id."""
        host = self.host_of(row)
        done = await host.commands.call("fork", row.id, title=title, changes=msgspec.to_builtins(dict(changes)))
        session_id = _id_of(done, host)
        await self._taken_up(session_id, 0, host)
        return session_id

    async def change(self, row: SessionRow, columns: Mapping[str, Any]) -> None:
        """Set the title of a session, or whether it is archived. Of a host that was removed, only the copy has it."""
        if not self._is_removed(row):
            with suppress(SessionNotFound):  # what the host has lost is only here
                await self.do(row, "change", **columns)
        await self.manager.store.change_session(row.id, **columns)

    async def delete(self, row: SessionRow) -> None:
        """Remove a session there, and the copy here. Of a host that was removed, only the copy is."""
        if not self._is_removed(row):
            with suppress(SessionNotFound):  # what the host has lost is only here
                await self.host_of(row).commands.call("delete", row.id)
        with suppress(SessionNotFound):  # the host says so itself, perhaps sooner
            await self.manager.store.delete_session(row.id)

    def _is_removed(self, row: SessionRow) -> bool:
        host = self.registry.get(row.host)
        return host is None or host.state == "revoked"

    async def frames(self, row: SessionRow, *, after: int, limit: int) -> Sequence[FrameRow]:
        """Lines of the wire, which are kept where the session ran."""
        host = self.host_of(row)
        return self.understood(host, await self.call(host, "frames", row.id, after=after, limit=limit), list[FrameRow])

    async def adoptable(self, host: str, cwd: str | None) -> Sequence[Any]:
        """The sessions that Claude Code itself keeps there, as plain values."""
        found = self.registry.named(host)
        return self.understood(found, await self.call(found, "adoptable", cwd=cwd), list[dict[str, Any]])

    async def adopt(self, host: str, cli_session_id: str) -> str:
        """Take over one of them; returns its id once a copy of it is here."""
        found = self.registry.named(host)
        session_id = _id_of(await found.commands.call("adopt", cli_session_id=cli_session_id), found)

        async def look() -> SessionRow | None:
            return await self._copy_from(found, session_id)

        if await self._arrivals.until(session_id, look, patience=FIRST_COPY) is None:
            raise HostAway(f"session {session_id[:8]} is on {found.name}, but its journal has not come here yet")
        return session_id


def _not_heard_of(session_id: str, host: KnownHost, error: HandrailError) -> HandrailError:
    """What a start that was tried again came to, if its host cannot be asked what became of the first one."""
    if isinstance(error, OutcomeUnknown) or not isinstance(error, HostAway):
        return error
    return OutcomeUnknown(f"{error}. It was told before to start session {session_id[:8]}: {UNHEARD}")


def _id_of(done: Done, host: KnownHost) -> str:
    match done.result:
        case {"id": str(session_id)}:
            return session_id
    raise HostError(f"{host.name} did not say which session it started")

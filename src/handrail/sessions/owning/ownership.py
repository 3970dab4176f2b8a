"""Who owns a session: becoming its owner, giving it up, reaching whoever owns it, and closing what a dead owner left.

The kernel's lock says who owns a session, for as long as its CLI may live. The lease in the store follows from it; its
fence keeps an owner that was thought dead from writing into a journal that is another's now.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from types import MappingProxyType

import msgspec

from handrail.errors import SessionBusy, SessionNotLive, StoreError
from handrail.places import Places
from handrail.sessions.feed import Feed
from handrail.sessions.journal import Journal
from handrail.sessions.owning.locks import Holder, SessionLock
from handrail.sessions.owning.owner import Handler, OwnerServer
from handrail.sessions.owning.owner_link import OwnerLink
from handrail.sessions.owning.reaping import process_started, reap
from handrail.sessions.owning.recovery import recover
from handrail.store.base import SessionRow, Store

__all__ = ["Owned", "Ownership"]

logger = logging.getLogger("handrail.session")

LOCK_PATIENCE = 15.0
"""How long to wait for the processes of a session's last owner to end."""
A_MOMENT = 0.5
"""How long to wait for a session whose owner lives: it may be giving it up just now."""
CLOCK_SLACK = 2.0


@dataclass(frozen=True, slots=True)
class Owned:
    """A session that this process owns: the right to run its CLI and to write its journal."""

    journal: Journal
    lock: SessionLock
    store: Store

    async def give_up(self) -> None:
        """Store what is left, and let go. The CLI and all it started must have ended."""
        try:
            await self.journal.close()
            await self.store.release(self.journal.lease)
        finally:
            self.lock.release()


class Ownership:
    """What one process owns, and its links to processes that own other sessions."""

    def __init__(
        self, store: Store, places: Places, handler: Handler, *, environ: Mapping[str, str] = MappingProxyType({})
    ) -> None:
        """`environ` is what every CLI has around it."""
        self._store = store
        self._environ = environ
        # Not among the files of the runtime: the system may remove those while a session lives on.
        self._locks = os.path.join(places.state, "locks")
        self._server = OwnerServer(places.runtime, handler)
        self._links: dict[str, OwnerLink] = {}

    async def start(self) -> None:
        """Answer other processes from now on."""
        await self._server.start()

    async def close(self) -> None:
        """Answer nobody any more, and ask nobody."""
        for link in list(self._links.values()):
            await link.close()
        await self._server.close()

    async def take(
        self,
        row: SessionRow,
        feed: Feed,
        *,
        on_failure: Callable[[StoreError], None],
        patience: float = LOCK_PATIENCE,
    ) -> Owned:
        """Become the owner of a session. Raises `SessionBusy` if another process is.

        If its last owner died, its processes are ended and its journal is brought to an honest end first.
        """
        lock = await self._locked(row, patience)
        before, lease = row, None
        try:
            before = await self._store.get_session(row.id) or row
            # By force: whoever was the owner before does not hold the lock any more, so it is gone.
            owner = msgspec.json.encode(self._holder).decode()
            lease = await self._store.acquire(row.id, owner, now=time.time(), force=True)
            runs = await self._store.runs(row.id)
            last_run = max((run.number for run in runs), default=0)
            journal = Journal(self._store, lease, feed, runs=last_run, cost_usd=before.cost_usd, on_failure=on_failure)
            if before.owner is not None:
                await self._end_what_is_left(row)
                await recover(self._store, before, journal, environ=self._environ)
        except BaseException:
            feed.rest()
            if lease is not None and before.owner is None:
                # Nothing has happened: whoever looks next must not take this for an owner that died.
                with suppress(StoreError):
                    await self._store.release(lease)
            lock.release()
            raise
        return Owned(journal, lock, self._store)

    async def _locked(self, row: SessionRow, patience: float) -> SessionLock:
        """The lock of a session. A dead owner's processes get the time to end; an owner that lives keeps it."""
        try:
            return await self._lock_within(row, min(patience, A_MOMENT))
        except SessionBusy:
            if patience <= A_MOMENT or await self._has_owner(await self._store.get_session(row.id) or row):
                raise
        return await self._lock_within(row, patience)

    async def _lock_within(self, row: SessionRow, patience: float) -> SessionLock:
        names = [row.id, *([row.cli_session_id] if row.cli_session_id else [])]
        return await SessionLock.take(self._locks, names, holder=self._holder, patience=patience)

    async def _end_what_is_left(self, row: SessionRow) -> None:
        survivors = await reap(await self._store.starts(row.id))
        if survivors:
            pids = ", ".join(str(process.pid) for process in survivors)
            raise SessionBusy(f"the last CLI of session {row.id[:8]} left processes that cannot be ended: {pids}")

    async def recover(self, row: SessionRow, feed: Feed) -> None:
        """Close what a dead owner left open. Does nothing if the session has an owner after all.

        The owner is not asked, only the kernel: it may be stopped, and never answer.
        """
        patience = 0.0 if await self._has_owner(row) else LOCK_PATIENCE
        try:
            owned = await self.take(row, feed, on_failure=lambda error: None, patience=patience)
        except SessionBusy as error:
            logger.info("session %s is not recovered now: %s", row.id[:8], error)
            return
        await owned.give_up()

    async def link_to_owner(self, row: SessionRow) -> OwnerLink | None:
        """The way to the process that owns a session; None if there is none, or not any more."""
        owner = _owner_of(row)
        if owner is None or owner.socket is None or owner.socket == self._server.address:
            return None
        link = self._links.get(owner.socket)
        if link is not None and link.is_open:
            return link
        try:
            link = await OwnerLink.open(owner.socket)
        except SessionNotLive:
            self._links.pop(owner.socket, None)
            return None
        faster = self._links.get(owner.socket)
        if faster is not None and faster.is_open:  # somebody else wanted it at the same time
            await link.close()
            return faster
        self._links[owner.socket] = link
        return link

    async def _has_owner(self, row: SessionRow) -> bool:
        """Whether the process that owns a session, as the store has it, lives."""
        owner = _owner_of(row)
        if owner is None:
            return False
        started = await asyncio.to_thread(process_started, owner.pid)
        return started is not None and (owner.started is None or abs(started - owner.started) <= CLOCK_SLACK)

    @property
    def _holder(self) -> Holder:
        return Holder(os.getpid(), started=process_started(os.getpid()), socket=self._server.address)


def _owner_of(row: SessionRow) -> Holder | None:
    return msgspec.json.decode(row.owner, type=Holder) if row.owner is not None else None

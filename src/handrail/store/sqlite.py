"""The journal in an SQLite file: the default store, for one machine and any number of its processes."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from handrail.errors import StoreError
from handrail.store import (
    access_rows,
    copies_in,
    copies_out,
    deciding,
    host_rows,
    journal_rows,
    leases,
    session_rows,
    upkeep,
)
from handrail.store.appending import Append
from handrail.store.base import (
    NOT_ARCHIVED,
    PAGE_BYTES,
    AskRow,
    AskRowState,
    AuditRow,
    Batch,
    CopyHead,
    CopyPage,
    DecisionRow,
    EventRow,
    FrameRow,
    Hit,
    HostRow,
    KeptReply,
    Lease,
    MessageRow,
    MessageState,
    Pruned,
    Retention,
    RunRow,
    SessionFilter,
    SessionRow,
    StartRow,
    TokenRow,
    UsageKey,
    UsageRow,
    Waiting,
    Watcher,
)
from handrail.store.changes import Change
from handrail.store.engine import Engine
from handrail.store.filesystems import filesystem_type
from handrail.store.frame_blocks import read_frames
from handrail.store.migrations import MIGRATIONS, Migration
from handrail.store.search import search
from handrail.store.usage_rows import read_usage
from handrail.store.writer import Call

__all__ = ["SqliteStore"]

LOCK_TIMEOUT = 10.0
"""How long to wait for other processes, in seconds."""
BETWEEN_LOOKS = 0.5
"""How often to look for what other processes have stored while somebody watches, in seconds."""


class SqliteStore:
    """A `Store` in one file.

    `lock_timeout` is how long it waits for other processes before it raises `StoreLocked`. With `durable`, whatever was
    stored survives a power cut, as decisions always do; that costs a wait for the disk each time. The rest is for
    tests: the steps that make the tables, what tells the type of a file system, whether to use a full-text index, and
    how often to look for what others have stored.
    """

    def __init__(
        self,
        path: str,
        *,
        lock_timeout: float = LOCK_TIMEOUT,
        migrations: Sequence[Migration] = MIGRATIONS,
        filesystem_of: Callable[[str], str] = filesystem_type,
        full_text: bool = True,
        between_looks: float = BETWEEN_LOOKS,
        durable: bool = False,
    ) -> None:
        self._engine = Engine(
            os.path.abspath(path),
            lock_timeout=lock_timeout,
            migrations=migrations,
            filesystem_of=filesystem_of,
            full_text=full_text,
            between_looks=between_looks,
            durable=durable,
        )

    @property
    def path(self) -> str:
        """The database file."""
        return self._engine.path

    async def open(self) -> None:
        await self._engine.open()

    async def close(self) -> None:
        await self._engine.close()

    async def __aenter__(self) -> SqliteStore:
        await self.open()
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    # ------------------------------------------------------------ sessions

    async def create_session(self, row: SessionRow) -> None:
        await self._engine.run(Change(row.id, partial(session_rows.create_session, row=row)))

    async def get_session(self, session_id: str) -> SessionRow | None:
        return await self._engine.read(partial(session_rows.get_session, session_id=session_id))

    async def list_sessions(
        self, which: SessionFilter = NOT_ARCHIVED, *, limit: int = 100, before: tuple[float, str] | None = None
    ) -> list[SessionRow]:
        return await self._engine.read(partial(session_rows.list_sessions, which=which, limit=limit, before=before))

    async def count_sessions(self, which: SessionFilter = NOT_ARCHIVED) -> dict[str, int]:
        return await self._engine.read(partial(session_rows.count_sessions, which=which))

    async def find_sessions(self, reference: str, *, limit: int = 10) -> list[SessionRow]:
        return await self._engine.read(partial(session_rows.find_sessions, reference=reference, limit=limit))

    async def change_session(self, session_id: str, **columns: Any) -> None:
        change = partial(session_rows.change_session, session_id=session_id, columns=columns)
        await self._engine.run(Change(session_id, change))

    async def delete_session(self, session_id: str) -> None:
        await upkeep.delete_session(self._engine, session_id)

    # ------------------------------------------------------------ the journal

    async def acquire(
        self, session_id: str, owner: str, *, now: float, ttl: float | None = None, force: bool = False
    ) -> Lease:
        acquire = partial(leases.acquire, session_id=session_id, owner=owner, now=now, ttl=ttl, force=force)
        return await self._engine.run(Change(session_id, acquire))

    async def renew(self, lease: Lease, *, until: float) -> Lease:
        return await self._engine.write(partial(leases.renew, lease=lease, until=until))

    async def release(self, lease: Lease) -> None:
        await self._engine.run(Change(lease.session_id, partial(leases.release, lease=lease)))

    async def append(self, lease: Lease, batch: Batch) -> None:
        await self._engine.run(Append(lease, batch))

    async def read(
        self, session_id: str, *, after: int = 0, before: int | None = None, limit: int = 1000
    ) -> list[EventRow]:
        query = partial(journal_rows.read_events, session_id=session_id, after=after, before=before, limit=limit)
        return await self._engine.read(query)

    async def runs(self, session_id: str) -> list[RunRow]:
        return await self._engine.read(partial(journal_rows.read_runs, session_id=session_id))

    async def frames(self, session_id: str, *, after: int = 0, limit: int = 1000) -> list[FrameRow]:
        return await self._engine.read(partial(read_frames, session_id=session_id, after=after, limit=limit))

    async def starts(self, session_id: str, *, since: float = 0.0) -> list[StartRow]:
        return await self._engine.read(partial(journal_rows.read_starts, session_id=session_id, since=since))

    async def spent(self, *, since: float, session_id: str | None = None) -> float:
        return await self._engine.read(partial(journal_rows.spent, since=since, session_id=session_id))

    async def usage(self, *, since: float = 0.0, by: Sequence[UsageKey] = ("day",)) -> list[UsageRow]:
        return await self._engine.read(partial(read_usage, since=since, by=by))

    # ------------------------------------------------------------ asks and messages

    async def decide(self, decision: DecisionRow) -> None:
        await self._engine.run(deciding.Decide(decision))

    async def asks(
        self, session_id: str | None = None, *, states: Sequence[AskRowState] = (), limit: int | None = None
    ) -> list[AskRow]:
        return await self._engine.read(partial(deciding.read_asks, session_id=session_id, states=states, limit=limit))

    async def get_ask(self, session_id: str, ask_id: str) -> AskRow | None:
        return await self._engine.read(partial(deciding.get_ask, session_id=session_id, ask_id=ask_id))

    async def waiting_asks(self, session_id: str | None = None) -> list[Waiting]:
        return await self._engine.read(partial(deciding.read_waiting, session_id=session_id))

    async def find_asks(self, reference: str) -> list[AskRow]:
        return await self._engine.read(partial(deciding.find_asks, reference=reference))

    async def messages(self, session_id: str, *, states: Sequence[MessageState] = ()) -> list[MessageRow]:
        return await self._engine.read(partial(deciding.read_messages, session_id=session_id, states=states))

    # ------------------------------------------------------------ access

    async def add_token(self, row: TokenRow) -> None:
        await self._engine.run(Call(partial(access_rows.add_token, row=row), durable=True))

    async def tokens(self) -> list[TokenRow]:
        return await self._engine.read(access_rows.read_tokens)

    async def token_by_hash(self, secret_hash: str) -> TokenRow | None:
        return await self._engine.read(partial(access_rows.token_by_hash, secret_hash=secret_hash))

    async def touch_token(self, token_id: str, at: float) -> None:
        await self._engine.write(partial(access_rows.touch_token, token_id=token_id, at=at))

    async def revoke_token(self, token_id: str, at: float) -> bool:
        # After a power cut, too, it must stay revoked.
        return await self._engine.run(Call(partial(access_rows.revoke_token, token_id=token_id, at=at), durable=True))

    async def audit(self, row: AuditRow) -> None:
        await self._engine.write(partial(access_rows.add_audit, row=row))

    async def audit_log(
        self, *, before: int | None = None, limit: int = 100, session_id: str | None = None
    ) -> list[AuditRow]:
        return await self._engine.read(
            partial(access_rows.read_audit, before=before, limit=limit, session_id=session_id)
        )

    async def begin_reply(self, begun: KeptReply, *, forget_before: float) -> KeptReply | None:
        return await self._engine.write(partial(access_rows.begin_reply, begun=begun, forget_before=forget_before))

    async def keep_reply(self, reply: KeptReply) -> None:
        await self._engine.write(partial(access_rows.keep_reply, reply=reply))

    async def drop_reply(self, caller: str, key: str) -> None:
        await self._engine.write(partial(access_rows.drop_reply, caller=caller, key=key))

    async def forget_replies(self, *, before: float, unfinished_before: float | None = None) -> int:
        return await self._engine.write(
            partial(access_rows.forget_replies, before=before, unfinished_before=unfinished_before)
        )

    # ------------------------------------------------------------ readers

    def watch(self, watcher: Watcher, *, session_id: str | None = None) -> Callable[[], None]:
        return self._engine.watchers.add(watcher, session_id)

    async def search(self, text: str, *, limit: int = 50) -> list[Hit]:
        try:
            indexed = await upkeep.catch_up(self._engine)
        except StoreError:  # where the index cannot grow, a search does without it
            indexed = False
        return await self._engine.read(partial(search, text=text, limit=limit, indexed=indexed))

    # ------------------------------------------------------------ copies of sessions that other machines run

    async def heads(self, *, after: int = 0, limit: int = 1000) -> list[CopyHead]:
        return await self._engine.read(partial(copies_out.read_heads, after=after, limit=limit))

    async def copy_page(
        self, session_id: str, *, after: int, revision: int = 0, limit_bytes: int = PAGE_BYTES
    ) -> CopyPage | None:
        query = partial(
            copies_out.read_page, session_id=session_id, after=after, revision=revision, limit_bytes=limit_bytes
        )
        return await self._engine.read(query)

    async def copied(self, host: str) -> list[CopyHead]:
        return await self._engine.read(partial(copies_in.read_copied, host=host))

    async def take_copy(self, host: str, page: CopyPage) -> int:
        return await self._engine.run(copies_in.TakeCopy(host, page))

    async def set_copy_aside(self, session_id: str, *, as_id: str, title: str) -> None:
        await self._engine.run(copies_in.SetAside(session_id, as_id, title))
        self._engine.watchers.tell({session_id: 0})

    async def end_copy(self, session_id: str, *, status: str, at: float) -> None:
        end = partial(copies_in.end_copy, session_id=session_id, status=status, at=at)
        await self._engine.run(Change(session_id, end))

    async def add_host(self, row: HostRow) -> None:
        await self._engine.run(Call(partial(host_rows.add_host, row=row), durable=True))

    async def hosts(self) -> list[HostRow]:
        return await self._engine.read(host_rows.read_hosts)

    async def host_by_key(self, key_hash: str) -> HostRow | None:
        return await self._engine.read(partial(host_rows.host_by_key, key_hash=key_hash))

    async def change_host(self, host_id: str, **columns: Any) -> None:
        change = partial(host_rows.change_host, host_id=host_id, columns=columns)
        # After a power cut, too, it must stay revoked.
        await self._engine.run(Call(change, durable="revoked_at" in columns))

    # ------------------------------------------------------------ upkeep

    async def backup(self, path: str) -> None:
        await upkeep.backup(self._engine, path)

    async def prune(self, retention: Retention, *, now: float) -> Pruned:
        return await upkeep.prune(self._engine, retention, now)

    async def check(self) -> list[str]:
        return await upkeep.check(self._engine)

    async def statistics(self) -> dict[str, Any]:
        return await upkeep.statistics(self._engine)

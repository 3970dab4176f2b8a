"""The part of the contract of a store that copies sessions between machines: heads, pages, and who the hosts are.

A host reads pages of its own sessions (`heads`, `copy_page`), and a hub stores them (`copied`, `take_copy`). Wherever
the connection breaks, both go on from where the copy stands.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import msgspec

from handrail.store.records import AskRow, EventRow, MessageRow, RunRow, RunUsageRow, SessionRow

__all__ = ["PAGE_BYTES", "CopyHead", "CopyPage", "CopyStore", "HostRow"]

PAGE_BYTES = 256 * 1024
"""About how much of a session is copied in one step."""


class HostRow(msgspec.Struct, frozen=True, kw_only=True):
    """A machine that was let in to run sessions for this hub. `facts` (JSON) is what it last said of itself."""

    id: str
    name: str
    key_hash: str
    """SHA-256 of its key, in hexadecimal digits: the key itself is known to the host alone."""
    enrolled_at: float
    enrolled_by: str = ""
    last_seen_at: float | None = None
    revoked_at: float | None = None
    draining: bool = False
    facts: bytes = b"{}"


class CopyHead(msgspec.Struct, frozen=True, kw_only=True):
    """Where a journal stands, or a copy of one: enough to see whether the copy is complete, behind, or of another past.

    A session's events are numbered up to `last_seq`; each change of one of its asks, messages, runs and usage has a
    `revision`; and `changed` is the number of the last change of any kind, in the store that it comes from.
    """

    session_id: str
    fence: int
    last_seq: int
    changed: int = 0
    revision: int = 0
    journal: int = 0
    """Which journal that revision is of: a store that a backup was put in the place of has another one."""

    def is_behind(self, source: CopyHead) -> bool:
        """Whether a copy lacks something that its source has."""
        return (
            self.last_seq < source.last_seq
            or self.revision < source.revision
            or self.changed < source.changed
            or self.fence < source.fence
            or self.journal != source.journal
        )

    def has_other_past(self, source: CopyHead) -> bool:
        """Whether a copy has what its source never had, or lost: what is copied next would not follow on it."""
        has_more_rows = self.journal == source.journal and self.revision > source.revision
        return self.last_seq > source.last_seq or self.fence > source.fence or has_more_rows


class CopyPage(msgspec.Struct, frozen=True, kw_only=True):
    """Some of a session for a copy of it elsewhere: the session, events behind a number, rows behind a revision.

    Rows may be newer than the events: those behind them follow on a later page.
    """

    session: SessionRow
    events: Sequence[EventRow] = ()
    asks: Sequence[AskRow] = ()
    messages: Sequence[MessageRow] = ()
    runs: Sequence[RunRow] = ()
    usage: Sequence[RunUsageRow] = ()
    changed: int = 0
    """The number of the session's last change when the page was read."""
    after: int = 0
    """The number of the event that the events follow on."""
    tail: str = ""
    """A digest of that event, by which a copy with another past is told; empty for none."""
    after_revision: int = 0
    revision: int = 0
    """The rows are all those whose last change is behind `after_revision`, up to this one."""
    journal: int = 0
    """Which journal the revisions are of."""
    message_places: Sequence[int] = ()
    """For each message, where it stands among the session's messages."""
    cli_session_ids: Sequence[str] = ()
    """Every id that the CLI ever had for the session."""
    more: bool = False
    """Whether there are further events or rows."""


class CopyStore(Protocol):
    """Copies of sessions that other machines run, and those machines."""

    async def heads(self, *, after: int = 0, limit: int = 1000) -> list[CopyHead]:
        """Where the journals of this machine's own sessions stand, in the order of their changes, behind `after`.

        Those that changed in one step come together, also if there are a few more than `limit` then.
        """

    async def copy_page(
        self, session_id: str, *, after: int, revision: int = 0, limit_bytes: int = PAGE_BYTES
    ) -> CopyPage | None:
        """What a copy lacks that has the events up to `after` and the rows up to `revision`. None: no such session.

        About `limit_bytes`, but at least one event and one row, if there are any.
        """

    async def copied(self, host: str) -> list[CopyHead]:
        """Where the copies of a host's sessions stand, also of those that were pruned; without those set aside."""

    async def take_copy(self, host: str, page: CopyPage) -> int:
        """Store a page of a host's session, whole or not at all; returns the number of the copy's last event.

        What is there already is left out, so a page that comes twice is stored once, and one that comes late changes
        nothing back. Raises `StoreError` if the page does not follow on what is there or the session is not this
        host's, `CopyDiverged` if it follows on another past, and `Fenced` for an older owner's.
        """

    async def set_copy_aside(self, session_id: str, *, as_id: str, title: str) -> None:
        """Keep a copy under another id, archived and owned by nobody, so that the host's session can be copied anew."""

    async def end_copy(self, session_id: str, *, status: str, at: float) -> None:
        """The host does not have this session any more: nobody owns the copy, and its pending asks are lost."""

    async def add_host(self, row: HostRow) -> None:
        """Add a host, durably. Raises `StoreError` if there is one with this id, or one with this name that holds."""

    async def hosts(self) -> list[HostRow]:
        """All of them by name, revoked ones too."""

    async def host_by_key(self, key_hash: str) -> HostRow | None: ...

    async def change_host(self, host_id: str, **columns: Any) -> None:
        """Set last_seen_at, revoked_at, draining, facts or name. Raises `HostNotFound`."""

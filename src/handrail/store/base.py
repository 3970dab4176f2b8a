"""The contract of a store: rows in, rows out. It knows nothing of what an event means.

Six promises hold for every store, and `handrail.testing.run_store_conformance` checks them:

* **append with fence**: events of a session are numbered from 1 without gaps, and only the holder of its latest lease
  can append; a batch is stored whole or not at all.
* **read after**: what `read` gives after a number is everything behind it, in order, once.
* **decide once**: of any number of decisions on an ask, exactly one is stored; an answer that was given to another ask
  decides one at most.
* **lease**: one holder at a time; each new lease has a higher fence than all before.
* **wake**: whoever watches is called after every append, once what was appended can be read, also if it was another
  process that appended.
* **copy**: whatever pages of a session are lost on their way, come twice or come late, its copy in another store ends
  up as the session is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeAlias

from handrail.store.access import AccessStore, AuditRow, KeptReply, TokenKind, TokenRow
from handrail.store.copies import PAGE_BYTES, CopyHead, CopyPage, CopyStore, HostRow
from handrail.store.records import (
    NOT_ARCHIVED,
    AskRow,
    AskRowState,
    Batch,
    DecisionRow,
    EventRow,
    FrameRow,
    Hit,
    Lease,
    MessageRow,
    MessageState,
    Pruned,
    Retention,
    RunRow,
    RunUsageRow,
    SessionFilter,
    SessionRow,
    StartRow,
    UsageKey,
    UsageRow,
    Waiting,
)

__all__ = [
    "NOT_ARCHIVED",
    "PAGE_BYTES",
    "AskRow",
    "AskRowState",
    "AuditRow",
    "Batch",
    "CopyHead",
    "CopyPage",
    "DecisionRow",
    "EventRow",
    "FrameRow",
    "Hit",
    "HostRow",
    "KeptReply",
    "Lease",
    "MessageRow",
    "MessageState",
    "Pruned",
    "Retention",
    "RunRow",
    "RunUsageRow",
    "SessionFilter",
    "SessionRow",
    "StartRow",
    "Store",
    "TokenKind",
    "TokenRow",
    "UsageKey",
    "UsageRow",
    "Waiting",
    "Watcher",
]

Watcher: TypeAlias = Callable[[str, int], None]
"""Called on the event loop with a session's id and the number of its last event; with 0 when it was deleted."""


class Store(AccessStore, CopyStore, Protocol):
    """Sessions, their journals, asks and messages, what the hub keeps, and copies between machines. Every method may
    raise `StoreError`, which says what to do."""

    async def open(self) -> None:
        """Open the store, and bring its tables up to date."""

    async def close(self) -> None:
        """Finish what was queued, and close. Idempotent."""

    # sessions

    async def create_session(self, row: SessionRow) -> None:
        """Add a session. `last_seq`, `fence`, `owner` and `lease_until` of the row are not looked at."""

    async def get_session(self, session_id: str) -> SessionRow | None: ...

    async def list_sessions(
        self, which: SessionFilter = NOT_ARCHIVED, *, limit: int = 100, before: tuple[float, str] | None = None
    ) -> list[SessionRow]:
        """Latest first (by `updated_at`, then id); `before` is that pair of the last row of the page before."""

    async def count_sessions(self, which: SessionFilter = NOT_ARCHIVED) -> dict[str, int]:
        """How many of these sessions have each status; a status that none has is left out."""

    async def find_sessions(self, reference: str, *, limit: int = 10) -> list[SessionRow]:
        """Sessions whose id, or whose CLI session id (now or earlier), is or begins with `reference`."""

    async def change_session(self, session_id: str, **columns: Any) -> None:
        """Set title or archived: what anybody may change without a lease. Raises `SessionNotFound`."""

    async def delete_session(self, session_id: str) -> None:
        """Remove a session and everything of it. Raises `LeaseHeld` while it has a holder, unless it is a copy."""

    # the journal

    async def acquire(
        self, session_id: str, owner: str, *, now: float, ttl: float | None = None, force: bool = False
    ) -> Lease:
        """Become the holder. Raises `LeaseHeld` unless it is free, expired, or taken by `force`; `SessionNotFound`.

        A copy is never to be had: its journal is written where the session runs.
        """

    async def renew(self, lease: Lease, *, until: float) -> Lease:
        """Hold it for longer. Raises `Fenced` if somebody else has it."""

    async def release(self, lease: Lease) -> None:
        """Give it up. Does nothing if somebody else has it."""

    async def append(self, lease: Lease, batch: Batch) -> None:
        """Store a batch. Its events must follow the last one. Raises `Fenced` if the lease is not the latest."""

    async def read(
        self, session_id: str, *, after: int = 0, before: int | None = None, limit: int = 1000
    ) -> list[EventRow]:
        """Up to `limit` events behind number `after`, in order; with `before`, the last ones of those below it."""

    async def runs(self, session_id: str) -> list[RunRow]: ...

    async def frames(self, session_id: str, *, after: int = 0, limit: int = 1000) -> list[FrameRow]:
        """Raw frames, in order, whose `number` is above `after`. The oldest may have been pruned."""

    async def starts(self, session_id: str, *, since: float = 0.0) -> list[StartRow]: ...

    async def spent(self, *, since: float, session_id: str | None = None) -> float:
        """What completed runs have cost since then, in US dollars: of one session, or of all of this machine's."""

    async def usage(self, *, since: float = 0.0, by: Sequence[UsageKey] = ("day",)) -> list[UsageRow]:
        """What runs that were completed since then have used, summed up by these keys (all in one for none of them).

        In the order of the keys.
        """

    # asks and messages

    async def decide(self, decision: DecisionRow) -> None:
        """Store a decision, durably, if the ask is pending and has this digest.

        Raises `AlreadyDecided`, `AskClosed` or `StaleDigest`.
        """

    async def asks(
        self, session_id: str | None = None, *, states: Sequence[AskRowState] = (), limit: int | None = None
    ) -> list[AskRow]:
        """Oldest first; with `limit`, only the last ones."""

    async def get_ask(self, session_id: str, ask_id: str) -> AskRow | None: ...

    async def waiting_asks(self, session_id: str | None = None) -> list[Waiting]:
        """The asks of one session or of all that wait for a person, oldest first, each with its session.

        Those are the pending ones, and those that a process left behind when it ended (lost, unsent), for an answer
        can resume it. Once the session runs again, or is archived, or its copy has ended, that moment has passed.
        """

    async def find_asks(self, reference: str) -> list[AskRow]:
        """Asks whose id is or begins with `reference`."""

    async def messages(self, session_id: str, *, states: Sequence[MessageState] = ()) -> list[MessageRow]:
        """In the order in which they were first stored."""

    # readers

    def watch(self, watcher: Watcher, *, session_id: str | None = None) -> Callable[[], None]:
        """Call `watcher` after each append, of one session or of all; returns what ends that.

        It also hears of sessions that are made, changed, taken, given up and deleted; of what other processes do, about
        a second later. It may be called more often than that.
        """

    async def search(self, text: str, *, limit: int = 50) -> list[Hit]:
        """Events and titles that contain all words of `text` (the last one may be unfinished), best first."""

    # upkeep

    async def backup(self, path: str) -> None:
        """A consistent copy of everything, while others go on writing. Never replaces a file."""

    async def prune(self, retention: Retention, *, now: float) -> Pruned: ...

    async def check(self) -> list[str]:
        """What is wrong with the stored data, in words; empty if nothing is."""

    async def statistics(self) -> dict[str, Any]:
        """Where it is, how large, how many rows of each kind, schema version: for people."""

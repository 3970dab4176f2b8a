"""The contract of a store: rows in, rows out. It knows nothing of what an event means.

Five promises hold for every store, and `handrail.testing.run_store_conformance` checks them:

* **append with fence**: events of a session are numbered from 1 without gaps, and only the holder of its latest lease
  can append; a batch is stored whole or not at all.
* **read after**: what `read` gives after a number is everything behind it, in order, once.
* **decide once**: of any number of decisions on an ask, exactly one is stored.
* **lease**: one holder at a time; each new lease has a higher fence than all before.
* **wake**: whoever watches is called after every append, once what was appended can be read, also if it was another
  process that appended.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias

import msgspec

from handrail.store.access import AccessStore, AuditRow, KeptReply, TokenKind, TokenRow

__all__ = [
    "AskRow",
    "AskRowState",
    "AuditRow",
    "Batch",
    "DecisionRow",
    "EventRow",
    "FrameRow",
    "Hit",
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

AskRowState: TypeAlias = Literal["pending", "decided", "sent", "cancelled", "expired", "lost", "unsent", "resumed"]
MessageState: TypeAlias = Literal["queued", "sent", "started", "answered", "dropped", "lost"]
UsageKey: TypeAlias = Literal["day", "model", "session"]


class SessionRow(msgspec.Struct, frozen=True, kw_only=True):
    """A session. `settings` (JSON) is how its CLI is started again; `last_seq` and `fence` belong to the store."""

    id: str
    cwd: str
    created_at: float
    updated_at: float
    title: str = ""
    cli_session_id: str | None = None
    status: str = "idle"
    archived: bool = False
    forked_from: str | None = None
    model: str = ""
    cost_usd: float = 0.0
    settings: bytes = b"{}"
    last_seq: int = 0
    fence: int = 0
    owner: str | None = None
    """Who holds the lease: whatever the holder said of itself."""
    lease_until: float | None = None


class EventRow(msgspec.Struct, frozen=True, kw_only=True):
    """One event: `body` is its JSON, `text` what a search should find it by (`read` does not give that back)."""

    seq: int
    at: float
    type: str
    body: bytes
    run: int | None = None
    text: str = ""


class RunRow(msgspec.Struct, frozen=True, kw_only=True):
    """One run. Stored again with what became known when it ends."""

    number: int
    started_seq: int
    started_at: float
    completed_seq: int | None = None
    completed_at: float | None = None
    ok: bool | None = None
    cost_usd: float = 0.0


class RunUsageRow(msgspec.Struct, frozen=True, kw_only=True):
    """What one run used of one model, by the time it was over. `day` is that day where it ran, as in 2026-01-31."""

    run: int
    model: str
    at: float
    day: str
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    cost_usd: float = 0.0


class UsageRow(msgspec.Struct, frozen=True, kw_only=True):
    """What was used in all, of one day, model or session, or of what else was asked for; the others are empty."""

    day: str = ""
    model: str = ""
    session_id: str = ""
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    cost_usd: float = 0.0
    runs: int = 0


class AskRow(msgspec.Struct, frozen=True, kw_only=True):
    """One ask and what became of it. `body` is the whole ask (JSON), `answer` the decision's answer (JSON)."""

    session_id: str
    id: str
    kind: str
    digest: str
    title: str
    body: bytes
    opened_at: float
    state: AskRowState = "pending"
    answer: bytes | None = None
    decided_by: str = ""
    surface: str = ""
    decided_at: float | None = None
    closed_at: float | None = None


class DecisionRow(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to an ask, to be stored if it is the first."""

    session_id: str
    ask_id: str
    digest: str
    answer: bytes
    decided_by: str
    surface: str
    decided_at: float


class Waiting(NamedTuple):
    """An ask that somebody should answer, and its session."""

    ask: AskRow
    session: SessionRow


class MessageRow(msgspec.Struct, frozen=True, kw_only=True):
    """A message to Claude. `content` is JSON; stored again (same uuid) when its state changes."""

    uuid: str
    content: bytes
    at: float
    state: MessageState = "queued"
    by: str = ""
    surface: str = ""


class FrameRow(msgspec.Struct, frozen=True, kw_only=True):
    """One line of the wire, as it was. `after` is the number of the last event before it; the store gives `number`."""

    direction: Literal["in", "out"]
    at: float
    line: bytes
    after: int = 0
    number: int = 0


class StartRow(msgspec.Struct, frozen=True, kw_only=True):
    """The CLI was started for a session: `why` is new, resume, fork or recovery."""

    at: float
    why: str
    pid: int | None = None
    process_started: float | None = None
    marker: str = ""


class Batch(msgspec.Struct, kw_only=True):
    """What is stored in one step. Rows of asks, messages, runs and usage replace those of the same key.

    A decision stays whatever is stored afterwards: a row does not make an ask pending again, nor change its answer.
    """

    events: Sequence[EventRow] = ()
    asks: Sequence[AskRow] = ()
    messages: Sequence[MessageRow] = ()
    runs: Sequence[RunRow] = ()
    frames: Sequence[FrameRow] = ()
    starts: Sequence[StartRow] = ()
    usage: Sequence[RunUsageRow] = ()
    session: dict[str, Any] = msgspec.field(default_factory=dict)
    """Columns of the session to set: title, cli_session_id, status, model, cost_usd, settings, updated_at."""
    durable: bool = False
    """Whether it must survive a power cut, as decisions do."""


class Lease(msgspec.Struct, frozen=True, kw_only=True):
    """The right to append to a session's journal, until somebody gets a higher fence."""

    session_id: str
    owner: str
    fence: int
    last_seq: int
    until: float | None = None


class SessionFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Which sessions to list."""

    archived: bool | None = False
    cwd: str | None = None
    status: tuple[str, ...] = ()
    cli_session_id: str | None = None
    text: str = ""
    """What the title or the directory contains, or the id begins with, in small or large letters."""


NOT_ARCHIVED = SessionFilter()


class Hit(msgspec.Struct, frozen=True, kw_only=True):
    """Something that a search found; `seq` is 0 for a title."""

    session_id: str
    seq: int
    type: str
    snippet: str


class Retention(msgspec.Struct, frozen=True, kw_only=True):
    """How long things are kept, in days, and how large the database may become. None: without limit."""

    frames_days: float | None = 30
    sessions_days: float | None = None
    """Archived sessions only."""
    max_bytes: int | None = None
    """Beyond it raw frames go first, then archived sessions, oldest first; never a session that is not archived."""


class Pruned(msgspec.Struct, frozen=True, kw_only=True):
    """What was removed."""

    frames: int = 0
    sessions: int = 0
    artefacts: int = 0
    bytes_before: int = 0
    bytes_after: int = 0


Watcher: TypeAlias = Callable[[str, int], None]
"""Called on the event loop with a session's id and the number of its last event; with 0 when it was deleted."""


class Store(AccessStore, Protocol):
    """Sessions, their journals, asks and messages, and what the hub keeps. Every method may
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
        """Remove a session and everything of it. Raises `LeaseHeld` while it has a holder."""

    # the journal

    async def acquire(
        self, session_id: str, owner: str, *, now: float, ttl: float | None = None, force: bool = False
    ) -> Lease:
        """Become the holder. Raises `LeaseHeld` unless it is free, expired, or taken by `force`; `SessionNotFound`."""

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
        """What completed runs have cost since then, in US dollars."""

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
        can resume it. Once the session runs again, or is archived, that moment has passed.
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

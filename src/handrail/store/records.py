"""What a store holds of sessions: the rows of their journals, and what is asked of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

import msgspec

__all__ = [
    "NOT_ARCHIVED",
    "AskRow",
    "AskRowState",
    "Batch",
    "DecisionRow",
    "EventRow",
    "FrameRow",
    "Hit",
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
    "UsageKey",
    "UsageRow",
    "Waiting",
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
    host: str = ""
    """The id of the host whose session this is a copy of; empty for a session of this machine."""


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
    """One ask and what became of it. `body` is the whole ask (JSON), `answer` the decision's answer (JSON).

    A host with a newer Handrail may say a `state` that is none of ours: it is kept, and nobody is waited for.
    """

    session_id: str
    id: str
    kind: str
    digest: str
    title: str
    body: bytes
    opened_at: float
    state: AskRowState | str = "pending"
    answer: bytes | None = None
    decided_by: str = ""
    surface: str = ""
    decided_at: float | None = None
    closed_at: float | None = None
    granted_by: str = ""
    """The ask whose answer decided this one: its process had ended, and the same was asked again. Stays: it is used."""


class DecisionRow(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to an ask, to be stored if it is the first."""

    session_id: str
    ask_id: str
    digest: str
    answer: bytes
    decided_by: str
    surface: str
    decided_at: float
    granted_by: str = ""
    """The ask whose answer this is, if it was not given to this one. It decides one other ask, and no more."""


class Waiting(NamedTuple):
    """An ask that somebody should answer, and its session."""

    ask: AskRow
    session: SessionRow


class MessageRow(msgspec.Struct, frozen=True, kw_only=True):
    """A message to Claude. `content` is JSON; stored again (same uuid) when its state changes.

    As with asks, a host with a newer Handrail may say another `state`: such a message does not wait.
    """

    uuid: str
    content: bytes
    at: float
    state: MessageState | str = "queued"
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
    host: str | None = None
    """Only copies of this host's sessions; empty: only sessions of this machine."""
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

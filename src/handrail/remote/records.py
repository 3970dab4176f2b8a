"""Rows of a hub's store as it gives them over HTTP, and as a program in Python knows them."""

from __future__ import annotations

import base64
from typing import Any, Final, Literal

import msgspec

from handrail.link.wire import HostFacts
from handrail.sessions.adoption import Adoptable
from handrail.store.base import AskRow, AskRowState, EventRow, FrameRow, Hit, RunRow, SessionRow, UsageRow

__all__ = [
    "AdoptableSessions",
    "Asks",
    "Counts",
    "Events",
    "Frames",
    "Hits",
    "HostView",
    "Hosts",
    "Made",
    "Runs",
    "SessionRecord",
    "Sessions",
    "Usage",
    "plain_filter",
]


NOTHING: Final = msgspec.Raw(b"null")


class Made(msgspec.Struct):
    """A session that was started."""

    id: str


class SessionRecord(msgspec.Struct, kw_only=True):
    """A session."""

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
    settings: msgspec.Raw = msgspec.Raw(b"{}")
    last_seq: int = 0
    fence: int = 0
    owner: str | None = None
    lease_until: float | None = None
    host: str = ""
    live: bool | None = None

    @property
    def row(self) -> SessionRow:
        fields = {name: getattr(self, name) for name in SessionRow.__struct_fields__}
        return SessionRow(**{**fields, "settings": bytes(self.settings)})


class Sessions(msgspec.Struct):
    """Some of them."""

    items: list[SessionRecord]


class AdoptableSessions(msgspec.Struct):
    """Sessions that Claude Code itself keeps."""

    items: list[Adoptable]


class Counts(msgspec.Struct):
    """How many sessions have each status."""

    counts: dict[str, int]


class _Ask(msgspec.Struct, kw_only=True):
    session_id: str
    id: str
    kind: str
    digest: str
    title: str
    body: msgspec.Raw
    opened_at: float
    state: AskRowState | str = "pending"
    answer: msgspec.Raw = NOTHING
    decided_by: str = ""
    surface: str = ""
    decided_at: float | None = None
    closed_at: float | None = None
    granted_by: str = ""

    @property
    def row(self) -> AskRow:
        answer = bytes(self.answer) if self.answer != NOTHING else None
        return AskRow(**{**msgspec.structs.asdict(self), "body": bytes(self.body), "answer": answer})


class Asks(msgspec.Struct):
    """Some of them."""

    items: list[_Ask]


class Runs(msgspec.Struct):
    """Those of a session."""

    items: list[RunRow]


class Usage(msgspec.Struct):
    """What was used."""

    items: list[UsageRow]


class Hits(msgspec.Struct):
    """What a search found."""

    items: list[Hit]


class _Place(msgspec.Struct):
    """What a store has beside the body of an event."""

    type: str = ""
    seq: int = 0
    at: float = 0.0
    run: int | None = None


class Events(msgspec.Struct):
    """Some of a session's."""

    items: list[msgspec.Raw]

    @property
    def rows(self) -> list[EventRow]:
        return [_event_row(bytes(each)) for each in self.items]


def _event_row(body: bytes) -> EventRow:
    place = msgspec.json.decode(body, type=_Place)
    return EventRow(seq=place.seq, at=place.at, type=place.type, run=place.run, body=body)


class _Frame(msgspec.Struct, kw_only=True):
    number: int
    direction: Literal["in", "out"]
    at: float
    after: int
    line: str = ""
    base64: str = ""

    @property
    def row(self) -> FrameRow:
        line = base64.b64decode(self.base64) if self.base64 else self.line.encode()
        return FrameRow(direction=self.direction, at=self.at, line=line, after=self.after, number=self.number)


class Frames(msgspec.Struct):
    """Some of a session's."""

    items: list[_Frame]


class HostView(msgspec.Struct, frozen=True, kw_only=True):
    """A machine that runs sessions for the hub; the hub's own one has no id."""

    id: str
    name: str
    state: str
    """connected, away, draining or revoked."""
    since: float | None = None
    last_seen_at: float | None = None
    facts: HostFacts = HostFacts()
    sessions: int = 0
    live: int = 0
    is_hub: bool = False


class Hosts(msgspec.Struct):
    """All of them."""

    items: list[HostView]


def plain_filter(which: Any) -> dict[str, Any]:
    """A `SessionFilter` as parameters of an address."""
    archived = {True: "yes", False: "no", None: "any"}[which.archived]
    given = {"cwd": which.cwd, "cli_session_id": which.cli_session_id, "host": which.host}
    return {
        "archived": archived,
        "status": list(which.status),
        "text": which.text,
        **{name: value for name, value in given.items() if value is not None},
    }

"""Journals of sessions, and a hub that shows as much of one as it is told to."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
from hypothesis import strategies as st

from handrail.errors import SessionNotFound
from handrail.events import model as events
from handrail.protocol.asks import Ask
from handrail.sessions.ask_records import ask_record
from handrail.store.base import AskRow, RunRow, SessionRow

__all__ = ["SESSION", "FakeHub", "Killed", "journals"]

SESSION = "s1"


class Killed(BaseException):
    """The bridge dies here. Nobody catches it, as nobody catches SIGKILL."""


def journals() -> st.SearchStrategy[list[events.Event]]:
    """Runs of all sorts, one after the other."""
    run = st.fixed_dictionaries(
        {
            "calls": st.integers(0, 3),
            "asks": st.integers(0, 2),
            "outcome": st.sampled_from(["decided", "cancelled", "expired"]),
            "ok": st.booleans(),
            "elsewhere": st.booleans(),
        }
    )
    return st.lists(run, min_size=1, max_size=4).map(_written)


def _written(runs: Sequence[dict[str, Any]]) -> list[events.Event]:
    journal: list[events.Event] = []
    for number, run in enumerate(runs, 1):
        journal += _run(number, run)
    return [msgspec.structs.replace(event, seq=seq, at=1000.0 + seq) for seq, event in enumerate(journal, 1)]


def _run(number: int, run: dict[str, Any]) -> list[events.Event]:
    uuid = f"m{number}"
    by = "Ben" if run["elsewhere"] else ""
    return [
        events.Prompt(uuid=uuid, content=f"do {number}", by=by, surface="web" if by else ""),
        events.Started(run=number, resume="c1", messages=(uuid,)),
        *(event for call in range(run["calls"]) for event in _call(number, call)),
        *(event for ask in range(run["asks"]) for event in _ask(number, ask, run["outcome"])),
        events.Text(run=number, block=f"b{number}", text=f"Did {number}."),
        events.Completed(
            run=number, ok=run["ok"], answer=f"Did {number}.", error=None if run["ok"] else "no", resume="c1"
        ),
        events.Prompt(uuid=uuid, state="answered", answered_by=number),
    ]


def _call(run: int, call: int) -> list[events.Event]:
    name = f"t{run}.{call}"
    return [
        events.Action(run=run, id=name, kind="command", title="make", phase="started"),
        events.Action(run=run, id=name, kind="command", title="make", phase="completed", ok=True),
    ]


def _ask(run: int, ask: int, outcome: Any) -> list[events.Event]:
    asked = _asked(f"a{run}.{ask}")
    return [
        events.AskOpened(
            run=run, ask_id=asked.id, kind=asked.kind, digest=asked.digest, title="Run it", ask=ask_record(asked)
        ),
        events.AskClosed(run=run, ask_id=asked.id, outcome=outcome, by="Ben", surface="web"),
    ]


def _asked(name: str) -> Ask:
    return Ask(
        id=name, kind="permission", request={}, tool_name="Bash", input={"command": f"make {name}"}, digest=f"d-{name}"
    )


@dataclass
class FakeHub:
    """A hub with one session, of whose journal the first `shown` events were written so far."""

    journal: Sequence[events.Event]
    shown: int = 0
    store: FakeHub = field(init=False)

    def __post_init__(self) -> None:
        self.store = self

    @property
    def _written(self) -> Sequence[events.Event]:
        return self.journal[: self.shown]

    def session(self, session_id: str) -> FakeHub:
        assert session_id == SESSION
        return self

    async def row(self) -> SessionRow:
        if not self.journal:
            raise SessionNotFound("it was deleted")
        return SessionRow(id=SESSION, cwd="/work", created_at=0.0, updated_at=0.0, title="It", last_seq=self.shown)

    async def runs(self, session_id: str) -> list[RunRow]:
        rows: dict[int, RunRow] = {}
        for event in self._written:
            if isinstance(event, events.Started):
                rows[event.run or 0] = RunRow(number=event.run or 0, started_seq=event.seq, started_at=event.at)
            if isinstance(event, events.Completed):
                known = rows[event.run or 0]
                rows[event.run or 0] = msgspec.structs.replace(known, completed_seq=event.seq)
        return list(rows.values())

    async def asks(self, session_id: str, *, states: Sequence[str] = ()) -> list[AskRow]:
        return [row for row in self._rows() if row.state in states]

    async def get_ask(self, session_id: str, ask_id: str) -> AskRow | None:
        return next((row for row in self._rows() if row.id == ask_id), None)

    def _rows(self) -> list[AskRow]:
        rows: dict[str, AskRow] = {}
        for event in self._written:
            if isinstance(event, events.AskOpened):
                rows[event.ask_id] = AskRow(
                    session_id=SESSION,
                    id=event.ask_id,
                    kind=event.kind,
                    digest=event.digest,
                    title=event.title,
                    body=msgspec.json.encode(event.ask),
                    opened_at=event.at,
                )
            if isinstance(event, events.AskClosed):
                closed = {"state": event.outcome, "decided_by": event.by, "surface": event.surface}
                rows[event.ask_id] = msgspec.structs.replace(rows[event.ask_id], closed_at=event.at, **closed)
        return list(rows.values())

    async def subscribe(self, after: int, *, deltas: bool) -> AsyncGenerator[events.Event, None]:
        for event in self._written[after:]:
            yield event

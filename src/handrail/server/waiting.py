"""What waits for a person, in all sessions: asks that are open, and those that a session left when it ended."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from handrail.store.base import AskRow, AskRowState, SessionRow, Store

__all__ = ["LEFT_BEHIND", "Waiting", "waiting_asks"]

LEFT_BEHIND: Final[tuple[AskRowState, ...]] = ("lost", "unsent")
"""How asks end whose process ended first: an answer can resume the session."""


class Waiting(NamedTuple):
    """An ask that somebody should answer, and its session."""

    ask: AskRow
    session: SessionRow


async def waiting_asks(store: Store, session_id: str | None = None) -> Sequence[Waiting]:
    """The asks of one session or of all that wait for a person, oldest first.

    One that was left behind waits as long as nothing else happened in its session: once that runs again, or is
    archived, the moment has passed.
    """
    rows = await store.asks(session_id, states=("pending", *LEFT_BEHIND))
    sessions = {row.session_id: await store.get_session(row.session_id) for row in rows}
    last_runs = {row.session_id: await _last_run(store, row.session_id) for row in rows if row.state in LEFT_BEHIND}
    found: list[Waiting] = []
    for row in rows:
        session = sessions[row.session_id]
        if session is None:
            continue
        nothing_since = last_runs.get(row.session_id, 0.0) <= (row.closed_at or row.opened_at)
        if row.state == "pending" or (not session.archived and session.owner is None and nothing_since):
            found.append(Waiting(row, session))
    return found


async def _last_run(store: Store, session_id: str) -> float:
    runs = await store.runs(session_id)
    return runs[-1].started_at if runs else 0.0

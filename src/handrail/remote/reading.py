"""The journals of a hub as a program reads them: the reading half of a store, over HTTP."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from handrail.errors import SessionNotFound
from handrail.remote import records
from handrail.remote.connection import HubConnection
from handrail.remote.paths import record_path, session_path
from handrail.sessions.adoption import Adoptable
from handrail.store.base import (
    NOT_ARCHIVED,
    AskRow,
    AskRowState,
    EventRow,
    FrameRow,
    Hit,
    RunRow,
    SessionFilter,
    SessionRow,
    UsageKey,
    UsageRow,
)

__all__ = ["RemoteStore"]

PAGE: Final = 500
EVENTS: Final = 1000
MOST_ASKS: Final = 10_000
MOST_HITS: Final = 500


class RemoteStore:
    """Reads what a hub's store has. Nothing is written through it: a hub does what its sessions are asked to do."""

    def __init__(self, connection: HubConnection) -> None:
        self._connection = connection

    # ------------------------------------------------------------ sessions

    async def record(self, session_id: str) -> records.SessionRecord:
        """A session, and whether it is live. Raises `SessionNotFound`."""
        found: records.SessionRecord = await self._get(record_path(session_id), records.SessionRecord)
        return found

    async def get_session(self, session_id: str) -> SessionRow | None:
        try:
            return (await self.record(session_id)).row
        except SessionNotFound:
            return None

    async def list_sessions(
        self, which: SessionFilter = NOT_ARCHIVED, *, limit: int = 100, before: tuple[float, str] | None = None
    ) -> list[SessionRow]:
        rows: list[SessionRow] = []
        while len(rows) < limit:
            size = min(PAGE, limit - len(rows))
            place = {"before_at": before[0], "before_id": before[1]} if before is not None else {}
            query = {**records.plain_filter(which), **place, "limit": size}
            page: records.Sessions = await self._get("/api/records/sessions", records.Sessions, **query)
            rows += [each.row for each in page.items]
            if len(page.items) < size:
                break
            before = (rows[-1].updated_at, rows[-1].id)
        return rows

    async def count_sessions(self, which: SessionFilter = NOT_ARCHIVED) -> dict[str, int]:
        found: records.Counts = await self._get("/api/records/counts", records.Counts, **records.plain_filter(which))
        return found.counts

    async def find_session(self, reference: str, *, adopt: bool = False) -> str:
        """The id of the one session that a reference names. Raises `SessionNotFound` or `AmbiguousSession`."""
        try:
            found: records.Made = await self._get("/api/records/find", records.Made, reference=reference)
        except SessionNotFound:
            if not adopt:
                raise
            found = await self._connection.post("/api/adopt", records.Made, body={"cli_session_id": reference})
        return found.id

    async def adoptable(self, cwd: str | None, *, unknown_only: bool) -> list[Adoptable]:
        """Sessions that Claude Code itself keeps on the hub's machine."""
        query = {"cwd": cwd, "unknown_only": unknown_only}
        found: records.AdoptableSessions = await self._get("/api/records/adoptable", records.AdoptableSessions, **query)
        return found.items

    async def runs(self, session_id: str) -> list[RunRow]:
        found: records.Runs = await self._get(f"{record_path(session_id)}/runs", records.Runs)
        return found.items

    # ------------------------------------------------------------ journals

    async def read(
        self, session_id: str, *, after: int = 0, before: int | None = None, limit: int = 1000
    ) -> list[EventRow]:
        path = f"{session_path(session_id)}/events"
        rows: list[EventRow] = []
        while len(rows) < limit:
            size = min(EVENTS, limit - len(rows))
            page: records.Events = await self._get(path, records.Events, after=after, before=before, limit=size)
            found = page.rows
            rows = [*found, *rows] if before is not None else [*rows, *found]
            if len(found) < size:
                break
            after, before = (after, found[0].seq) if before is not None else (found[-1].seq, None)
        return rows

    async def frames(self, session_id: str, *, after: int = 0, limit: int = 1000) -> list[FrameRow]:
        rows: list[FrameRow] = []
        while len(rows) < limit:
            size = min(EVENTS, limit - len(rows))
            path = f"{session_path(session_id)}/frames"
            page: records.Frames = await self._get(path, records.Frames, after=after, limit=size)
            rows += [each.row for each in page.items]
            if len(page.items) < size:
                break
            after = rows[-1].number
        return rows

    # ------------------------------------------------------------ asks, usage, words

    async def asks(
        self, session_id: str | None = None, *, states: Sequence[AskRowState] = (), limit: int | None = None
    ) -> list[AskRow]:
        query = {"session": session_id, "state": list(states), "limit": limit or MOST_ASKS}
        return await self._asks(**query)

    async def find_asks(self, reference: str) -> list[AskRow]:
        return await self._asks(reference=reference)

    async def get_ask(self, session_id: str, ask_id: str) -> AskRow | None:
        found = [row for row in await self.find_asks(ask_id) if (row.session_id, row.id) == (session_id, ask_id)]
        return found[0] if found else None

    async def _asks(self, **query: Any) -> list[AskRow]:
        found: records.Asks = await self._get("/api/records/asks", records.Asks, **query)
        return [each.row for each in found.items]

    async def usage(self, *, since: float = 0.0, by: Sequence[UsageKey] = ("day",)) -> list[UsageRow]:
        found: records.Usage = await self._get("/api/records/usage", records.Usage, since=since, by=list(by))
        return found.items

    async def search(self, text: str, *, limit: int = 50) -> list[Hit]:
        if not text.strip():
            return []
        found: records.Hits = await self._get("/api/search", records.Hits, q=text, limit=min(limit, MOST_HITS))
        return found.items

    async def _get(self, path: str, into: Any, **query: Any) -> Any:
        return await self._connection.get(path, into, **query)

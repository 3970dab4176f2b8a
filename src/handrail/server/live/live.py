"""The live stream of a hub: viewers and what they share; and conversations as rows, for those who page through them."""

from __future__ import annotations

import asyncio
import logging
from types import TracebackType
from typing import Any, Self

import msgspec
from starlette.websockets import WebSocket

from handrail.events.codec import decode_event
from handrail.events.model import Event
from handrail.server.calls import Caller
from handrail.server.live.channels import Channels
from handrail.server.live.finding import Finder
from handrail.server.live.home import Home
from handrail.server.live.rows import Row
from handrail.server.live.timelines import Timelines
from handrail.server.live.view import Finisher, Page
from handrail.server.live.viewer import Meter, Viewer
from handrail.server.problems import Problem
from handrail.server.summaries import Whereabouts
from handrail.sessions.manager import Manager

__all__ = ["Live", "LiveStatistics", "RowPage"]

logger = logging.getLogger("handrail.live")

STOPPING = 1012
REVOKED = 4401


class RowPage(msgspec.Struct, frozen=True, kw_only=True):
    """A part of a conversation, oldest first, nested rows included; `before` and `after` are where it goes on."""

    items: list[Row]
    before: str | None
    after: str | None
    total: int
    """How many rows the whole conversation has at the top level."""


class LiveStatistics(msgspec.Struct, frozen=True, kw_only=True):
    """How many sockets are open, how many sessions are followed or were lately, and how many rows are in memory."""

    viewers: int
    channels: int
    rows: int


class Live:
    """Everything that is shared by those who look at sessions. Used with `async with`."""

    def __init__(
        self, manager: Manager, *, metrics: Meter, showing: Page | None = None, hosts: Whereabouts | None = None
    ) -> None:
        self._manager = manager
        self._store = manager.store
        self._meter = metrics
        shows = showing if showing is not None else _showing()
        self._timelines = Timelines(self._store)
        self._finisher = Finisher(self._store, shows)
        self._channels = Channels(manager, self._timelines, self._finisher, hosts=hosts)
        self._home = Home(manager, shows, hosts)
        self._viewers: set[Viewer] = set()
        self._stopped = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    # ------------------------------------------------------------ viewers

    async def serve(self, websocket: WebSocket, caller: Caller) -> None:
        """Serve a socket to its end."""
        viewer = Viewer(websocket, caller, self._channels, home=self._home.follow, meter=self._meter)
        self._viewers.add(viewer)
        if self._stopped:
            viewer.close(STOPPING)
        try:
            await viewer.run()
        finally:
            self._viewers.discard(viewer)
            viewer.over.set()  # also of one that never opened

    def close_token(self, token_id: str) -> None:
        """A token is not valid any more: neither are the sockets that were opened with it."""
        for viewer in tuple(self._viewers):
            if viewer.caller.token_id == token_id:
                viewer.close(REVOKED)

    def host_changed(self, host_id: str) -> None:
        """A host came or went: lists and sessions show it."""
        self._home.look_again()
        self._channels.host_changed(host_id)

    async def stop(self) -> None:
        """Send everybody away, and let go of all sessions. Idempotent."""
        self._stopped = True
        for viewer in tuple(self._viewers):
            viewer.close(STOPPING)
        while self._viewers:
            await asyncio.gather(*(viewer.over.wait() for viewer in tuple(self._viewers)))
        await self._home.close()
        await self._channels.close()

    def statistics(self) -> LiveStatistics:
        """What the stream costs at the moment."""
        return LiveStatistics(viewers=len(self._viewers), channels=len(self._channels), rows=self._timelines.rows)

    # ------------------------------------------------------------ rows

    async def rows(
        self,
        session_id: str,
        *,
        before: str | None = None,
        after: str | None = None,
        around: str | None = None,
        limit: int = 200,
    ) -> RowPage:
        """Rows before, behind or around one; without any of these the last ones. `limit` counts the top level.

        Raises `SessionNotFound`, and `Problem` if the session has no such row.
        """
        session = await self._manager.session(session_id).row()
        timeline = await self._timelines.get(session_id)
        try:
            if before is not None:
                window = timeline.before(before, limit)
            elif after is not None:
                window = timeline.after(after, limit)
            elif around is not None:
                window = timeline.around(around, limit)
            else:
                window = timeline.tail(limit)
        except KeyError:
            raise _no_row(before or after or around) from None
        rows = await self._finisher.finished(window.sketches, session)
        return RowPage(items=rows, before=window.before, after=window.after, total=window.total)

    async def row_source(self, session_id: str, key: str) -> list[Event]:
        """The events that a row is made of, whole and in order; none if there is no such row."""
        timeline = await self._timelines.get(session_id)
        try:
            sources = timeline.sources(key)
        except KeyError:
            return []
        rows = [row for seq in sources for row in await self._store.read(session_id, after=seq - 1, limit=1)]
        return [decode_event(row.body) for row in rows]

    async def find(self, session_id: str, text: str, *, limit: int = 100) -> dict[str, Any]:
        """Where in a session a text is: rows in order, each with what stands around it."""
        timeline = await self._timelines.get(session_id)
        finder = Finder(text, limit=limit)
        after = 0
        while page := await self._store.read(session_id, after=after, limit=500):
            after = page[-1].seq
            finder.see(await asyncio.to_thread(finder.matches, [row.body for row in page]), timeline)
        return {"items": finder.hits, "total": finder.total}


def _showing() -> Page:
    from handrail.server.showing import Showing

    return Showing()


def _no_row(key: str | None) -> Problem:
    return Problem("not_found", f"the session has no row {key!r}")

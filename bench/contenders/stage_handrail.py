"""Handrail from the CLI to the browser: a session with its journal, followed over the live stream."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec
from starlette.websockets import WebSocket

from bench.contenders.halls import served
from bench.contenders.journal import allow, managed
from handrail import Options
from handrail.server.calls import Caller
from handrail.server.live import Live
from handrail.server.metrics import Metrics
from handrail.sessions.session import Session


class LiveStage:
    def __init__(self, url: str, session: Session, form: str) -> None:
        self.url = url
        self.first = msgspec.json.encode({"type": "follow", "session": session.id, "as": form}).decode()
        self._session = session

    async def play(self) -> None:
        await self._session.run("go")


@asynccontextmanager
async def stage(cli: str, look: str) -> AsyncIterator[LiveStage]:
    caller = Caller(name="viewer", role="viewer", surface="api")
    async with managed() as manager, Live(manager, metrics=Metrics()) as live:
        session = await manager.start(Options(cli_path=cli, include_partial_messages=True), on_ask=allow)

        async def endpoint(socket: WebSocket) -> None:
            await live.serve(socket, caller)

        async with served(endpoint) as url:
            yield LiveStage(url, session, look)
            await live.stop()

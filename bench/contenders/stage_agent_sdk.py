"""claude-agent-sdk with what a program writes around it: each message into SQLite, then to each viewer as JSON."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import sqlite3
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

from claude_agent_sdk import ClaudeSDKClient, Message, ResultMessage

from bench.contenders.agent_sdk import connected
from bench.contenders.agent_sdk_stored import TABLE
from bench.contenders.hall_naive import NaiveHall
from bench.contenders.halls import served


class SdkStage:
    first = ""

    def __init__(self, hall: NaiveHall, client: ClaudeSDKClient, database: sqlite3.Connection) -> None:
        self.url = hall.url
        self._hall = hall
        self._client = client
        self._database = database

    async def play(self) -> None:
        await self._client.query("go")
        async for message in self._client.receive_response():
            await asyncio.to_thread(self._store, message)
            shown = _shown(message)
            for socket in tuple(self._hall.sockets):
                await socket.send_text(json.dumps(shown))

    def _store(self, message: Message) -> None:
        self._database.execute(
            "INSERT INTO messages (type, body) VALUES (?, ?)", (type(message).__name__, json.dumps(_shown(message)))
        )
        self._database.commit()


def _shown(message: Message) -> dict[str, Any]:
    kind = "completed" if isinstance(message, ResultMessage) else type(message).__name__
    return {"type": kind, **dataclasses.asdict(message)}


@asynccontextmanager
async def stage(cli: str, look: str) -> AsyncIterator[SdkStage]:
    with (
        tempfile.TemporaryDirectory(prefix="handrail-bench-") as directory,
        closing(sqlite3.connect(Path(directory) / "messages.db", check_same_thread=False)) as database,
    ):
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("PRAGMA synchronous = NORMAL")
        database.execute(TABLE)
        hall = NaiveHall()
        async with connected(cli) as client, served(hall.endpoint) as hall.url:
            yield SdkStage(hall, client, database)

"""claude-agent-sdk with what a program writes around it: each message into SQLite, then to everybody who looks.

A commit for each message, since a viewer that comes back must find what it saw; the log in WAL mode, `synchronous`
NORMAL. `look` says how: "viewers" commits in a thread, so that nobody waits for the disk, as Handrail does; "viewers,
on the loop" lets everybody wait, which takes the least CPU; "viewers, on the loop, no deltas" also leaves deltas out.
"""

from __future__ import annotations

import asyncio
import dataclasses
import json
import sqlite3
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import TypeAlias

from claude_agent_sdk import ClaudeSDKClient, Message, StreamEvent

from bench.contenders import VIEWERS, Tally
from bench.contenders.agent_sdk import connected

Inbox: TypeAlias = "asyncio.Queue[Message | None]"

TABLE = "CREATE TABLE messages (id INTEGER PRIMARY KEY, type TEXT NOT NULL, body TEXT NOT NULL)"


@asynccontextmanager
async def session(cli: str) -> AsyncIterator[StoredSession]:
    with (
        tempfile.TemporaryDirectory(prefix="handrail-bench-") as directory,
        closing(sqlite3.connect(Path(directory) / "messages.db", check_same_thread=False)) as database,
    ):
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("PRAGMA synchronous = NORMAL")
        database.execute(TABLE)
        async with connected(cli) as client:
            yield StoredSession(client, database)


class StoredSession:
    def __init__(self, client: ClaudeSDKClient, database: sqlite3.Connection) -> None:
        self._client = client
        self._database = database

    async def consume(self, tally: Tally, look: str) -> None:
        inboxes: list[Inbox] = [asyncio.Queue() for _ in range(VIEWERS)]
        async with asyncio.TaskGroup() as group:
            for inbox in inboxes:
                group.create_task(view(inbox, tally))
            await self._client.query("go")
            async for message in self._client.receive_response():
                if look == "viewers":
                    await asyncio.to_thread(self._store, message)
                elif not (look.endswith("no deltas") and isinstance(message, StreamEvent)):
                    self._store(message)
                for inbox in inboxes:
                    inbox.put_nowait(message)
            for inbox in inboxes:
                inbox.put_nowait(None)

    def _store(self, message: Message) -> None:
        body = json.dumps(dataclasses.asdict(message))
        self._database.execute("INSERT INTO messages (type, body) VALUES (?, ?)", (type(message).__name__, body))
        self._database.commit()


async def view(inbox: Inbox, tally: Tally) -> None:
    while await inbox.get() is not None:
        tally.frames += 1

"""Messages on their way to Claude: each is stored before it is sent, and followed until the CLI is done with it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Any, cast
from uuid import uuid4

import msgspec

from handrail.errors import BudgetSpent, HandrailError, MessageDropped, ProcessError
from handrail.events.model import Prompt
from handrail.protocol.frames import Result
from handrail.sessions.asks import Actor
from handrail.sessions.journal import Journal
from handrail.sessions.turn import Turn
from handrail.store.base import MessageRow, MessageState

__all__ = ["Outbox", "message_row"]

logger = logging.getLogger("handrail.session")


def message_row(content: Any, actor: Actor, *, uuid: str | None, at: float) -> MessageRow:
    """A message that somebody wants sent."""
    return MessageRow(
        uuid=uuid or str(uuid4()),
        content=msgspec.json.encode(content),
        at=at,
        by=actor.name,
        surface=actor.surface,
    )


class Outbox:
    """The messages of one CLI process.

    `turn` makes the client's turn for a message; `written` is told the uuid of each message that went out; `run_of`
    tells which run a result ended.
    """

    def __init__(
        self,
        journal: Journal,
        *,
        turn: Callable[[Any, str], Turn],
        written: Callable[[str], None],
        run_of: Callable[[Result], int | None],
    ) -> None:
        self._journal = journal
        self._turn = turn
        self._written = written
        self._run_of = run_of
        self._tasks: set[asyncio.Task[None]] = set()
        self._unstored: set[asyncio.Task[None]] = set()
        self._in_order = asyncio.Lock()

    @property
    def busy(self) -> int:
        """How many messages the CLI is not done with."""
        return len(self._tasks)

    def accept(self, rows: Sequence[MessageRow], *, announce: bool = True) -> None:
        """Take messages. They are in the journal once `journal.stored` returns, and are sent then."""
        for row in rows:
            if announce:
                content = msgspec.json.decode(row.content)
                prompt = Prompt(uuid=row.uuid, state="queued", content=content, by=row.by, surface=row.surface)
                self._journal.add([prompt], messages=[row])
            task = asyncio.get_running_loop().create_task(self._carry(row))
            for tasks in (self._tasks, self._unstored):
                tasks.add(task)
                task.add_done_callback(tasks.discard)

    async def settle(self) -> None:
        """Wait until nothing more will become of any message: the CLI is gone. What is not stored yet stays queued."""
        for task in self._unstored:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)

    async def _carry(self, row: MessageRow) -> None:
        turn = self._turn(msgspec.json.decode(row.content), row.uuid)
        sent = False
        try:
            async with self._in_order:
                await self._journal.stored()
                self._unstored.discard(cast("asyncio.Task[None]", asyncio.current_task()))
                await turn.__aenter__()
                sent = True
            self._written(row.uuid)
            self._now(row, "sent")
            result = await turn.wait()
            self._now(row, "answered", run=self._run_of(result))
        except MessageDropped as error:
            self._now(row, "dropped", reason=str(error))
        except BudgetSpent as error:
            self._now(row, "dropped", reason=str(error))
        except ProcessError as error:
            if sent:
                self._now(row, "lost", reason=str(error))
            # Else it stays queued: it goes out when the session is resumed.
        except HandrailError as error:
            logger.warning("a message could not be sent: %s", error)
            self._now(row, "dropped", reason=str(error))
        finally:
            if sent:
                await turn.__aexit__(None, None, None)

    def _now(self, row: MessageRow, state: MessageState, *, run: int | None = None, reason: str = "") -> None:
        prompt = Prompt(uuid=row.uuid, state=state, run=None, by=row.by, surface=row.surface, reason=reason)
        if run is not None:
            prompt = msgspec.structs.replace(prompt, answered_by=run)
        self._journal.add([prompt], messages=[msgspec.structs.replace(row, state=state)])

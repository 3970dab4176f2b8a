"""Messages on their way to Claude: each is stored before it is sent, and followed until the CLI is done with it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from typing import Any
from uuid import uuid4

import msgspec

from handrail.errors import BudgetSpent, HandrailError, LocalProtocolError, MessageDropped, ProcessError
from handrail.events.model import Prompt
from handrail.protocol.frames import Result
from handrail.sessions.asks import Actor
from handrail.sessions.journal import Journal
from handrail.sessions.turn import Turn
from handrail.store.base import MessageRow, MessageState

__all__ = ["Outbox", "message_row", "queued"]

logger = logging.getLogger("handrail.session")


def message_row(content: Any, actor: Actor, *, uuid: str | None, at: float) -> MessageRow:
    """A message that somebody wants sent. Raises `LocalProtocolError` if it cannot be one."""
    if not isinstance(content, str | list | tuple):
        raise LocalProtocolError(f"a message is text or a list of content blocks, not {type(content).__name__}")
    try:
        encoded = msgspec.json.encode(content)
    except (TypeError, ValueError, RecursionError) as error:
        raise LocalProtocolError(f"this message cannot be written as JSON: {error}") from None
    return MessageRow(uuid=uuid or str(uuid4()), content=encoded, at=at, by=actor.name, surface=actor.surface)


def queued(row: MessageRow) -> Prompt:
    """The event that goes into the journal with a message."""
    content = msgspec.json.decode(row.content)
    return Prompt(uuid=row.uuid, state="queued", content=content, by=row.by, surface=row.surface)


class Outbox:
    """The messages of one CLI process.

    `ready` waits until a message may be sent; `turn` makes the client's turn for one; `written` is told the uuid of
    each that went out; `run_of` tells which run a result ended.
    """

    def __init__(
        self,
        journal: Journal,
        *,
        ready: Callable[[], Awaitable[None]],
        turn: Callable[[Any, str], Turn],
        written: Callable[[str], None],
        run_of: Callable[[Result], int | None],
    ) -> None:
        self._journal = journal
        self._ready = ready
        self._turn = turn
        self._written = written
        self._run_of = run_of
        self._tasks: set[asyncio.Task[None]] = set()
        self._unwritten: set[asyncio.Task[None]] = set()
        self._taken: set[str] = set()
        self._in_order = asyncio.Lock()

    @property
    def busy(self) -> int:
        """How many messages the CLI is not done with."""
        return len(self._tasks)

    def carry(self, rows: Iterable[MessageRow]) -> None:
        """Send messages that were added to the journal, in order, once they are stored. Each is taken once."""
        for row in rows:
            if row.uuid in self._taken:
                continue
            self._taken.add(row.uuid)
            task = asyncio.get_running_loop().create_task(self._carry(row))
            for tasks in (self._tasks, self._unwritten):
                tasks.add(task)
                task.add_done_callback(tasks.discard)

    async def settle(self) -> None:
        """Wait until nothing more will become of any message: the CLI is gone.

        What was not written stays queued, and goes out when the session is resumed. It may wait for a store that
        cannot be written now, so it is not waited for.
        """
        for task in self._unwritten:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)

    async def _carry(self, row: MessageRow) -> None:
        try:
            async with self._in_order:
                turn = await self._sent(row)
            await self._answered(row, turn)
        except ProcessError:
            logger.debug("the CLI ended before a message was written: it stays queued")
        except (MessageDropped, BudgetSpent) as error:
            self._now(row, "dropped", reason=str(error))
        except Exception as error:  # whatever is wrong with one message, nobody may wait for it in vain
            logger.warning("a message could not be sent: %s", error, exc_info=not isinstance(error, HandrailError))
            self._now(row, "dropped", reason=str(error))

    async def _sent(self, row: MessageRow) -> Turn:
        """Write a message. It counts as sent before it is written: after a crash in between it is said to be lost.

        The other way round it would be sent again, and the CLI silently drops a message that it has seen.
        """
        await self._journal.stored()
        await self._ready()
        self._now(row, "sent")
        try:
            await self._journal.stored()
            turn = self._turn(msgspec.json.decode(row.content), row.uuid)
            await turn.__aenter__()
        except (ProcessError, asyncio.CancelledError):
            self._now(row, "queued")
            raise
        self._written(row.uuid)
        self._unwritten.difference_update({asyncio.current_task()})
        return turn

    async def _answered(self, row: MessageRow, turn: Turn) -> None:
        try:
            result = await turn.wait()
        except ProcessError as error:
            self._now(row, "lost", reason=str(error))
        else:
            self._now(row, "answered", run=self._run_of(result))
        finally:
            await turn.__aexit__(None, None, None)

    def _now(self, row: MessageRow, state: MessageState, *, run: int | None = None, reason: str = "") -> None:
        prompt = Prompt(uuid=row.uuid, state=state, run=None, by=row.by, surface=row.surface, reason=reason)
        if run is not None:
            prompt = msgspec.structs.replace(prompt, answered_by=run)
        self._journal.add([prompt], messages=[msgspec.structs.replace(row, state=state)])

"""Commands of the hub: each is done once, however often it comes, and whatever becomes of the connection meanwhile."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import time
from collections import OrderedDict
from collections.abc import Callable
from contextlib import nullcontext
from typing import Final
from weakref import WeakValueDictionary

import msgspec

from handrail.error_records import record_of
from handrail.errors import HandrailError, HostError, StoreError
from handrail.host.acts import Acts, Method
from handrail.link.wire import Command, ErrorRecord, FromHost, Reply
from handrail.store.base import KeptReply, Store

__all__ = ["Commands"]

logger = logging.getLogger("handrail.host")

CALLER: Final = "hub"
KEPT_FOR: Final = 24 * 3600.0
MOST_AT_ONCE: Final = 256
REMEMBERED: Final = 256
TRIED: Final = "tried"
ENDING: Final = frozenset({"interrupt", "stop"})
"""What must work also while nothing can be stored."""


class Commands:
    """The commands under way. `send` reaches the hub if it is there: if not, it asks again when it is back.

    `trouble` hears why what was done could not be stored.
    """

    def __init__(
        self,
        acts: Acts,
        store: Store,
        *,
        name: str,
        send: Callable[[FromHost], None],
        trouble: Callable[[str], None] = lambda words: None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._acts = acts
        self._store = store
        self._name = name
        self._send = send
        self._trouble = trouble
        self._clock = clock
        self._running: dict[str, asyncio.Task[None]] = {}
        self._unkept: OrderedDict[str, Reply] = OrderedDict()
        """Answers that could not be stored."""
        self._lanes: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    @property
    def running(self) -> int:
        """How many are under way."""
        return len(self._running)

    def take(self, command: Command) -> None:
        """Do a command, unless it is being done. Its reply is sent."""
        if command.id in self._running:
            return
        if len(self._running) >= MOST_AT_ONCE:
            busy = HostError(f"{self._name} has {MOST_AT_ONCE} commands to do already: try again later")
            self._send(Reply(id=command.id, error=record_of(busy)))
            return
        task = asyncio.get_running_loop().create_task(self._run(command))
        self._running[command.id] = task
        task.add_done_callback(lambda ended: self._forget(command.id, ended))

    def cancel(self, command_id: str) -> None:
        """Nobody waits for it any more. It is done nevertheless: half of it would be worse."""
        logger.debug("nobody waits for command %s any more", command_id)

    async def close(self) -> None:
        """End what is under way."""
        tasks = list(self._running.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def forget_old(self) -> None:
        """Forget what was answered long ago."""
        await self._store.forget_replies(before=self._clock() - KEPT_FOR)

    async def check_store(self) -> None:
        """Raise `StoreError` if nothing can be stored."""
        tried = KeptReply(caller=CALLER, key=TRIED, request_hash="", at=self._clock())
        await self._store.begin_reply(tried, forget_before=self._clock() - KEPT_FOR)
        await self._store.drop_reply(CALLER, TRIED)

    async def _run(self, command: Command) -> None:
        try:
            method = self._acts.method(command.method)
            lane = self._lane(command.session) if method.ordered and command.session else nullcontext()
            async with lane:
                reply = await (self._done(command) if method.reads else self._once(command, method))
        except HandrailError as error:
            reply = Reply(id=command.id, error=record_of(error))
        del self._running[command.id]  # before the hub knows: it may come again at once
        self._send(reply)

    def _forget(self, command_id: str, task: asyncio.Task[None]) -> None:
        if self._running.get(command_id) is task:
            del self._running[command_id]

    def _lane(self, session_id: str) -> asyncio.Lock:
        lock = self._lanes.get(session_id)
        if lock is None:
            lock = self._lanes[session_id] = asyncio.Lock()  # it is kept by those who hold or await it
        return lock

    async def _once(self, command: Command, method: Method) -> Reply:
        """Do it, or say again what it came to."""
        if command.id in self._unkept:
            return self._unkept[command.id]
        wanted = KeptReply(caller=CALLER, key=command.id, request_hash=_hash(command), at=self._clock())
        try:
            found = await self._store.begin_reply(wanted, forget_before=self._clock() - KEPT_FOR)
        except StoreError as error:
            self._trouble(str(error))
            if command.method not in ENDING:
                raise
            found = None
        if found is not None and not (_may_repeat(command, method) and _is_left_undone(found, wanted)):
            return self._again(found, wanted)
        reply = await self._done(command)
        await self._keep(wanted, reply)
        return reply

    def _again(self, found: KeptReply, wanted: KeptReply) -> Reply:
        if found.request_hash != wanted.request_hash:
            raise HostError("another command had this id")
        if _is_left_undone(found, wanted):
            raise HostError(f"{self._name} restarted before this was done: look what became of it")
        return msgspec.msgpack.decode(found.body, type=Reply)

    async def _done(self, command: Command) -> Reply:
        try:
            result = msgspec.json.encode(await self._acts.do(command))
        except HandrailError as error:
            return Reply(id=command.id, error=record_of(error))
        except Exception as error:  # a boundary: whatever fails, the hub is owed an answer
            logger.exception("the command %s failed", command.method)
            return Reply(id=command.id, error=_failed(error, self._name))
        return Reply(id=command.id, result=result, last_seq=await self._last_seq(command.session))

    async def _last_seq(self, session_id: str) -> int:
        if not session_id:
            return 0
        try:
            row = await self._store.get_session(session_id)
        except StoreError:  # what was done is done: this only helps the hub to show it
            return 0
        return row.last_seq if row is not None else 0

    async def _keep(self, wanted: KeptReply, reply: Reply) -> None:
        """Remember what it came to. What was done is done, so that this fails must not look as if that had."""
        done = msgspec.structs.replace(wanted, status=200, body=msgspec.msgpack.encode(reply))
        try:
            await self._store.keep_reply(done)
        except StoreError as error:
            self._trouble(str(error))
            self._unkept[reply.id] = reply
            if len(self._unkept) > REMEMBERED:
                self._unkept.popitem(last=False)


def _may_repeat(command: Command, method: Method) -> bool:
    """A start that does not say which session it is would make another one."""
    return method.repeatable and bool(command.session)


def _is_left_undone(found: KeptReply, wanted: KeptReply) -> bool:
    """Whether the same command was begun by a process that is not there any more."""
    return found.status is None and found.request_hash == wanted.request_hash


def _hash(command: Command) -> str:
    said = (
        "\0".join((command.method, command.session, command.actor, command.surface)).encode() + b"\0" + command.params
    )
    return hashlib.sha256(said).hexdigest()


def _failed(error: Exception, name: str) -> ErrorRecord:
    return record_of(error, where=name)

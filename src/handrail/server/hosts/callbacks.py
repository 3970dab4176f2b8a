"""Calls of hosts' sessions to the programs that started them: each is made once, however often a host asks."""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Final

from handrail.link import wire

__all__ = ["CallPrograms", "Callbacks"]

logger = logging.getLogger("handrail.hosts")

CallPrograms = Callable[[str, wire.Callback], Awaitable[wire.CallbackReply]]
"""Passes a call of a host, by its id, on to the program."""
KEPT: Final = 500
"""How many answers are remembered, for a host that asks again because the link was cut before it heard one."""
KEPT_BYTES: Final = 16 * 1024 * 1024
"""And how many bytes of them: what a tool gives may be pictures."""
MOST: Final = 1_000
"""How many calls of one host may be under way."""


class Callbacks:
    """The calls of one host. They outlive its links."""

    def __init__(self, host_id: str, programs: Callable[[], CallPrograms | None]) -> None:
        self._host_id = host_id
        self._programs = programs
        self._send: Callable[[wire.FromHub], None] | None = None
        self._under_way: dict[str, asyncio.Task[None]] = {}
        self._answered: OrderedDict[str, wire.CallbackReply] = OrderedDict()
        self._kept_bytes = 0

    def connect(self, send: Callable[[wire.FromHub], None]) -> None:
        """There is a link."""
        self._send = send

    def disconnect(self) -> None:
        """The link is gone: answers are kept until the host asks again."""
        self._send = None

    def take(self, callback: wire.Callback) -> None:
        """A session calls its program."""
        known = self._answered.get(callback.id)
        if known is not None:
            self._tell(known)
        elif len(self._under_way) >= MOST:
            self._tell(_failed(callback, "too many calls of this host are under way"))
        elif callback.id not in self._under_way:
            task = asyncio.get_running_loop().create_task(self._call(callback))
            self._under_way[callback.id] = task
            task.add_done_callback(lambda done: self._under_way.pop(callback.id, None))

    async def close(self) -> None:
        """Call nobody any more."""
        tasks = list(self._under_way.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _call(self, callback: wire.Callback) -> None:
        call = self._programs()
        if call is None:
            reply = _failed(callback, "this hub passes nothing on to programs")
        else:
            try:
                reply = await call(self._host_id, callback)
            except Exception as error:  # the session must not wait for ever for a mistake of ours
                logger.exception("a call of session %s to its program failed", callback.session[:8])
                reply = _failed(callback, f"the hub failed: {type(error).__name__}")
        self._keep(reply)
        self._tell(reply)

    def _keep(self, reply: wire.CallbackReply) -> None:
        self._answered[reply.id] = reply
        self._kept_bytes += len(reply.result)
        while len(self._answered) > KEPT or (self._kept_bytes > KEPT_BYTES and len(self._answered) > 1):
            _, forgotten = self._answered.popitem(last=False)
            self._kept_bytes -= len(forgotten.result)

    def _tell(self, reply: wire.CallbackReply) -> None:
        if self._send is not None:
            self._send(reply)


def _failed(callback: wire.Callback, words: str) -> wire.CallbackReply:
    return wire.CallbackReply(id=callback.id, error=wire.ErrorRecord(kind="HandrailError", message=words))

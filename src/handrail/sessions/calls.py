"""Our control requests: each waits for its answer, for its deadline, or for the end of the CLI."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import Any

from handrail.errors import ControlExpired, ControlRefused, ProcessError
from handrail.protocol import lenient
from handrail.protocol.connection import Connection, OurRequest
from handrail.protocol.control import HOST_REQUESTS, Request
from handrail.protocol.frames import ControlResult

__all__ = ["ControlCalls", "typed_answer"]

logger = logging.getLogger("handrail.client")


class ControlCalls:
    """The control requests of one client that have no answer yet."""

    def __init__(self, connection: Connection, write: Callable[[bytes], None]) -> None:
        self._connection = connection
        self._write = write
        self._replies: dict[str, asyncio.Future[Any]] = {}
        self.may_withdraw = False
        """Whether the CLI survives being told that an answer is no longer wanted: 2.1.37 does not."""

    async def call(self, subtype: str, fields: Mapping[str, Any], timeout: float | None) -> dict[str, Any]:
        """Make a request and wait for the body of its answer, for as long as its kind may take if no time is given."""
        if timeout is None:
            timeout = HOST_REQUESTS.get(subtype, Request).timeout
        loop = asyncio.get_running_loop()
        request = self._connection.request(subtype, fields)
        reply = self._replies[request.id] = loop.create_future()
        deadline = loop.call_later(timeout, self._expire, request, timeout)
        self._write(request.line)
        try:
            body = await reply
        except asyncio.CancelledError:
            self._withdraw(request)
            raise
        finally:
            deadline.cancel()
            del self._replies[request.id]
        return body if isinstance(body, dict) else {}

    def settle(self, request: OurRequest, result: ControlResult) -> None:
        """The CLI has answered `request`."""
        reply = self._replies.get(request.id)
        if reply is None or reply.done():
            return
        if result.subtype == "error":
            error = result.error or "no reason given"
            reply.set_exception(ControlRefused(request.subtype, error, code=result.error_code))
        else:
            reply.set_result(result.response)

    def lose(self, error: ProcessError) -> None:
        """The CLI is gone: no answer will come."""
        for reply in self._replies.values():
            if not reply.done():
                reply.set_exception(error.with_traceback(None))

    def _expire(self, request: OurRequest, seconds: float) -> None:
        reply = self._replies[request.id]
        if not reply.done():
            reply.set_exception(ControlExpired(request.subtype, seconds))
            if request in self._connection.waiting:
                self._connection.expire(request)

    def _withdraw(self, request: OurRequest) -> None:
        if request not in self._connection.waiting:
            return
        if self.may_withdraw:
            self._write(self._connection.withdraw(request))
        else:
            self._connection.expire(request)


def typed_answer(reply: dict[str, Any], into: Any, subtype: str) -> Any:
    """An answer as a struct. What does not fit is logged, and the rest kept."""
    answer, problems = lenient.convert(reply, into)
    for problem in problems:
        logger.warning("the answer to %s has an unexpected shape: %s", subtype, problem)
    return answer

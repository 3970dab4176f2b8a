"""Answering the CLI: every request it makes gets one answer, from whoever is asked, a hook, a tool, or at once.

Each answer that takes time is a task of its own, so a slow one leaves only its own request pending; a request that the
CLI cancels cancels its task.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from handrail.errors import LocalProtocolError
from handrail.protocol.asks import ASK_SUBTYPES, ask_from
from handrail.protocol.connection import Connection, TheirRequest
from handrail.sessions.asking import Asking, Line
from handrail.sessions.hooks import HookRunner
from handrail.sessions.mcp import ToolServers

__all__ = ["Answering"]

logger = logging.getLogger("handrail.client")

Review = Callable[[Mapping[str, Any], dict[str, Any]], dict[str, Any]]
"""Has the last word on what a PreToolUse hook answered: takes the hook's input and output, returns the output."""

Work = Callable[[], Awaitable[dict[str, Any]]]
"""Makes an answer; called in the task that waits for it, so nothing is left unawaited if it is cancelled before."""

ANSWERED_WITH_SUCCESS = frozenset({"initialize", "ControlInitializeRequest", "sdk_control_interrupt"})
"""Older forms that only want to be acknowledged."""


class Answering:
    """The requests of one CLI that wait for our answer."""

    def __init__(
        self,
        connection: Connection,
        write: Callable[[bytes], None],
        *,
        asking: Asking,
        hooks: HookRunner,
        review: Review | None = None,
        tools: ToolServers,
        ask_suffix: str = "",
    ) -> None:
        self._connection = connection
        self._write = write
        self._asking = asking
        self._hooks = hooks
        self._review = review
        self._tools = tools
        self._ask_suffix = ask_suffix
        self._line = Line(self._respond, self._respond_error)
        self._tasks: dict[str, asyncio.Task[None]] = {}

    def asked(self, request: TheirRequest) -> None:
        """The CLI made a request."""
        subtype = request.subtype
        if subtype in ASK_SUBTYPES:
            self._asking.asked(request, ask_from(self._ask_id(request), request.body), self._line)
        elif subtype == "hook_callback":
            self._start(request, lambda: self._run_hook(request.body))
        elif subtype == "mcp_message":
            self._start(request, lambda: self._tools.handle(request.body))
        elif subtype in ANSWERED_WITH_SUCCESS:
            self._respond(request, {})
        else:
            self._respond_error(request, f"Unsupported control request subtype: {subtype}")

    def cancelled(self, request: TheirRequest) -> None:
        """The CLI no longer wants an answer."""
        self._asking.withdraw(self._ask_id(request))
        task = self._tasks.pop(request.id, None)
        if task is not None:
            task.cancel()

    def _ask_id(self, request: TheirRequest) -> str:
        return request.id + self._ask_suffix

    def stop(self) -> None:
        """The CLI is gone: nobody needs these answers."""
        for task in self._tasks.values():
            task.cancel()
        self._tasks.clear()
        self._asking.stop()

    async def _run_hook(self, body: dict[str, Any]) -> dict[str, Any]:
        output = await self._hooks.run(body)
        match self._hooks.event_of(body):
            case "PermissionRequest":
                return await self._asking.answered_by_hook(body.get("tool_use_id"), output)
            case "PreToolUse" if self._review is not None:
                return self._review(body.get("input") or {}, output)
        return output

    def _start(self, request: TheirRequest, work: Work) -> None:
        self._tasks[request.id] = asyncio.get_running_loop().create_task(self._carry_out(request, work))

    async def _carry_out(self, request: TheirRequest, work: Work) -> None:
        try:
            body = await work()
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise
            # Not we were cancelled, but something the callback waited for.
            self._respond_error(request, "what the callback waited for was cancelled")
        except Exception as error:  # a callback may raise anything; the CLI must have its answer
            logger.warning("answering %s failed", request.subtype, exc_info=error)
            self._respond_error(request, f"{type(error).__name__}: {error}")
        else:
            self._respond(request, body)
        finally:
            self._tasks.pop(request.id, None)

    def _respond(self, request: TheirRequest, body: dict[str, Any]) -> None:
        try:
            self._write(self._connection.respond(request, body))
        except LocalProtocolError as error:
            logger.debug("an answer came too late: %s", error)
        except (TypeError, ValueError, RecursionError) as error:
            self._respond_error(request, f"the answer cannot be written as JSON: {error}")

    def _respond_error(self, request: TheirRequest, error: str) -> None:
        text = error.encode("utf-8", "replace").decode()  # half a surrogate pair cannot be written
        try:
            self._write(self._connection.respond_error(request, text))
        except LocalProtocolError as misuse:
            logger.debug("an answer came too late: %s", misuse)

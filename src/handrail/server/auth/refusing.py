"""Answers what the guards do not let through: as problem details, for requests and for sockets alike."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from handrail.server.problems import Problem, problem_of

if TYPE_CHECKING:
    from starlette.types import Scope, Send

__all__ = ["Refuse", "refuse"]

Refuse: TypeAlias = Callable[[Any, Any, Problem], Awaitable[None]]

POLICY_VIOLATION = 1008


async def refuse(scope: Scope, send: Send, problem: Problem) -> None:
    """Answer with `problem`, and with nothing of the application."""
    if scope["type"] == "http":
        await _answer(send, problem, "http.response")
    elif "websocket.http.response" in scope.get("extensions", {}):
        await _answer(send, problem, "websocket.http.response")
    else:
        await send({"type": "websocket.close", "code": POLICY_VIOLATION, "reason": problem.code})


async def _answer(send: Send, problem: Problem, kind: str) -> None:
    told = problem_of(problem)
    headers = {**told.headers, "content-length": str(len(told.content))}
    raw = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]
    await send({"type": f"{kind}.start", "status": told.status, "headers": raw})
    await send({"type": f"{kind}.body", "body": told.content})

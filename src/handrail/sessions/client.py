"""The way to a live client: `connect` gives one to talk to, `query` runs one prompt in one of its own."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any

from handrail.protocol.codec import DEFAULT_MAX_LINE
from handrail.protocol.frames import Frame
from handrail.protocol.options import Options
from handrail.sessions.asking import OnAsk
from handrail.sessions.asks import Actor, AskChange, Decision
from handrail.sessions.audience import FrameSink
from handrail.sessions.budget import AnyBudget
from handrail.sessions.cli_process import Launch
from handrail.sessions.decisions import CALLBACK
from handrail.sessions.following import Following
from handrail.sessions.hooks import Hook
from handrail.sessions.live_client import Client
from handrail.sessions.mcp import ToolServer
from handrail.sessions.readers import DEFAULT_BUDGET
from handrail.sessions.tools import Tool
from handrail.sessions.turns import Content
from handrail.transports.base import Transport

if TYPE_CHECKING:
    from handrail.policy.policy import Policy
    from handrail.policy.storage.loading import PolicySource

__all__ = ["Client", "FrameSink", "Launch", "connect", "query"]


def connect(
    options: Options | None = None,
    *,
    on_ask: OnAsk | None = None,
    actor: Actor = CALLBACK,
    on_ask_change: Callable[[AskChange], None] = lambda change: None,
    record_decision: Callable[[Decision], Awaitable[None]] | None = None,
    policy: Policy | PolicySource | None = None,
    budget: AnyBudget | None = None,
    hooks: Sequence[Hook] = (),
    tools: Sequence[Tool[..., Any] | ToolServer] = (),
    transport: Transport | None = None,
    record: str | os.PathLike[str] | None = None,
    max_line: int = DEFAULT_MAX_LINE,
    unread_budget: int = DEFAULT_BUDGET,
) -> Client:
    """A client for one CLI process, to be opened with `async with`.

    `on_ask` answers what the CLI asks, in the name of `actor`; where it returns None, the ask stays open for
    `Client.decide`. Without it every ask is denied, with a message that says so. `on_ask_change` hears of every ask
    that opens, changes or closes; `record_decision` is awaited with each decision before the CLI is told. `policy`
    judges every tool call, also those that the CLI would allow by itself, before anybody is asked. Once the session has
    cost `budget` US dollars, an ask of the kind "budget" decides whether it goes on.

    `record` writes both directions of the traffic to a file, without secrets; so does the logger `handrail.wire` at
    DEBUG. `transport` replaces the process, for tests and other links. Frames that nobody has read yet take about
    `unread_budget` bytes of memory for each reader, the rest waits on disk; a line longer than `max_line` bytes is
    skipped with a warning.
    """
    return Client(
        options or Options(),
        on_ask=on_ask,
        actor=actor,
        on_ask_change=on_ask_change,
        record_decision=record_decision,
        policy=policy,
        budget=budget,
        hooks=hooks,
        tools=tools,
        transport=transport,
        record=record,
        max_line=max_line,
        unread_budget=unread_budget,
    )


async def query(
    prompt: Content,
    options: Options | None = None,
    *,
    on_ask: OnAsk | None = None,
    hooks: Sequence[Hook] = (),
    tools: Sequence[Tool[..., Any] | ToolServer] = (),
) -> AsyncGenerator[Frame, None]:
    """Run one prompt in a CLI of its own and yield every frame, a result last.

    If the turn leaves background tasks behind, the CLI is kept until they are done, and their frames are yielded too.
    """
    async with connect(options, on_ask=on_ask, hooks=hooks, tools=tools) as client:
        frames = client.frames()
        async with client.turn(prompt) as turn:
            turn.discard()  # `frames` has them all, and goes on after the turn
            following = Following(turn)
            async for frame in frames:
                following.receive(frame)
                yield frame
                if following.over():
                    return

"""Tools of this process: offered over MCP through the control channel, asked about, and called."""

from __future__ import annotations

from typing import Annotated

from handrail.protocol.asks import Allow
from handrail.sessions.tools import tool
from handrail.testing.probing.behaviours import Behaviour, Scenario
from handrail.testing.probing.stage import Asks, Replies, Stage
from handrail.testing.replies import ToolUse

__all__ = ["TOOLS"]

CALLED = Behaviour(
    name="tools: one of this process",
    need="breaks",
    otherwise="tools that a program brings along cannot be called",
)
OFFERED = Behaviour(
    name="tools: how they are offered to the model",
    need="degrades",
    otherwise="the model does not know of a program's tools",
)

NAME = "mcp__handrail__weather"


@tool
async def weather(city: Annotated[str, "where"], days: int = 1) -> str:
    """The weather forecast."""
    return f"{city}: {days} day(s) of rain"


async def play(stage: Stage) -> None:
    asks = Asks(Allow())
    replies: Replies = {"How is the weather?": [ToolUse(NAME, {"city": "Oslo", "days": 2}), "Rain."]}
    async with stage.live(replies, tools=[weather], on_ask=asks) as live:
        await live.run("How is the weather?")
        called = live.last_told == "Oslo: 2 day(s) of rain"
        asked = "asked, then called" if NAME in asks.tools else "called without being asked"
        stage.see(CALLED, called, asked if called else "not called")
        offered = live.model.requests_in()[0].tools
        how = "at once" if NAME in offered else "through ToolSearch" if "ToolSearch" in offered else "not at all"
        stage.see(OFFERED, how != "not at all", how)


TOOLS = Scenario("tools", (CALLED, OFFERED), play)

"""MCP: tools of this process, real stdio servers, and what they ask the user."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Annotated, Any

from handrail.protocol.asks import Allow, Deny, Elicited
from handrail.protocol.control import McpServerStatus, McpSetServers, McpStatus
from handrail.protocol.launch import Options
from handrail.sessions.mcp import ToolServer
from handrail.sessions.tools import tool
from handrail.testing.cli_cache import ClaudeCLI
from handrail.testing.replies import ToolUse

from .support import DEADLINE, Asks, Live, Observe, World, by_version

PROBE: dict[str, Any] = {
    "type": "stdio",
    "command": sys.executable,
    "args": ["-I", str(Path(__file__).with_name("mcp_server.py"))],
}
WITH_PROBE = Options(mcp_servers={"probe": PROBE}, allowed_tools=["mcp__probe"])


@tool
async def weather(city: Annotated[str, "where"], days: int = 1) -> str:
    """The weather forecast."""
    return f"{city}: {days} day(s) of rain"


@tool
async def broken() -> str:
    """Never works."""
    raise ConnectionError("the station is silent")


async def test_the_model_calls_a_python_function(world: World, observe: Observe) -> None:
    asks = Asks(Allow())
    script = [ToolUse("mcp__handrail__weather", {"city": "Oslo", "days": 2}), "Rain."]
    async with world.live(script, tools=[weather], on_ask=asks) as live:
        result = await live.client.run("How is the weather?")
        assert result.result == "Rain."
        offered = live.model.requests_in()[0].tools
        assert "mcp__handrail__weather" in offered or "ToolSearch" in offered
        assert await live.tool_result_text() == "Oslo: 2 day(s) of rain"
        observe("mcp: a tool of this process", "asked, then run" if asks.asked else "run, not asked")
        at_once = "at once" if "mcp__handrail__weather" in offered else "through ToolSearch"
        observe("mcp: how tools are offered to the model", at_once)


async def test_a_denied_python_function_is_not_called(world: World) -> None:
    called = False

    @tool
    async def launch() -> str:
        """Launch it."""
        nonlocal called
        called = True
        return "launched"

    script = [ToolUse("mcp__silo__launch", {}), "No."]
    async with world.live(script, tools=[ToolServer("silo", [launch])], on_ask=Asks(Deny("never"))) as live:
        assert (await live.client.run("Launch")).result == "No."
        assert "never" in await live.tool_result_text()
    assert not called


async def test_an_error_in_a_python_function_is_told_to_the_model(world: World, observe: Observe) -> None:
    options = Options(allowed_tools=["mcp__handrail"])
    async with world.live([ToolUse("mcp__handrail__broken", {}), "Pity."], tools=[broken], options=options) as live:
        assert (await live.client.run("How is the weather?")).result == "Pity."
        assert "ConnectionError: the station is silent" in await live.tool_result_text()
        (told,) = live.tool_results()
        observe("mcp: a tool of this process that raises", f"tool_result with is_error {str(told.is_error).lower()}")


async def test_wrong_arguments_do_not_reach_the_function(world: World) -> None:
    options = Options(allowed_tools=["mcp__handrail"])
    script = [ToolUse("mcp__handrail__weather", {"city": "Oslo", "days": "many"}), "Pity."]
    async with world.live(script, tools=[weather], options=options) as live:
        assert (await live.client.run("How is the weather?")).result == "Pity."
        assert "days" in await live.tool_result_text()


async def test_a_stdio_server_of_the_options(world: World) -> None:
    script = [ToolUse("mcp__probe__add", {"a": 2, "b": 3}), "Five."]
    async with world.live(script, options=WITH_PROBE) as live:
        assert (await connected(live)).status == "connected"
        assert (await live.client.run("Add")).result == "Five."
        assert "5" in await live.tool_result_text()


async def test_servers_are_set_and_removed_while_the_session_runs(world: World, observe: Observe) -> None:
    script = [ToolUse("mcp__probe__add", {"a": 2, "b": 3}), "Five.", "Gone."]
    async with world.live(script, options=Options(allowed_tools=["mcp__probe"])) as live:
        change = await live.client.request(McpSetServers(servers={"probe": PROBE}))
        assert change.added == ("probe",)
        assert not change.errors
        server = await connected(live)
        assert {item.name for item in server.tools} == {"add", "greet", "process_id"}
        assert (await live.client.run("Add")).result == "Five."
        assert "5" in await live.tool_result_text()
        listed = [item.name for item in (await live.client.request(McpStatus())).mcp_servers]
        change = await live.client.request(McpSetServers(servers={}))
        assert change.removed == ("probe",)
        assert (await live.client.run("And now?")).result == "Gone."
        assert "mcp__probe__add" not in live.model.requests_in()[-1].tools
        observe("mcp: mcp_set_servers", f"its tools can be called; mcp_status lists {listed}")


async def test_a_server_that_does_not_start(world: World, observe: Observe) -> None:
    async with world.live(["Never mind."]) as live:
        missing = {"type": "stdio", "command": str(world.outside / "missing"), "args": []}
        change = await live.client.request(McpSetServers(servers={"ghost": missing}))
        assert "ghost" in change.errors
        added = "added and errors" if "ghost" in change.added else "errors"
        observe("mcp: mcp_set_servers with a server that does not start", f"listed in {added}")
        assert (await live.client.run("Go on")).result == "Never mind."


async def test_an_elicitation_is_an_ask(world: World, cli: ClaudeCLI, observe: Observe) -> None:
    asks = Asks(Elicited("accept", {"name": "Ada", "age": 36}))
    script = [ToolUse("mcp__probe__greet", {}), "Greeted."]
    async with world.live(script, options=WITH_PROBE, on_ask=asks) as live:
        await connected(live)
        assert (await live.client.run("Greet")).result == "Greeted."
        told = await live.tool_result_text()
        if by_version(cli, {"2.1.37": False, "2.1.120": True}):
            (ask,) = asks.asked
            assert (ask.kind, ask.message) == ("elicitation", "Who are you?")
            assert ask.request["mcp_server_name"] == "probe"
            assert "name" in ask.request["requested_schema"]["properties"]
            assert "Hello Ada, 36" in told
            observe("mcp: elicitation", "is asked, the server gets the answer")
        else:
            assert not asks.asked
            observe("mcp: elicitation", f"is not asked: {told.partition(' required')[0]}")


async def test_a_declined_elicitation(world: World, cli: ClaudeCLI) -> None:
    script = [ToolUse("mcp__probe__greet", {}), "Not greeted."]
    async with world.live(script, options=WITH_PROBE, on_ask=Asks(Deny("none of your business"))) as live:
        await connected(live)
        assert (await live.client.run("Greet")).result == "Not greeted."
        expected = by_version(cli, {"2.1.37": "did not declare", "2.1.120": "Nobody: decline"})
        assert expected in await live.tool_result_text()


async def connected(live: Live, name: str = "probe") -> McpServerStatus:
    """Wait until a server is no longer pending."""
    async with asyncio.timeout(DEADLINE):
        while True:
            status = await live.client.request(McpStatus())
            for server in status.mcp_servers:
                if server.name == name and server.status != "pending":
                    return server
            await asyncio.sleep(0.05)

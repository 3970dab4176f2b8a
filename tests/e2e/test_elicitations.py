"""What MCP servers ask the user: forms that are checked before they are sent, and addresses to open."""

from __future__ import annotations

import sys
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest

from handrail.errors import UnfitAnswer
from handrail.policy.answers.forms import form_fields
from handrail.protocol.asks import Ask, Elicited
from handrail.protocol.launch import Options
from handrail.sessions.asking import OnAsk
from handrail.testing.cli_cache import ClaudeCLI
from handrail.testing.replies import ToolUse

from .support import Asks, Live, Observe, World, by_version
from .test_mcp import connected

DESK = {
    "type": "stdio",
    "command": sys.executable,
    "args": ["-I", str(Path(__file__).with_name("elicitation_server.py"))],
}
WITH_DESK = Options(mcp_servers={"desk": DESK}, allowed_tools=["mcp__desk"])
NOT_KNOWN = "Method not found"


def desk(world: World, tool: str, on_ask: OnAsk) -> AbstractAsyncContextManager[Live]:
    return world.live([ToolUse(f"mcp__desk__{tool}", {}), "Done."], options=WITH_DESK, on_ask=on_ask)


async def server_told(live: Live) -> str:
    """Have the tool ask the user, and return what the server was answered."""
    await connected(live, "desk")
    assert (await live.client.run("Ask at the desk")).result == "Done."
    return await live.tool_result_text()


async def test_a_form_is_checked_before_it_is_sent(world: World, cli: ClaudeCLI) -> None:
    async def fill_in(ask: Ask) -> Elicited:
        assert [field.name for field in form_fields(ask.request) if field.required] == ["name", "seats"]
        for content, problem in (
            ({"name": "Ada"}, "seats is missing"),
            ({"name": "Ada", "seats": "two"}, "seats must be a whole number"),
            ({"name": "A", "seats": 9}, "name must have at least 2 characters; seats must be at most 8"),
        ):
            with pytest.raises(UnfitAnswer, match=problem):
                await live.client.decide(ask.id, Elicited("accept", content), actor="Ada", digest=ask.digest)
        return Elicited("accept", {"name": "Ada", "seats": 2})

    async with desk(world, "book", fill_in) as live:
        expected = '{"action": "accept", "content": {"name": "Ada", "seats": 2}}'
        assert by_version(cli, {"2.1.37": NOT_KNOWN, "2.1.120": expected}) in await server_told(live)


@pytest.mark.parametrize("action", ["decline", "cancel"])
async def test_a_form_that_is_not_filled_in(world: World, cli: ClaudeCLI, action: Any) -> None:
    async with desk(world, "book", Asks(Elicited(action))) as live:
        expected = f'{{"action": "{action}"}}'
        assert by_version(cli, {"2.1.37": NOT_KNOWN, "2.1.120": expected}) in await server_told(live)


@pytest.mark.parametrize("action", ["accept", "decline", "cancel"])
async def test_an_address_to_open(world: World, observe: Observe, action: Any) -> None:
    asks = Asks(Elicited(action))
    async with desk(world, "sign_in", asks) as live:
        told = await server_told(live)
    observe("mcp: elicitation of an address", "is asked" if asks.asked else f"is not asked: {told}")
    if asks.asked:
        (ask,) = asks.asked
        assert (ask.request["mode"], ask.request["url"]) == ("url", "https://example.com/sign-in")
        assert f'"action": "{action}"' in told

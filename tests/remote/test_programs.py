"""Hooks, tools and answers of a program that started a session through a hub, and what happens when it goes away."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

from handrail import Allow, Ask, Asked, Deny, Hub, Options, Session, deny_tool, hook, tool
from handrail.link.programs import Offer, Offered, decode_from_hub, encode
from handrail.protocol.control import PostToolUseInput, PreToolUseInput, UserPromptSubmitInput
from handrail.testing import simulated as sim
from handrail.testing.simulated import SimulatedCLI

from ..server.support import ServedHub, served_hub
from .support import Wire, eventually

PRE = {
    "hook_event_name": "PreToolUse",
    "tool_name": "Bash",
    "tool_input": {"command": "make"},
    "tool_use_id": "toolu_1",
}
POST = {**PRE, "hook_event_name": "PostToolUse", "tool_response": "made"}
PERMISSION = {**PRE, "hook_event_name": "PermissionRequest"}
PROMPT = {"hook_event_name": "UserPromptSubmit", "prompt": "Make it."}
HANDSHAKE = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "claude-code", "version": "2"},
    },
}


def call_of(name: str, **arguments: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": name, "arguments": arguments}}


@asynccontextmanager
async def hub_with(directory: Path, *steps: sim.Step) -> AsyncIterator[tuple[ServedHub, SimulatedCLI, Wire]]:
    """A hub whose sessions follow a script, also to be reached over a wire that can be cut."""
    (directory / "cli").mkdir(parents=True)
    cli = SimulatedCLI(steps, directory=directory / "cli")
    async with Wire().laid() as wire, served_hub(directory, cli=cli, settings=wire.settings) as served:
        wire.leads_to(served.url)
        yield served, cli, wire


async def answer_to(cli: SimulatedCLI, request_id: str) -> Any:
    return (await response_to(cli, request_id)).get("response")


async def response_to(cli: SimulatedCLI, request_id: str) -> Any:
    def found() -> Any:
        lines = [line["response"] for line in cli.received() if line.get("type") == "control_response"]
        return next((line for line in lines if line["request_id"] == request_id), None)

    return await eventually(found)


@pytest.mark.slow
async def test_a_hook_runs_in_the_program(tmp_path: Path) -> None:
    seen: list[Any] = []

    @hook("PreToolUse", matcher="Bash")
    async def guard(call: PreToolUseInput) -> Any:
        seen.append(call.tool_input)
        return deny_tool("not today")

    @hook("PostToolUse")
    async def watch(call: PostToolUseInput) -> None:
        seen.append(call.tool_response)

    script = (
        sim.expect("user"),
        sim.hook("PreToolUse", PRE, callback_id="PreToolUse-0", request_id="pre"),
        sim.hook("PostToolUse", POST, request_id="post"),
    )
    async with hub_with(tmp_path, *script, sim.loop_turns()) as (served, cli, _):
        async with Hub(served.url, served.tokens["owner"]) as hub:
            session = await hub.start(Options(cwd=served.directory), hooks=[guard, watch])
            await session.send("Go on.")
            answer = await answer_to(cli, "pre")
            assert answer["hookSpecificOutput"]["permissionDecision"] == "deny"
            assert answer["hookSpecificOutput"]["permissionDecisionReason"] == "not today"
            assert await answer_to(cli, "post") == {}
        assert seen == [{"command": "make"}, "made"]


@pytest.mark.slow
async def test_a_tool_runs_in_the_program(tmp_path: Path) -> None:
    @tool
    async def add(a: int, b: int) -> str:
        """Add two numbers."""
        return str(a + b)

    script = (
        sim.expect("user"),
        sim.mcp("handrail", HANDSHAKE, request_id="hello"),
        sim.mcp("handrail", {"jsonrpc": "2.0", "method": "notifications/initialized"}, request_id="ready"),
        sim.mcp("handrail", {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}, request_id="list"),
        sim.mcp("handrail", call_of("add", a=2, b=3), request_id="call"),
    )
    async with (
        hub_with(tmp_path, *script, sim.loop_turns()) as (served, cli, _),
        Hub(served.url, served.tokens["owner"]) as hub,
    ):
        session = await hub.start(Options(cwd=served.directory), tools=[add])
        await session.send("Go on.")
        listed = (await answer_to(cli, "list"))["mcp_response"]
        assert [each["name"] for each in listed["result"]["tools"]] == ["add"]
        called = (await answer_to(cli, "call"))["mcp_response"]
        assert (called["id"], called["result"]["content"][0]["text"]) == (7, "5")


ASKED = sim.turn(sim.tool("Bash", {"command": "rm -rf build"}, request_id="ask-1"), "All clean.")


@pytest.mark.slow
async def test_on_ask_answers_in_the_program(tmp_path: Path) -> None:
    asked: list[Ask] = []

    async def answer(ask: Ask) -> Any:
        asked.append(ask)
        return Allow()

    async with hub_with(tmp_path, ASKED, sim.loop_turns()) as (served, _, _wire):
        async with Hub(served.url, served.tokens["owner"]) as hub:
            session = await hub.start(Options(cwd=served.directory), policy=Asked(profile="careful"), on_ask=answer)
            assert (await session.run("Clean up.")).ok
            assert (await session.asks(("sent",)))[0].surface == "callback"
        assert [each.tool_name for each in asked] == ["Bash"]
        assert asked[0].description is not None


@pytest.mark.slow
async def test_an_on_ask_that_fails_denies_and_says_so(tmp_path: Path) -> None:
    async def answer(ask: Ask) -> Any:
        raise RuntimeError("no idea")

    async with hub_with(tmp_path, ASKED, sim.loop_turns()) as (served, cli, _):
        async with Hub(served.url, served.tokens["owner"]) as hub:
            session = await hub.start(Options(cwd=served.directory), policy=Asked(profile="careful"), on_ask=answer)
            await session.run("Clean up.")
        assert "no idea" in str(await response_to(cli, "ask-1"))


async def gone(served: ServedHub, **offered: Any) -> Session:
    """A session whose program has left."""
    async with Hub(served.url, served.tokens["owner"]) as hub:
        started = await hub.start(Options(cwd=served.directory), policy=Asked(profile="careful"), **offered)
    assert served.hub.programs.connected == 0
    return served.manager.session(started.id)


@pytest.mark.slow
async def test_without_the_program_a_call_that_it_should_judge_goes_to_a_person(tmp_path: Path) -> None:
    @hook("PreToolUse")
    async def guard(call: PreToolUseInput) -> Any:
        return None

    later = (sim.expect("user"), sim.hook("PreToolUse", PRE, callback_id="PreToolUse-0", request_id="pre"))
    async with hub_with(tmp_path, *later, sim.loop_turns()) as (served, cli, _):
        session = await gone(served, hooks=[guard])
        await session.send("Go on.")
        decided = (await answer_to(cli, "pre"))["hookSpecificOutput"]
        assert decided["permissionDecision"] == "ask"
        assert "not connected" in decided["permissionDecisionReason"]


@pytest.mark.slow
async def test_a_person_is_asked_also_where_the_policy_would_allow(tmp_path: Path) -> None:
    @hook("PreToolUse")
    async def guard(call: PreToolUseInput) -> Any:
        return None

    script = (
        sim.expect("user"),
        sim.hook("PreToolUse", PRE, callback_id="PreToolUse-0", request_id="pre"),
        sim.ask("Bash", {"command": "make"}, request_id="ask-1", tool_use_id="toolu_1"),
    )
    async with hub_with(tmp_path, *script, sim.loop_turns()) as (served, _, _wire):
        async with Hub(served.url, served.tokens["owner"]) as hub:
            allowing = Asked(profile="careful", allow=("Bash(make)",))
            started = await hub.start(Options(cwd=served.directory), policy=allowing, hooks=[guard])
        session = served.manager.session(started.id)
        await session.send("Go on.")
        row = (await eventually(session.asks))[0]
        assert row.id == "ask-1"


@pytest.mark.slow
async def test_without_the_program_other_hooks_say_nothing_or_block(tmp_path: Path) -> None:
    @hook("PermissionRequest", "PostToolUse", "UserPromptSubmit")
    async def guard(call: Any) -> Any:
        return None

    later = (
        sim.expect("user"),
        sim.hook("PermissionRequest", PERMISSION, request_id="permission"),
        sim.hook("PostToolUse", POST, request_id="post"),
        sim.hook("UserPromptSubmit", PROMPT, request_id="prompt"),
    )
    async with hub_with(tmp_path, *later, sim.loop_turns()) as (served, cli, _):
        session = await gone(served, hooks=[guard])
        await session.send("Go on.")
        assert await answer_to(cli, "permission") == {}
        assert await answer_to(cli, "post") == {}
        blocked = await answer_to(cli, "prompt")
        assert blocked["decision"] == "block"
        assert "not connected" in blocked["reason"]


@pytest.mark.slow
async def test_without_the_program_its_tools_say_that_it_is_not_connected(tmp_path: Path) -> None:
    @tool
    async def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    later = (
        sim.expect("user"),
        sim.mcp("handrail", call_of("add", a=2, b=3), request_id="call"),
        sim.mcp("handrail", {"jsonrpc": "2.0", "id": 8, "method": "tools/list"}, request_id="list"),
    )
    async with hub_with(tmp_path, *later, sim.loop_turns()) as (served, cli, _):
        session = await gone(served, tools=[add])
        await session.send("Go on.")
        called = (await answer_to(cli, "call"))["mcp_response"]
        assert called["result"]["isError"]
        assert "not connected" in called["result"]["content"][0]["text"]
        assert "not connected" in (await answer_to(cli, "list"))["mcp_response"]["error"]["message"]


@pytest.mark.slow
async def test_without_the_program_asks_wait_for_people(tmp_path: Path) -> None:
    async def answer(ask: Ask) -> Any:
        return Deny("no")

    async with hub_with(tmp_path, ASKED, sim.loop_turns()) as (served, _, _wire):
        session = await gone(served, on_ask=answer)
        running = asyncio.create_task(session.run("Clean up."))
        row = (await eventually(session.asks))[0]
        await session.decide(row.id, Allow(), digest=row.digest)
        assert (await running).ok


@pytest.mark.slow
async def test_a_program_that_comes_back_in_time_answers_what_was_asked_meanwhile(tmp_path: Path) -> None:
    called = 0
    began, may_answer = asyncio.Event(), asyncio.Event()

    @hook("PreToolUse")
    async def guard(call: PreToolUseInput) -> Any:
        nonlocal called
        called += 1
        began.set()
        await may_answer.wait()
        return deny_tool("after all")

    script = (sim.expect("user"), sim.hook("PreToolUse", PRE, callback_id="PreToolUse-0", request_id="pre"))
    async with (
        hub_with(tmp_path, *script, sim.loop_turns()) as (served, cli, wire),
        Hub(wire.url, served.tokens["owner"]) as hub,
    ):
        session = await hub.start(Options(cwd=served.directory), policy=Asked(), hooks=[guard])
        await session.send("Go on.")
        await began.wait()
        wire.cut()
        await eventually(lambda: served.hub.programs.connected == 0)
        may_answer.set()
        wire.mend()
        decided = (await answer_to(cli, "pre"))["hookSpecificOutput"]
        assert (decided["permissionDecision"], decided["permissionDecisionReason"]) == ("deny", "after all")
    assert called == 1


@pytest.mark.slow
async def test_a_program_that_does_not_come_back_is_not_waited_for_longer(tmp_path: Path) -> None:
    began = asyncio.Event()

    @hook("PreToolUse")
    async def guard(call: PreToolUseInput) -> Any:
        began.set()
        await asyncio.Event().wait()

    script = (sim.expect("user"), sim.hook("PreToolUse", PRE, callback_id="PreToolUse-0", request_id="pre"))
    async with (
        hub_with(tmp_path, *script, sim.loop_turns()) as (served, cli, wire),
        Hub(wire.url, served.tokens["owner"]) as hub,
    ):
        session = await hub.start(Options(cwd=served.directory), policy=Asked(), hooks=[guard])
        await session.send("Go on.")
        await began.wait()
        served.hub.programs.grace = 0.05
        wire.cut()
        assert (await answer_to(cli, "pre"))["hookSpecificOutput"]["permissionDecision"] == "ask"


@pytest.mark.slow
async def test_a_call_that_nobody_wants_any_more_is_cancelled_in_the_program(tmp_path: Path) -> None:
    began, cancelled = asyncio.Event(), asyncio.Event()

    @hook("UserPromptSubmit")
    async def guard(call: UserPromptSubmitInput) -> Any:
        began.set()
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    script = (
        sim.expect("user"),
        sim.hook("UserPromptSubmit", PROMPT, request_id="prompt", wait=False),
        sim.expect("user"),
        sim.cancel("prompt"),
    )
    async with (
        hub_with(tmp_path, *script, sim.loop_turns()) as (served, _, _wire),
        Hub(served.url, served.tokens["owner"]) as hub,
    ):
        session = await hub.start(Options(cwd=served.directory), hooks=[guard])
        await session.send("Go on.")
        await began.wait()
        await session.send("Never mind.")
        async with asyncio.timeout(30):
            await cancelled.wait()


@pytest.mark.slow
async def test_nobody_else_answers_for_a_program(tmp_path: Path) -> None:
    async with hub_with(tmp_path, sim.loop_turns()) as (served, _, _wire):
        _, other = await served.hub.tokens.mint("another owner", "owner")

        async def answer(ask: Ask) -> Any:
            return None

        async with Hub(served.url, served.tokens["owner"]) as hub:
            await hub.start(Options(cwd=served.directory), on_ask=answer)
            (program_id,) = hub._programs._offered
            headers = {"authorization": f"Bearer {other}"}
            address = served.url.replace("http", "ws") + "/api/programs"
            async with connect(address, additional_headers=headers, proxy=None) as socket:
                await socket.send(encode(Offer(programs=(program_id,))))
                offered = decode_from_hub(await socket.recv())
                assert offered == Offered(programs=(), refused=(program_id,))


async def test_only_owners_offer_anything(tmp_path: Path) -> None:
    async with hub_with(tmp_path, sim.loop_turns()) as (served, _, _wire):
        headers = {"authorization": f"Bearer {served.tokens['approver']}"}
        address = served.url.replace("http", "ws") + "/api/programs"
        async with connect(address, additional_headers=headers, proxy=None) as socket:
            with pytest.raises(ConnectionClosed):
                await socket.recv()
            assert socket.close_code == 4403


@pytest.mark.slow
async def test_a_tool_may_give_a_picture(tmp_path: Path) -> None:
    @tool
    async def picture() -> list[dict[str, Any]]:
        """A large one."""
        return [{"type": "image", "mimeType": "image/png", "data": "A" * 3_000_000}]

    script = (
        sim.expect("user"),
        sim.mcp("handrail", HANDSHAKE, request_id="hello"),
        sim.mcp("handrail", call_of("picture"), request_id="call"),
    )
    async with (
        hub_with(tmp_path, *script, sim.loop_turns()) as (served, cli, _),
        Hub(served.url, served.tokens["owner"]) as hub,
    ):
        session = await hub.start(Options(cwd=served.directory), tools=[picture])
        await session.send("Show me.")
        called = (await answer_to(cli, "call"))["mcp_response"]
        assert len(called["result"]["content"][0]["data"]) == 3_000_000


@pytest.mark.slow
async def test_hooks_and_tools_can_be_given_to_a_session_that_is_resumed(tmp_path: Path) -> None:
    @hook("PreToolUse")
    async def guard(call: PreToolUseInput) -> Any:
        return deny_tool("not today")

    script = (sim.expect("user"), sim.hook("PreToolUse", PRE, callback_id="PreToolUse-0", request_id="pre"))
    async with (
        hub_with(tmp_path, *script, sim.loop_turns()) as (served, cli, _),
        Hub(served.url, served.tokens["owner"]) as hub,
    ):
        session = await hub.start(Options(cwd=served.directory))
        await session.stop()
        await hub.resume(session.id, hooks=[guard])
        await session.send("Go on.")
        assert (await answer_to(cli, "pre"))["hookSpecificOutput"]["permissionDecision"] == "deny"


@pytest.mark.slow
async def test_two_hooks_of_one_name_are_told_apart(tmp_path: Path) -> None:
    seen: list[str] = []

    def made(word: str) -> Any:
        @hook("PostToolUse")
        async def watch(call: PostToolUseInput) -> None:
            seen.append(word)

        return watch

    script = (
        sim.expect("user"),
        sim.hook("PostToolUse", POST, callback_id="PostToolUse-0", request_id="one"),
        sim.hook("PostToolUse", POST, callback_id="PostToolUse-1", request_id="two"),
    )
    async with (
        hub_with(tmp_path, *script, sim.loop_turns()) as (served, cli, _),
        Hub(served.url, served.tokens["owner"]) as hub,
    ):
        session = await hub.start(Options(cwd=served.directory), hooks=[made("first"), made("second")])
        await session.send("Go on.")
        await answer_to(cli, "two")
    assert seen == ["first", "second"]


@pytest.mark.slow
@pytest.mark.parametrize("message", ["nonsense", '{"type":"dance"}', '{"type":"offer","programs":7}'])
async def test_a_program_that_cannot_be_understood_is_sent_away(message: str, tmp_path: Path) -> None:
    async with hub_with(tmp_path, sim.loop_turns()) as (served, _, _wire):
        headers = {"authorization": f"Bearer {served.tokens['owner']}"}
        address = served.url.replace("http", "ws") + "/api/programs"
        async with connect(address, additional_headers=headers, proxy=None) as socket:
            await socket.send(message)
            with pytest.raises(ConnectionClosed):
                await socket.recv()
            assert socket.close_code == 4400

"""The process: nothing of it is left behind, and one-shot queries have one of their own."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from handrail.errors import ClientClosed, ProcessExited
from handrail.protocol.asks import Allow
from handrail.protocol.frames import Result
from handrail.protocol.launch import Options
from handrail.sessions.client import query
from handrail.testing.cli_cache import ClaudeCLI
from handrail.testing.cli_sandbox import cli_slot, isolated_env
from handrail.testing.model import ScriptedModel
from handrail.testing.replies import Reply, ToolUse

from .support import Asks, HeldAsks, Live, Observe, World, bash, by_version, eventually, outcome_of
from .test_mcp import PROBE, connected


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def read_pid(file: Path) -> int | None:
    text = file.read_text() if file.exists() else ""
    return int(text) if text.endswith("\n") else None


async def test_closing_leaves_no_process_behind(world: World) -> None:
    """Neither the CLI, nor a command in the background, nor an MCP server."""
    script = [
        ToolUse("mcp__probe__process_id", {}),
        bash("echo $$ > pid; sleep 600; echo over", run_in_background=True),
        "It runs.",
    ]
    options = Options(mcp_servers={"probe": PROBE}, allowed_tools=["mcp__probe", "Bash"])
    async with world.live(script, options=options) as live:
        await connected(live)
        assert (await live.client.run("Start it")).result == "It runs."
        server = int("".join(filter(str.isdigit, await live.tool_result_text(1))))
        command = await eventually(lambda: read_pid(world.cwd / "pid"))
        assert live.client.pid is not None
        started = {"the CLI": live.client.pid, "the MCP server": server, "the command": command}
        assert all(is_alive(pid) for pid in started.values())
    assert [name for name, pid in started.items() if is_alive(pid)] == []
    with pytest.raises(ClientClosed):
        await live.client.run("Are you there?")


async def test_closing_in_the_middle_of_a_turn(world: World) -> None:
    async with world.live([Reply("This goes on", hang_after=1)]) as live:
        pid = live.client.pid
        async with live.client.turn("Talk") as turn:
            await live.model.wait_for_requests(1)
            await live.client.close()
            with pytest.raises(ClientClosed):
                await turn.wait()
    assert pid is not None
    assert not is_alive(pid)


async def test_a_signal_ends_the_cli(world: World, observe: Observe) -> None:
    async with world.live(["One."]) as live:
        assert (await live.client.run("Go")).result == "One."
        assert live.client.pid is not None
        os.kill(live.client.pid, signal.SIGTERM)
        observe("process: SIGTERM", f"exit code {(await exit_of(live)).exit_code}")


async def test_end_of_input_in_the_middle_of_a_turn(world: World, observe: Observe) -> None:
    asks = HeldAsks()
    async with world.live([bash("mkdir made"), "Done."], on_ask=asks) as live:
        async with live.client.turn("Make a directory") as turn:
            await asks.wait(1)
            live.transport.close_input()
            result = await turn.wait()
        assert result.result == "Done."
        assert not (world.cwd / "made").exists()
        told = (await live.tool_result_text()).removeprefix("Tool permission request failed: ")
        code = (await exit_of(live)).exit_code
        observe("process: end of input while an ask is pending", f"the tool fails ({told}), exit code {code}")


async def test_a_line_that_is_no_json_ends_the_cli(world: World, observe: Observe) -> None:
    async with world.live() as live:
        live.transport.write(b"nonsense\n")
        observe("process: a line that is no JSON", f"exit code {(await exit_of(live)).exit_code}")


async def test_a_message_of_an_unknown_type(world: World, cli: ClaudeCLI, observe: Observe) -> None:
    async with world.live(["Still here."]) as live:
        live.transport.write(b'{"type":"greeting"}\n')
        if by_version(cli, {"2.1.37": False, "2.1.52": True}):
            assert (await live.client.run("Are you there?")).result == "Still here."
            observe("process: a message of an unknown type", "ignored")
        else:
            observe("process: a message of an unknown type", f"exit code {(await exit_of(live)).exit_code}")


async def exit_of(live: Live) -> ProcessExited:
    """Wait for the CLI to leave by itself."""
    try:
        async for _ in live.client.frames():
            pass
    except ProcessExited as ended:
        return ended
    raise AssertionError("the frames ended without an error")


async def test_without_a_channel_for_asks_the_call_is_denied(world: World, observe: Observe) -> None:
    asks = Asks(Allow())
    options = Options(permission_prompt_tool_name=None)
    async with world.live([bash("mkdir made"), "Denied."], options=options, on_ask=asks) as live:
        result = await live.client.run("Make a directory")
        assert result.result == "Denied."
        assert not asks.asked
        assert not (world.cwd / "made").exists()
        observe("permissions: without --permission-prompt-tool", "denied without being asked")


async def test_a_query_has_a_process_of_its_own(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    async with ScriptedModel(["Four."]) as model, cli_slot():
        for name in list(os.environ):
            monkeypatch.delenv(name)
        for name, value in isolated_env(world.home, model).items():
            monkeypatch.setenv(name, value)
        options = Options(cwd=world.cwd, cli_path=world.cli.path, use_api_billing=True)
        frames = [frame async for frame in query("What is 2 + 2?", options)]
    assert isinstance(frames[-1], Result)
    assert outcome_of(frames[-1]) == "success, is_error false"
    assert frames[-1].result == "Four."

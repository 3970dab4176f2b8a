"""A spent budget, with the real CLI: what runs in the background does not go on spending."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from handrail import Actor, Allow, Ask, Client, Options, connect
from handrail.protocol.frames import Result
from handrail.protocol.launch import child_environment, command_line
from handrail.testing import Reply, ScriptedModel, ToolUse, claude_cli, cli_slot, isolated_env
from handrail.transports.stdio import StdioTransport

pytestmark = [pytest.mark.real_cli, pytest.mark.slow]

ALICE = Actor("alice", "python")
EXPENSIVE = {"input_tokens": 2_000_000}
BUDGET = 1.0


async def leave_open(ask: Ask) -> None:
    """Leaves every ask to whoever calls `decide`."""


async def until(condition: Callable[[], Any]) -> Any:
    async with asyncio.timeout(60):
        while not (found := condition()):
            await asyncio.sleep(0.02)
    return found


@asynccontextmanager
async def live(home: Path, model: ScriptedModel, *tools: str) -> AsyncIterator[Client]:
    options = Options(cwd=home, use_api_billing=True, allowed_tools=tools)
    transport = StdioTransport(
        command_line(options, claude_cli().argv), env=child_environment(options, isolated_env(home, model)), cwd=home
    )
    with cli_slot():
        async with connect(options, on_ask=leave_open, budget=BUDGET, transport=transport) as client:
            yield client


async def test_the_turn_that_a_background_command_starts_is_interrupted(tmp_path: Path) -> None:
    wait = {"command": "until [ -e go ]; do sleep 0.05; done", "description": "Wait", "run_in_background": True}
    script = [
        Reply(ToolUse("Bash", wait)),
        Reply("It runs.", usage=EXPENSIVE),
        *[Reply("A long story.", deltas=600, delta_delay=0.1)] * 3,
    ]
    async with ScriptedModel(script) as model, live(tmp_path, model, "Bash") as client:
        frames = client.frames()
        assert (await client.run("Start it")).result == "It runs."
        (ask,) = client.asks.values()
        assert ask.kind == "budget"
        (tmp_path / "go").touch()
        results: list[Result] = []
        async with asyncio.timeout(60):
            async for frame in frames:
                if isinstance(frame, Result):
                    results.append(frame)
                if len(results) == 2:
                    break
        assert results[1].subtype == "error_during_execution"


async def test_an_agent_in_the_background_is_stopped_and_the_session_goes_on(tmp_path: Path) -> None:
    job = {
        "description": "A job",
        "prompt": "the long job",
        "subagent_type": "general-purpose",
        "run_in_background": True,
    }
    script = [Reply(ToolUse("Agent", job)), Reply("It has started.", usage=EXPENSIVE), *["Going on."] * 5]
    slow = {"the long job": [Reply("A long story.", deltas=600, delta_delay=0.1)] * 3}
    async with ScriptedModel(script, conversations=slow) as model, live(tmp_path, model) as client:
        assert (await client.run("Do it in the background")).result == "It has started."
        (ask,) = client.asks.values()
        await until(lambda: not client.background_tasks)
        await client.decide(ask.id, Allow({"limit_usd": 1000}), actor=ALICE)
        assert (await client.run("And now?")).result == "Going on."

"""The real CLI in a hub, driven from another program: its hooks, tools and answers run there while it is connected."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from handrail import Allow, Ask, Asked, Hub, tool
from handrail.events.model import Action, Text
from handrail.protocol.control import PreToolUseInput
from handrail.protocol.options import Options
from handrail.sessions.hooks import deny_tool, hook
from handrail.sessions.session import Session
from handrail.testing.cli_cache import ClaudeCLI
from handrail.testing.cli_sandbox import cli_slot, isolated_env
from handrail.testing.model import ScriptedModel
from handrail.testing.replies import ToolUse

from ..remote.support import eventually
from ..server.support import ServedHub, served_hub

CAREFUL = Asked(profile="careful", allow=("Bash(echo *)", "mcp__handrail__ticket"))


@asynccontextmanager
async def hub_with(cli: ClaudeCLI, directory: Path, script: list[Any]) -> AsyncIterator[ServedHub]:
    async with ScriptedModel(script) as model, cli_slot():
        (directory / "home").mkdir()
        env = {**dict.fromkeys(os.environ, ""), **isolated_env(directory / "home", model)}
        own = Options(cli_path=str(cli.path), env=env, use_api_billing=True, include_partial_messages=True)
        async with served_hub(directory, options=own) as served:
            yield served


@tool
async def ticket(number: int) -> str:
    """The text of a ticket."""
    return f"Ticket {number}: the button is too small."


async def outputs(session: Session) -> list[str]:
    """What tools gave, as far as they are through."""
    events = await session.events()
    return [str(event.detail) for event in events if isinstance(event, Action) and event.phase == "completed"]


async def test_hooks_tools_and_answers_run_in_the_program(newest_cli: ClaudeCLI, tmp_path: Path) -> None:
    judged: list[str] = []
    asked: list[str] = []

    @hook("PreToolUse", matcher="Bash")
    async def guard(call: PreToolUseInput) -> Any:
        judged.append(call.tool_input["command"])
        return deny_tool("Nobody deploys from here.") if "deploy" in call.tool_input["command"] else None

    async def answer(ask: Ask) -> Any:
        asked.append(ask.input["command"])
        return Allow()

    script = [
        ToolUse("Bash", {"command": "deploy now"}),
        ToolUse("Bash", {"command": "mkdir made-here"}),
        ToolUse("mcp__handrail__ticket", {"number": 7}),
        "Done.",
    ]
    async with hub_with(newest_cli, tmp_path, script) as served, Hub(served.url, served.tokens["owner"]) as hub:
        session = await hub.start(
            Options(cwd=served.directory), policy=CAREFUL, hooks=[guard], tools=[ticket], on_ask=answer
        )
        assert (await session.run("Go on.")).ok
        assert judged == ["deploy now", "mkdir made-here"]
        assert asked == ["mkdir made-here"]
        assert (served.directory / "made-here").is_dir()
        story = " ".join(await outputs(session))
        assert "Nobody deploys from here." in story
        assert "the button is too small" in story


async def test_once_the_program_is_gone_a_person_is_asked_and_its_tools_say_so(
    newest_cli: ClaudeCLI, tmp_path: Path
) -> None:
    @hook("PreToolUse", matcher="Bash")
    async def guard(call: PreToolUseInput) -> Any:
        return None

    script = [
        "Ready.",
        ToolUse("Bash", {"command": "echo allowed by the policy"}),
        ToolUse("mcp__handrail__ticket", {"number": 7}),
        "Done.",
    ]
    async with hub_with(newest_cli, tmp_path, script) as served:
        async with Hub(served.url, served.tokens["owner"]) as hub:
            started = await hub.start(Options(cwd=served.directory), policy=CAREFUL, hooks=[guard], tools=[ticket])
            assert (await started.run("Be ready.")).ok
        session = served.manager.session(started.id)
        running = asyncio.create_task(session.run("Go on."))
        (ask,) = await eventually(session.asks)
        await session.decide(ask.id, Allow(), digest=ask.digest)
        assert (await running).ok
        assert "not connected" in " ".join(await outputs(session))
        assert "Done." in [event.text for event in await session.events() if isinstance(event, Text)]

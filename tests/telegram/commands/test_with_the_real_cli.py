"""Plan mode from a chat, with the real Claude Code, whose model is scripted, and a Telegram on loopback."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from handrail.events.model import AskClosed
from handrail.protocol.options import Options
from handrail.telegram.model import User
from handrail.telegram.settings import TelegramSettings
from handrail.testing import ScriptedModel, TelegramServer, ToolUse, claude_cli, cli_slot, isolated_env
from handrail.testing.model_request import ModelRequest
from tests.server.support import served_hub
from tests.telegram.bridge.support import World

pytestmark = [pytest.mark.real_cli, pytest.mark.slow]

PLAN = "# Plan\n\n1. Measure twice\n2. Cut once\n"
EXIT = ToolUse("ExitPlanMode", {})


def write_plan(request: ModelRequest) -> ToolUse:
    """Write the plan into the file that Claude Code names in plan mode."""
    found = re.search(r"/[^\s\"`\\]+/plans/[\w-]+\.md", msgspec.json.encode(request.messages).decode())
    assert found, "this is not plan mode"
    return ToolUse("Write", {"file_path": found[0], "content": PLAN})


@asynccontextmanager
async def real_world(directory: Path, *script: Any) -> AsyncIterator[World]:
    """A bridge to sessions of the real Claude Code."""
    home = directory / "home"
    home.mkdir()
    options = Options(cli_path=str(claude_cli().path), use_api_billing=True)
    async with ScriptedModel(script) as model, TelegramServer(pace=None) as telegram:
        env = isolated_env(home, model)
        with cli_slot():
            async with served_hub(directory / "hub", options=options, env=env) as served:
                ann = telegram.user(id=1001, first_name="Ann")
                settings = TelegramSettings(
                    token=telegram.token,
                    api_url=telegram.url,
                    users=(User(1001, "Ann", "owner"),),
                    cwd=str(served.directory),
                )
                world = World(telegram, served, directory, ann, ann.private_chat(), settings)
                async with world.bridged():
                    yield world


async def test_planmode_auto_plans_first_and_goes_on_unasked(tmp_path: Path) -> None:
    script = [write_plan, EXIT, "I have cut once.", write_plan, EXIT, "And once more."]
    async with real_world(tmp_path, *script) as here:
        await here.say("/planmode auto")
        await here.hears("not the CLI's own mode auto")
        await here.say("cut it")
        await here.hears("I have cut once.")
        await here.say("again")
        await here.hears("And once more.")
        (row,) = await here.rows()
        events = await here.served.manager.session(row.id).events()
        closed = [event for event in events if isinstance(event, AskClosed)]
        assert [(event.by, event.surface) for event in closed] == [("Ann", "telegram")] * 2
        assert not any(message.buttons for message in here.chat.bot_messages)


async def test_planmode_on_asks_and_off_does_not_plan(tmp_path: Path) -> None:
    script = [write_plan, EXIT, "I have cut once.", "Just so."]
    async with real_world(tmp_path, *script) as here:
        await here.say("/planmode on")
        await here.hears("plan first, and ask")
        await here.say("cut it")
        ask = await here.asked()
        assert "Measure twice" in ask.text
        await ask.press(ask.buttons[0][0].text, by=here.ann)
        await here.hears("I have cut once.")
        await here.say("/planmode off")
        await here.hears("no plan first")
        await here.say("again")
        await here.hears("Just so.")

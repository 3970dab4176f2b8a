"""The real CLI from Telegram: a message starts it, buttons and replies answer what it asks, files go both ways."""

from __future__ import annotations

import json
import os
import re
import struct
import zlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from handrail.protocol.options import Options
from handrail.store.base import AskRow
from handrail.telegram.model import User
from handrail.telegram.settings import TelegramSettings
from handrail.testing import TelegramServer
from handrail.testing.cli_cache import ClaudeCLI
from handrail.testing.cli_sandbox import cli_slot, isolated_env
from handrail.testing.model import ScriptedModel
from handrail.testing.model_request import ModelRequest
from handrail.testing.replies import Reply, ToolUse
from handrail.testing.telegram import Message

from ..server.support import served_hub
from ..telegram.bridge.support import PATIENCE, World, eventually

PLAN = "# The plan\n\n1. Create `made.txt`\n2. Look at it"


def picture() -> bytes:
    """A real picture, black: Claude Code looks into it."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(b"\0" + bytes(3 * 8) for _ in range(8))
    header = struct.pack(">IIBBBBB", 8, 8, 8, 2, 0, 0, 0)
    body = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + body


@dataclass
class RealWorld(World):
    """A bridge between a Telegram on loopback and a hub whose sessions are the real CLI's."""

    model: ScriptedModel = None  # type: ignore[assignment]

    async def card(self, words: str, *, other_than: int = 0) -> Message:
        """The message with these words that has buttons, once it is there."""

        def look(_: Any) -> Message | None:
            asking = [each for each in self.chat.bot_messages if each.buttons and each.id != other_than]
            return next((each for each in asking if words in each.text), None)

        found: Message = await self.chat.wait(look, timeout=PATIENCE)
        return found

    async def press(self, words: str, button: str) -> str:
        """Press the button that begins so under the message with these words; returns the toast."""
        card = await self.card(words)
        found = next(each for row in card.buttons for each in row if each.text.startswith(button))
        return (await card.press(found, by=self.ann)).text

    async def ask(self) -> AskRow:
        """What was asked last."""
        return (await self.served.hub.store.asks())[-1]

    def told(self) -> str:
        """Everything that the model was told last, as text."""
        return json.dumps(self.model.requests_in()[-1].messages)


@asynccontextmanager
async def real_world(cli: ClaudeCLI, directory: Path, *script: Any) -> AsyncIterator[RealWorld]:
    home = directory / "home"
    home.mkdir()
    async with ScriptedModel(list(script)) as model, cli_slot(), TelegramServer() as telegram:
        env = {**dict.fromkeys(os.environ, ""), **isolated_env(home, model)}
        own = Options(cli_path=str(cli.path), env=env, use_api_billing=True, include_partial_messages=True)
        async with served_hub(directory / "hub", options=own) as served:
            ann = telegram.user(id=1001, first_name="Ann")
            settings = TelegramSettings(
                token=telegram.token, api_url=telegram.url, users=(User(1001, "Ann"),), cwd=str(served.directory)
            )
            yield RealWorld(telegram, served, directory, ann, ann.private_chat(), settings, model=model)


async def test_a_command_is_allowed_from_the_phone(cli: ClaudeCLI, tmp_path: Path) -> None:
    script = [ToolUse("Bash", {"command": "mkdir made-here"}), "It is **done**."]
    async with real_world(cli, tmp_path, *script) as world, world.bridged():
        await world.say("Make a directory.")
        assert await world.press("mkdir made-here", "Allow") == "Approved"
        answer = await world.hears("It is done.")
        ask = await world.ask()
        row = await world.served.hub.session(ask.session_id).row()
    assert (world.served.directory / "made-here").is_dir()
    assert answer.entities[0].type == "bold"
    assert f"claude --resume {row.cli_session_id}" in answer.text
    assert (ask.state, ask.decided_by, ask.surface) == ("sent", "Ann", "telegram")


async def test_a_reply_denies_and_tells_claude_why(newest_cli: ClaudeCLI, tmp_path: Path) -> None:
    script = [ToolUse("Bash", {"command": "rm -rf made-here"}), "Then I leave it."]
    async with real_world(newest_cli, tmp_path, *script) as world, world.bridged():
        await world.say("Tidy up.")
        card = await world.card("rm -rf made-here")
        await world.say("Keep it, I need it tomorrow.", reply_to=card)
        await world.hears("Then I leave it.")
        assert "Keep it, I need it tomorrow." in world.told()


async def test_an_ask_outlives_the_bridge(newest_cli: ClaudeCLI, tmp_path: Path) -> None:
    script = [ToolUse("Bash", {"command": "mkdir made-here"}), "Done."]
    async with real_world(newest_cli, tmp_path, *script) as world:
        async with world.bridged():
            await world.say("Make a directory.")
            card = await world.card("mkdir made-here")
        async with world.bridged():
            assert (await card.press("Allow", by=world.ann)).text == "Approved"
            await world.hears("Done.")
    assert (world.served.directory / "made-here").is_dir()
    assert sum("Allowed by Ann" in message.text for message in world.chat.bot_messages) == 1


async def test_a_plan_is_outlined_and_then_carried_out(newest_cli: ClaudeCLI, tmp_path: Path) -> None:
    plan = ToolUse("ExitPlanMode", {"plan": PLAN})
    write = ToolUse("Write", {"file_path": str(tmp_path / "hub" / "projects" / "made.txt"), "content": "made"})
    script = [plan, Reply("First I create it, then I look.", plan), write, "Carried out."]
    async with real_world(newest_cli, tmp_path, *script) as world, world.bridged():
        await world.say("/planmode on")
        await world.say("Make the file.")
        first = await world.card("The plan")
        assert await world.press("The plan", "Pause & Outline") == "Outlining plan…"
        second = await world.card("The plan", other_than=first.id)
        assert (await second.press("Yes, auto-accept edits", by=world.ann)).text == "Plan approved"
        await world.hears("Carried out.")
    assert (world.served.directory / "made.txt").read_text() == "made"


async def test_with_planmode_auto_nobody_is_asked(newest_cli: ClaudeCLI, tmp_path: Path) -> None:
    script = [ToolUse("ExitPlanMode", {"plan": PLAN}), "Carried out."]
    async with real_world(newest_cli, tmp_path, *script) as world, world.bridged():
        await world.say("/planmode auto")
        await world.say("Make the file.")
        await world.hears("Carried out.")
        ask = await world.ask()
    assert (ask.kind, ask.state, ask.decided_by) == ("plan", "sent", "Ann")


async def test_questions_are_answered_step_by_step(newest_cli: ClaudeCLI, tmp_path: Path) -> None:
    colours = {"question": "Which colours?", "header": "Colour", "multiSelect": True}
    size = {"question": "Which size?", "header": "Size", "multiSelect": False}
    questions = [
        {**colours, "options": [{"label": name, "description": ""} for name in ("Red", "Green", "Blue")]},
        {**size, "options": [{"label": name, "description": ""} for name in ("S", "L")]},
    ]
    script = [ToolUse("AskUserQuestion", {"questions": questions}), "Thank you."]
    async with real_world(newest_cli, tmp_path, *script) as world, world.bridged():
        await world.say("Ask me.")
        await world.press("Which colours?", "☐ Red")
        await eventually(lambda: "☑ Red" in _buttons(world))
        await world.press("Which colours?", "☐ Blue")
        await eventually(lambda: "☑ Blue" in _buttons(world))
        await world.press("Which colours?", "Next")
        card = await world.card("Which size?")
        await world.say("something in between", reply_to=card)
        await world.press("something in between", "Send")
        await world.hears("Thank you.")
        told = world.told()
    assert all(word in told for word in ("Which colours?", "Red", "Blue", "Which size?", "something in between"))
    assert "Green" not in json.dumps(json.loads(told)[-1])


def _buttons(world: World) -> list[str]:
    return [each.text for message in world.chat.bot_messages for row in message.buttons for each in row]


async def test_an_album_reaches_claude_as_one_message(newest_cli: ClaudeCLI, tmp_path: Path) -> None:
    async with real_world(newest_cli, tmp_path, "Two pictures.") as world, world.bridged():
        await world.chat.send_album([picture(), picture()], caption="What are these?")
        await world.hears("Two pictures.")
        (request,) = world.model.requests_in()
    (message,) = [each for each in request.messages if each["role"] == "user"]
    assert [block["type"] for block in message["content"]].count("image") == 2
    assert "What are these?" in json.dumps(message["content"])


async def test_a_file_in_the_outbox_comes_to_the_chat(newest_cli: ClaudeCLI, tmp_path: Path) -> None:
    def write(request: ModelRequest) -> Reply:
        (outbox,) = set(re.findall(r"\.handrail-outbox/\w+", request.system))
        path = tmp_path / "hub" / "projects" / outbox / "report.md"
        return Reply(ToolUse("Write", {"file_path": str(path), "content": "# Report"}))

    async with real_world(newest_cli, tmp_path, write, "Here it is.") as world, world.bridged():
        await world.say("Send me a report.")
        await world.press("report.md", "Allow")
        await world.hears("Here it is.")
        sent = await world.chat.wait(
            lambda messages: next((each for each in world.chat.bot_messages if each.document), None), timeout=PATIENCE
        )
    assert (sent.file_name, sent.document) == ("report.md", b"# Report")

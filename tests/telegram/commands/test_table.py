"""The table of commands: everything that is made from it, and what Telegram demands of it."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

from handrail.telegram.commands.command import Command
from handrail.telegram.commands.context import CommandContext, NotSo
from handrail.telegram.commands.desk import Commands
from handrail.telegram.commands.parsing import CommandLine, command_line
from handrail.telegram.commands.table import TABLE
from handrail.telegram.model import Place, Press, SentMessage

from .support import ANN, EVE, bench, flat

slow = pytest.mark.slow
"""Many of them would take long together; the first ones tell whether anything works."""

ROOT = Path(__file__).parents[3]
HOSTILE = ("", "x", "@", "@a/../b", "/etc/passwd", "off off", "00000000 x", "\u202e\x00\ufdd0", "'" * 40, "🙂" * 3000)


def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate_telegram", ROOT / "docs" / "generate_telegram.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_reference_is_current() -> None:
    module = generator()
    assert module.PAGE.read_text(encoding="utf-8") == module.page(), "run docs/generate_telegram.py"


def test_the_menu_is_one_that_telegram_takes() -> None:
    menu = Commands().menu()
    assert len(menu) == len({name for name, _ in menu}) <= 100
    for name, words in menu:
        assert re.fullmatch(r"[a-z0-9_]{1,32}", name)
        assert 1 <= len(words) <= 256


@pytest.mark.parametrize("command", TABLE, ids=lambda command: command.name)
def test_every_form_is_a_line_of_its_command(command: Command) -> None:
    for form, words in command.forms:
        line = command_line(form)
        assert line is not None
        assert line.name == command.name
        assert words


async def test_help_shows_what_somebody_may_use(tmp_path: Path) -> None:
    async with bench(tmp_path) as it:
        ann, eve = it.chat(ANN), it.chat(EVE)
        listed = await ann.write("/help")
        assert all(f"/{command.name}  {command.words}" in listed for command in TABLE)
        assert "/stop" not in await eve.write("/help")
        assert "/planmode auto" in await eve.write("/help planmode")
        assert "Needs the role owner." in await eve.write("/help /stop")
        assert "did you mean 'stop'" in await eve.write("/help stpo")
        assert "Hello Eve." in await eve.write("/start")
        assert "Files cannot be sent here" in await ann.write("/file get README")


@slow
async def test_whatever_is_written_behind_a_command_gets_an_answer_that_telegram_takes(tmp_path: Path) -> None:
    async with bench(tmp_path) as it:
        ann = it.chat(ANN)
        for command in TABLE:
            for arguments in HOSTILE:
                known = len(ann.shown)
                said = await ann.write(f"/{command.name} {arguments}")
                if len(ann.shown) > known:
                    assert said.strip()
                    assert ann.last.text.length <= 4096
                    assert all(len(button.token) <= 64 and button.text.strip() for button in flat(ann.last))
        assert len(ann.shown) > len(TABLE)


async def test_replies_and_buttons_of_no_command_do_nothing(tmp_path: Path) -> None:
    async with bench(tmp_path) as it:
        ann = it.chat(ANN)
        unknown = Press(action="command:gone", place=ann.place)
        assert it.commands.toast(unknown, ANN) == "This button does nothing any more"
        await it.commands.pressed(ann.context(1), unknown)
        sent = SentMessage(key="k", place=ann.place, purpose="command:gone:x")
        assert not await it.commands.replied(ann.context(2), sent, "hello")
        await ann.deliver()
        assert ann.shown == {}


@slow
async def test_a_command_may_ask_for_a_reply(tmp_path: Path) -> None:
    heard: list[tuple[str, str]] = []

    async def run(context: CommandContext, _: str) -> None:
        await context.say("What is it called?", purpose="name", placeholder="A name")

    async def replied(context: CommandContext, purpose: str, text: str) -> None:
        heard.append((purpose, text))
        raise NotSo("no such name: write another")

    command = Command(name="call", words="name it", role="approver", run=run, replied=replied, forms=(("/call", "it"),))
    async with bench(tmp_path) as it:
        it.commands = Commands((command,))
        group, eve = it.chat(ANN, Place(-100)), it.chat(EVE, Place(-100))
        await group.write("/call")
        assert group.last.placeholder == "A name"
        assert group.last.reply_to  # in a group it is seen what is answered
        sent = await it.state.read(lambda tables: tables.message_at(-100, group.last_id))
        assert sent is not None
        assert await it.commands.replied(group.context(50), sent, "shop")
        assert heard == [("name", "shop")]
        await group.deliver()
        assert group.last.text.text == "✗ No such name: write another"
        assert await it.commands.replied(eve.context(51), sent, "mine")
        assert len(heard) == 1
        await group.write("/cal")
        assert isinstance(command_line("/cal"), CommandLine)

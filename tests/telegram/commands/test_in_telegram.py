"""Commands through a Telegram on loopback and a bridge that runs: in private, in groups and in topics."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest

from handrail.telegram.commands.table import TABLE
from handrail.telegram.model import User
from handrail.testing import simulated as sim
from handrail.testing.telegram import Message
from tests.telegram.bridge.support import World, eventually, said, world

pytestmark = pytest.mark.slow

PICTURE = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d49444154789c6360606060000000050001"
    "a5f645400000000049454e44ae426082"
)


async def test_the_menu_and_every_command_without_arguments(tmp_path: Path) -> None:
    async with world(tmp_path) as here, here.bridged():
        await here.say("hello")
        await here.hears("You said hello.")
        assert _menu(here) == [{"command": command.name, "description": command.words} for command in TABLE]
        quiet = {"claude", "file", "stop", "new"}
        for command in TABLE:
            if command.name not in quiet:
                asked = await here.say(f"/{command.name}")
                await eventually(partial(_is_answered, here, asked))
        assert not [call for call in here.telegram.calls if call.status >= 400]
        assert all("Traceback" not in message.text for message in here.chat.bot_messages)


async def test_a_topic_has_a_project_and_a_session_of_its_own(tmp_path: Path) -> None:
    people = (User(1001, "Ann", "owner"), User(1002, "Bob", "viewer"))
    async with world(tmp_path, users=people, groups=(-100_1,)) as here:
        bob = here.telegram.user(id=1002, first_name="Bob")
        group = here.telegram.group(id=-100_1, title="Team", members=[here.ann, bob], is_forum=True, bot_is_admin=True)
        build, web = group.topic("build"), group.topic("web")
        for name in ("build", "web"):
            (here.served.directory / name).mkdir()
        bot = here.telegram.bot.username
        async with here.bridged():
            for topic, name in ((build, "build"), (web, "web")):
                await topic.send(f"/project@{bot} {here.served.directory / name}", by=here.ann)
                await eventually(said(topic, "This topic works in"))
                await topic.send(f"@{bot} hello {name}", by=here.ann)
                await eventually(said(topic, f"You said hello {name}."))
            rows = await here.rows()
            assert {Path(row.cwd).name for row in rows} == {"build", "web"}

            await build.send(f"/sessions@{bot} all", by=bob)
            picker = await eventually(lambda: next((each for each in build.bot_messages if each.buttons), None))
            choice = next(button.text for row in picker.buttons for button in row if "hello web" in button.text)
            await picker.press(choice, by=bob)
            refused = await eventually(said(build, "needs the role approver"))
            assert refused.thread == picker.thread
            await picker.press(choice, by=here.ann)
            await eventually(said(build, "This chat goes on with hello web"))
            assert not any(each.buttons for each in build.bot_messages)
            await build.send("/new@other_bot hello", by=here.ann)
            await build.send(f"@{bot} and here", by=here.ann)
            await eventually(said(build, "You said and here."))
            assert len(await here.rows()) == 2


async def test_a_picture_under_a_command_comes_along(tmp_path: Path) -> None:
    async with world(tmp_path) as here, here.bridged():
        await here.chat.send_photo(PICTURE, caption="/new what is this?")
        await here.hears("You said")
        (row,) = await here.rows()
        view = await here.served.manager.session(row.id).view()
        (prompt,) = view.prompts.values()
        assert "what is this?" in prompt.text
        kinds = [block["type"] for block in prompt.content] if isinstance(prompt.content, list) else []
        assert "image" in kinds


async def test_what_waits_is_sent_when_claude_is_done(tmp_path: Path) -> None:
    asks = sim.turn(sim.tool("Bash", {"command": "make"}, output="built"), "Built.")
    async with world(tmp_path, asks, sim.loop_turns("You said $text.")) as here, here.bridged():
        await here.say("/queue after")
        await here.say("build")
        ask = await here.asked()
        await here.say("then test")
        await here.hears("Kept until Claude is done")
        await here.say("/queue")
        waiting = await here.hears("1. then test")
        assert [button.text for row in waiting.buttons for button in row][:2] == ["Send 1 now", "Take 1 back"]
        await ask.press("Allow", by=here.ann)
        await here.hears("You said then test.")


def _is_answered(here: World, asked: Message) -> bool:
    return here.chat.bot_messages[-1].id > asked.id


def _menu(here: World) -> list[dict[str, str]]:
    call = here.telegram.calls_of("setMyCommands")[0]
    found: list[dict[str, str]] = json.loads(call.params["commands"])
    return found

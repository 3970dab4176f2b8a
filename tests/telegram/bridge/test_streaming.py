"""What is shown while Claude works, what is let go of afterwards, and what is sent along."""

from __future__ import annotations

import asyncio
import base64
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from handrail.telegram.model import Place, User
from handrail.testing import simulated as sim
from tests.server.support import ASKS

from .support import World, eventually, world

pytestmark = pytest.mark.slow

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
)
SPEECH = " ".join(f"word{number}" for number in range(40))


async def test_what_is_being_written_is_streamed_as_a_draft_in_private(tmp_path: Path) -> None:
    async with world(tmp_path, sim.turn(sim.say(SPEECH, pause=0.05))) as here, here.bridged():
        await here.say("talk")
        await here.hears("word39")
        drafts = [draft.text for draft in here.chat.drafts]
        assert drafts
        assert all(SPEECH.startswith(draft) for draft in drafts)


async def test_without_drafts_the_progress_shows_what_is_being_written(tmp_path: Path) -> None:
    async with world(tmp_path, sim.turn(sim.say(SPEECH, pause=0.1))) as here, here.bridged():
        here.telegram.faults.fail("sendMessageDraft", 404, "Not Found: method not found", times=1000)
        await here.say("talk")
        working = await here.chat.wait(
            lambda _: next(
                (each for each in here.chat.bot_messages if "▸" in each.text and "word0" in each.text), None
            ),
            timeout=30,
        )
        await here.hears("word39")
        await eventually(lambda: here.chat.message(working.id) is None)


async def test_with_verbose_a_line_of_summary_stays(tmp_path: Path) -> None:
    works = sim.turn(sim.tool("Read", {"file_path": "a"}, output="x", ask=False), sim.sleep(0.5), "Found it.")
    async with world(tmp_path, works) as here, here.bridged():
        await here.say("/verbose on")
        await here.say("look")
        await here.hears("Found it.")
        await here.hears("✓ done · 1 call")


async def test_a_session_that_rests_is_followed_no_longer(echo: World) -> None:
    await echo.say("one")
    await echo.hears("You said one.")
    await eventually(lambda: not _followers())
    await echo.say("two")
    await echo.hears("You said two.")
    await eventually(lambda: not _followers())


def _followers() -> list[str]:
    return [task.get_name() for task in asyncio.all_tasks() if task.get_name().startswith("telegram follows")]


async def test_a_picture_and_its_caption_are_one_message_to_claude(echo: World) -> None:
    await echo.chat.send_photo(PNG, caption="what is this?")
    await echo.hears("You said what is this?")
    (content,) = await _contents(echo)
    assert [block["type"] for block in content] == ["text", "image"]


async def test_an_album_is_one_message_to_claude(echo: World) -> None:
    await echo.chat.send_album([PNG, PNG, PNG], caption="compare these")
    await echo.hears("You said compare these")
    (content,) = await _contents(echo)
    assert [block["type"] for block in content] == ["text", "image", "image", "image"]


async def test_a_command_takes_along_the_whole_album_that_it_is_the_caption_of(echo: World) -> None:
    await echo.chat.send_album([PNG, PNG, PNG], caption="/new compare these")
    await echo.hears("You said compare these")
    (content,) = await _contents(echo)
    assert [block["type"] for block in content] == ["text", "image", "image", "image"]


async def _contents(here: World) -> list[Any]:
    (row,) = await here.rows()
    view = await here.served.manager.session(row.id).view()
    return [prompt.content for prompt in view.prompts.values()]


async def test_settings_change_while_it_runs(tmp_path: Path) -> None:
    async with world(tmp_path, *ASKS) as here, here.bridged() as bridge:
        await here.say("clean up")
        ask = await here.asked()
        assert bridge.take(replace(here.settings, users=(User(1002, "Ben", "owner"),)))
        toast = await ask.press("Allow", by=here.ann)
        assert "may not" in toast.text
        before = len(here.chat.bot_messages)
        (row,) = await here.rows()
        session = here.served.manager.session(row.id)
        await session.send("more")
        assert here.state is not None
        state = here.state
        await eventually(lambda: _is_unfollowed(state))
        assert len(here.chat.bot_messages) == before
        assert not bridge.take(replace(here.settings, token="2:other"))


async def _is_unfollowed(state: Any) -> bool:
    return not await state.read(lambda tables: tables.follows(place=Place(1001)))

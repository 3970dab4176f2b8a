"""Who may use the bridge, and where: strangers are ignored, groups must call it, topics are places of their own."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from handrail.telegram.bridge import Bridge
from handrail.telegram.model import Content, Place, User, WantedMessage
from handrail.telegram.text.rich import plain
from handrail.testing import simulated as sim
from handrail.testing.telegram import Chat
from handrail.testing.telegram import User as Person
from tests.server.support import ASKS

from .support import PATIENCE, World, eventually, said, world

pytestmark = pytest.mark.slow

GROUP = -1001234
USERS = (User(1001, "Ann", "owner"), User(1002, "Ben", "approver"), User(1003, "Cyd", "viewer"))


@pytest.fixture
async def team(tmp_path: Path) -> AsyncIterator[World]:
    async with world(tmp_path, users=USERS, groups=(GROUP,)) as here, here.bridged():
        yield here


def ben_of(here: World) -> Person:
    return here.telegram.user(id=1002, first_name="Ben")


def group_of(here: World, *others: Person, **how: bool) -> Chat:
    return here.telegram.group(id=GROUP, title="Team", members=[here.ann, *others], bot_is_admin=True, **how)


async def hears(chat: Chat, text: str) -> None:
    await chat.wait(said(chat, text), timeout=PATIENCE)


async def test_a_stranger_gets_no_answer_and_is_logged_once(team: World, caplog: pytest.LogCaptureFixture) -> None:
    stranger = team.telegram.user(id=666, first_name="Mallory")
    chat = stranger.private_chat()
    with caplog.at_level(logging.WARNING, "handrail.telegram"):
        await chat.send("hello")
        await chat.send("hello?")
        await team.say("hello")
        await team.hears("You said hello.")
    assert not chat.bot_messages
    assert len(await team.rows()) == 1
    assert [record.message for record in caplog.records if "Mallory" in record.message] == [
        "ignored a message of 'Mallory' (Telegram id 666), who is not in [[telegram.users]]"
    ]


async def test_a_stranger_cannot_press_a_button(tmp_path: Path) -> None:
    async with world(tmp_path, *ASKS, users=USERS, groups=(GROUP,)) as here, here.bridged():
        stranger = here.telegram.user(id=666, first_name="Mallory")
        group = group_of(here, stranger)
        await group.send(f"@{here.telegram.bot.username} clean up", by=here.ann)
        ask = await group.wait(lambda _: next((each for each in group.bot_messages if each.buttons), None), PATIENCE)
        toast = await ask.press("Allow", by=stranger)
        assert "may not" in toast.text
        assert ask.buttons
        await ask.press("Allow", by=here.ann)
        await hears(group, "All clean.")


async def test_a_viewer_may_not_start_a_session_and_hears_so(team: World) -> None:
    chat = team.telegram.user(id=1003, first_name="Cyd").private_chat()
    await chat.send("hello")
    await chat.wait(lambda _: chat.bot_messages or None, timeout=PATIENCE)
    assert not await team.rows()


async def test_each_person_acts_in_their_own_name(tmp_path: Path) -> None:
    async with world(tmp_path, *ASKS, users=USERS, groups=(GROUP,)) as here, here.bridged():
        ben = ben_of(here)
        group = group_of(here, ben)
        await group.send(f"@{here.telegram.bot.username} clean up", by=here.ann)
        ask = await group.wait(lambda _: next((each for each in group.bot_messages if each.buttons), None), PATIENCE)
        await ask.press("Allow", by=ben)
        await hears(group, "Allowed by Ben")


async def test_in_a_group_only_what_calls_the_bot_is_for_it(team: World) -> None:
    group = group_of(team)
    name = team.telegram.bot.username
    await group.send("lunch?", by=team.ann)
    await group.send("/new", by=team.ann)
    await group.send(f"@{name}, what is for lunch?", by=team.ann)
    await hears(group, "You said what is for lunch?.")
    answer = next(message for message in group.bot_messages if "You said" in message.text)
    await group.send("and for dinner?", by=team.ann, reply_to=answer)
    await hears(group, "You said and for dinner?.")
    await group.send(f"/status@{name}", by=team.ann)
    await eventually(lambda: len(group.bot_messages) > 2)
    assert await team.prompts() == ["what is for lunch?", "and for dinner?"]


async def test_a_group_that_was_not_named_is_told_so(tmp_path: Path) -> None:
    async with world(tmp_path, users=USERS) as here, here.bridged():
        group = group_of(here)
        await group.send(f"@{here.telegram.bot.username} hello", by=here.ann)
        await hears(group, f"add {GROUP} to groups")
        assert not await here.rows()


async def test_who_is_let_in_no_longer_hears_nothing_more(tmp_path: Path) -> None:
    both = (USERS[0], User(1002, "Ben", "owner"))
    async with world(tmp_path, *ASKS, users=both) as here, here.bridged() as bridge:
        ben = ben_of(here).private_chat()
        await here.say("clean up")
        ask = await here.asked()
        theirs = await ben.wait(lambda _: next((each for each in ben.bot_messages if each.buttons), None), PATIENCE)
        before = (theirs.text, theirs.edits)
        assert bridge.take(replace(here.settings, users=both[:1]))
        assert here.state is not None
        await here.state.write(lambda tables: tables.want(waiting_for(ben, "a file, say")))
        await ask.press("Allow", by=here.ann)
        await here.hears("All clean.")
        await eventually(lambda: _nothing_waits(bridge))
        assert (theirs.text, theirs.edits) == before
        assert ben.bot_messages == [theirs]


async def test_what_waited_for_somebody_is_not_sent_once_they_are_let_in_no_longer(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        ben = ben_of(here).private_chat()
        async with here.opened() as (_, state):
            await state.write(lambda tables: tables.want(waiting_for(ben, "the answer")))
        async with here.bridged() as bridge:
            await here.say("hello")
            await here.hears("You said hello.")
            await eventually(lambda: _nothing_waits(bridge))
        assert not ben.bot_messages


async def test_topics_are_places_of_their_own(team: World) -> None:
    group = group_of(team, is_forum=True)
    name = team.telegram.bot.username
    build, docs = group.topic("build"), group.topic("docs")
    await build.send(f"@{name} one", by=team.ann)
    await docs.send(f"@{name} two", by=team.ann)
    await build.wait(lambda _: build.bot_messages or None, timeout=PATIENCE)
    await eventually(lambda: any("You said one." in each.text for each in build.bot_messages))
    await eventually(lambda: any("You said two." in each.text for each in docs.bot_messages))
    await build.send(f"@{name} three", by=team.ann)
    await eventually(lambda: any("You said three." in each.text for each in build.bot_messages))
    assert len(await team.rows()) == 2


async def test_a_place_that_is_left_still_gets_the_answer(tmp_path: Path) -> None:
    slow = sim.turn(sim.sleep(1.0), "First is done.")
    async with world(tmp_path, slow) as here, here.bridged():
        await here.say("begin")
        await here.hears("▸")
        await here.say("/new")
        answer = await here.hears("First is done.")
        assert answer.text.startswith("begin")
        (row,) = await here.rows()
        await eventually(lambda: _follows_nothing(here))
        assert row.id


async def _follows_nothing(here: World) -> bool:
    assert here.state is not None
    return not await here.state.read(lambda tables: tables.follows())


def waiting_for(chat: Chat, words: str) -> WantedMessage:
    return WantedMessage(key=f"m:{words}", place=Place(chat.id), content=Content(plain(words)))


async def _nothing_waits(bridge: Bridge) -> bool:
    return not await bridge.backlog()

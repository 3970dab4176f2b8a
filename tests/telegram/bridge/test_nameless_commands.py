"""Commands in groups that name no bot: taken where this bot is at work, and left to others everywhere else."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from handrail.telegram.model import Place, User
from handrail.telegram.state import Chat as KnownChat
from handrail.testing.telegram import Chat, Topic

from .support import PATIENCE, World, eventually, world

pytestmark = pytest.mark.slow

GROUP, ELSEWHERE = -1001234, -1005678
USERS = (User(1001, "Ann", "owner"), User(1003, "Cyd", "viewer"))


@pytest.fixture
async def team(tmp_path: Path) -> AsyncIterator[World]:
    async with world(tmp_path, users=USERS, groups=(GROUP,)) as here, here.bridged():
        yield here


def forum_of(here: World, id: int = GROUP, *, bot_is_admin: bool = True) -> Chat:
    return here.telegram.group(id=id, title="Team", members=[here.ann], is_forum=True, bot_is_admin=bot_is_admin)


async def hears(chat: Chat | Topic, text: str) -> None:
    await chat.wait(lambda _: next((each for each in chat.bot_messages if text in each.text), None), timeout=PATIENCE)


async def work_in(here: World, topic: Topic) -> None:
    """Have the bot work in a topic."""
    (here.served.directory / topic.name).mkdir()
    directory = here.served.directory / topic.name
    await topic.send(f"/project@{here.telegram.bot.username} {directory}", by=here.ann)
    await hears(topic, "This topic works in")


async def has_handled_all(here: World) -> None:
    """Once nothing waits at Telegram, and nothing that was kept is undone."""

    async def is_done() -> bool:
        assert here.state is not None
        return here.telegram.pending_updates == 0 and not await here.state.read(lambda tables: tables.undone())

    await eventually(is_done)


async def test_a_command_is_taken_in_a_topic_that_has_a_project_and_in_no_other(team: World) -> None:
    forum = forum_of(team)
    build, games = forum.topic("build"), forum.topic("games")
    await work_in(team, build)
    await games.send("/status", by=team.ann)
    await forum.send("/status", by=team.ann)
    await build.send("/status", by=team.ann)
    await hears(build, "No session")
    await has_handled_all(team)
    assert not games.bot_messages
    assert {message.thread for message in forum.bot_messages} == {build.id}


async def test_where_a_session_was_it_is_still_heard_after_new(team: World) -> None:
    build = forum_of(team).topic("build")
    await build.send(f"@{team.telegram.bot.username} hello", by=team.ann)
    await hears(build, "You said hello.")
    await build.send("/new", by=team.ann)
    await hears(build, "next message")
    await build.send("/verbose on", by=team.ann)
    await has_handled_all(team)
    assert team.state is not None
    chat: KnownChat = await team.state.read(lambda tables: tables.chat(Place(GROUP, build.id)))
    assert (chat.session_id, chat.prefs.verbose) == ("", True)


async def test_what_is_for_others_is_left_to_them(team: World) -> None:
    build = forum_of(team).topic("build")
    await work_in(team, build)
    other = team.telegram.other_bot(id=99, first_name="Other", username="other_bot")
    theirs = await build.send("Shall I go on?", by=other)
    before = len(build.bot_messages)
    for text in ("/status@other_bot", "/weather", "/statuses", "see /status", "//status"):
        await build.send(text, by=team.ann)
    await build.send("/stop", by=team.ann, reply_to=theirs)
    await build.send("/status", by=team.telegram.user(id=666, first_name="Mallory"))
    await has_handled_all(team)
    assert len(build.bot_messages) == before
    assert not await team.rows()


async def test_who_may_not_hears_so(team: World) -> None:
    build = forum_of(team).topic("build")
    await work_in(team, build)
    await build.send("/new", by=team.telegram.user(id=1003, first_name="Cyd"))
    await hears(build, "needs the role owner")


async def test_a_group_that_was_not_named_gets_no_answer(team: World) -> None:
    group = forum_of(team, ELSEWHERE)
    await group.send("/status", by=team.ann)
    await has_handled_all(team)
    assert not group.bot_messages


async def test_in_privacy_mode_it_is_heard_once_this_bot_wrote_last(team: World) -> None:
    build = forum_of(team, bot_is_admin=False).topic("build")
    await work_in(team, build)
    await build.send("/status", by=team.ann)
    await hears(build, "No session")

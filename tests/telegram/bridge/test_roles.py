"""What people may do in chats is what their role allows, whatever way they take to it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from glob import glob
from pathlib import Path

import pytest

from handrail.telegram.model import Place, User
from handrail.telegram.state import Chat as ChatRecord
from handrail.telegram.state import Prefs
from handrail.testing import TelegramServer
from handrail.testing.telegram import Chat, Message
from handrail.testing.telegram import User as Person

from .support import PATIENCE, World, said, world

pytestmark = pytest.mark.slow

GROUP = -1001234
USERS = (User(1001, "Ann", "owner"), User(1002, "Ben", "approver"), User(1003, "Cyd", "viewer"))


@pytest.fixture
async def team(tmp_path: Path) -> AsyncIterator[World]:
    async with world(tmp_path, users=USERS, groups=(GROUP,)) as here, here.bridged():
        yield here


def person(telegram: TelegramServer, user: User) -> Person:
    return telegram.user(id=user.id, first_name=user.name)


def group_of(here: World) -> Chat:
    members = [here.ann, *(person(here.telegram, user) for user in USERS[1:])]
    return here.telegram.group(id=GROUP, title="Team", members=members, bot_is_admin=True)


async def told(here: World, group: Chat, text: str, user: User) -> None:
    """Somebody says something to the bot in the group, and gets an answer to it."""
    await answered(group, await group.send(f"@{here.telegram.bot.username} {text}", by=person(here.telegram, user)))


async def answered(group: Chat, message: Message) -> None:
    await group.wait(lambda _: any(each.reply_to == message for each in group.bot_messages) or None, timeout=PATIENCE)


async def chat_of(here: World) -> ChatRecord:
    assert here.state is not None
    return await here.state.read(lambda tables: tables.chat(Place(GROUP)))


async def prefers(here: World, mode: str) -> None:
    """What an owner chose for the group."""
    assert here.state is not None
    chat = ChatRecord(place=Place(GROUP), prefs=Prefs(mode=mode))
    await here.state.write(lambda tables: tables.set_chat(chat))


async def begun(here: World, group: Chat) -> str:
    """Ann's session in the group, which is done and has ended."""
    await group.send(f"@{here.telegram.bot.username} one", by=here.ann)
    await group.wait(said(group, "You said one."), timeout=PATIENCE)
    (row,) = await here.rows()
    await here.served.manager.session(row.id).stop()
    return row.id


async def test_a_viewer_cannot_have_a_session_resumed_as_the_chat_prefers(team: World) -> None:
    group = group_of(team)
    session_id = await begun(team, group)
    await told(team, group, "/mode plan", USERS[0])
    await told(team, group, "hello", USERS[2])
    assert not await team.served.manager.session(session_id).is_live()
    assert await team.prompts() == ["one"]


async def test_a_viewer_cannot_put_a_file_into_the_project(team: World) -> None:
    group = group_of(team)
    await begun(team, group)
    caption = f"@{team.telegram.bot.username} look"
    sent = await group.send_document(
        bytes(range(256)) * 400,
        "tool.bin",
        "application/octet-stream",
        caption=caption,
        by=person(team.telegram, USERS[2]),
    )
    await answered(group, sent)
    assert not glob(f"{team.settings.cwd}/**/*tool.bin", recursive=True, include_hidden=True)


@pytest.mark.parametrize("user", USERS[1:])
async def test_only_an_owner_has_a_chat_work_on_another_branch(team: World, user: User) -> None:
    group = group_of(team)
    session_id = await begun(team, group)
    await told(team, group, "@other-branch do it", user)
    chat = await chat_of(team)
    assert (chat.session_id, chat.worktree) == (session_id, "")


async def test_an_approver_cannot_continue_on_another_branch(team: World) -> None:
    group = group_of(team)
    session_id = await begun(team, group)
    await told(team, group, "/continue @other-branch", USERS[1])
    chat = await chat_of(team)
    assert (chat.session_id, chat.worktree) == (session_id, "")


async def test_what_an_owner_prefers_for_a_chat_is_not_put_on_sessions_that_others_bring_there(team: World) -> None:
    """An approver may go on with any session, and not change in which mode it runs."""
    group = group_of(team)
    await team.say("private")
    await team.hears("You said private.")
    (row,) = await team.rows()
    await team.served.manager.session(row.id).stop()
    await prefers(team, mode="acceptEdits")
    for text in (f"two\nclaude --resume {row.id}", "three"):
        await told(team, group, text, USERS[1])
        await group.wait(said(group, f"You said {text.partition(chr(10))[0]}."), timeout=PATIENCE)
        session = team.served.manager.session(row.id)
        assert (await session.view()).mode != "acceptEdits"
        await session.stop()


async def test_an_approver_goes_on_with_a_session_that_has_ended(team: World) -> None:
    group = group_of(team)
    await begun(team, group)
    await group.send(f"@{team.telegram.bot.username} two", by=person(team.telegram, USERS[1]))
    await group.wait(said(group, "You said two."), timeout=PATIENCE)


async def test_an_approver_without_a_session_is_told_how_to_come_to_one(tmp_path: Path) -> None:
    async with world(tmp_path, users=USERS, cwd="") as here, here.bridged():
        chat = person(here.telegram, USERS[1]).private_chat()
        await chat.send("hello")
        refused = await chat.wait_for_text("Starting a session needs the role owner: you are an approver.")
        assert "/sessions" in refused.text
        await chat.send("/start")
        assert "/project" not in (await chat.wait_for_text("Hello Ben.")).text

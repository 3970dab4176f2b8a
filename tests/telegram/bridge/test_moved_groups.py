"""A group that becomes a supergroup has another number, and is the same group all the same."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from handrail.protocol.asks import Allow
from handrail.telegram.commands.context import CommandContext
from handrail.telegram.commands.desk import Commands
from handrail.telegram.commands.parsing import CommandLine
from handrail.telegram.model import Place
from handrail.testing.telegram import Chat, Message
from tests.server.support import ASKS

from .support import ECHO, PATIENCE, World, eventually, said, world

pytestmark = pytest.mark.slow

OLD = -4001234
NEW = -1009876


def group_of(here: World) -> Chat:
    return here.telegram.group(id=OLD, title="Team", members=[here.ann], bot_is_admin=True)


async def asked_in(chat: Chat) -> Message:
    return await chat.wait(lambda _: next((each for each in chat.bot_messages if each.buttons), None), PATIENCE)


async def moved_while_asked(here: World) -> Chat:
    """A group that got another number while something was asked there."""
    group = group_of(here)
    await group.send(f"@{here.telegram.bot.username} clean up", by=here.ann)
    await asked_in(group)
    return group.upgrade(NEW)


async def test_what_waits_for_a_person_is_asked_again_and_can_be_answered_there(tmp_path: Path) -> None:
    async with world(tmp_path, *ASKS, groups=(OLD,)) as here, here.bridged():
        moved = await moved_while_asked(here)
        ask = await asked_in(moved)
        assert (await ask.press("Allow", by=here.ann)).text == "Approved"
        await moved.wait(said(moved, "Allowed by Ann"), timeout=PATIENCE)
        await moved.wait(said(moved, "All clean."), timeout=PATIENCE)
        await moved.wait(said(moved, f"put {NEW} in the place of {OLD}"), timeout=PATIENCE)
        assert not any(message.buttons for message in moved.bot_messages)


async def test_an_ask_that_is_answered_elsewhere_is_closed_there(tmp_path: Path) -> None:
    async with world(tmp_path, *ASKS, groups=(OLD,)) as here, here.bridged():
        moved = await moved_while_asked(here)
        ask = await asked_in(moved)
        (row,) = await here.rows()
        session = here.served.manager.session(row.id)
        (pending,) = await session.asks(("pending",))
        await session.decide(pending.id, Allow(), digest=pending.digest)
        await eventually(lambda: not ask.buttons)
        assert len([each for each in moved.bot_messages if "Allowed" in each.text]) == 1


async def test_the_chat_goes_on_with_its_session_also_after_a_restart(tmp_path: Path) -> None:
    async with world(tmp_path, *ECHO, groups=(OLD,)) as here:
        name = here.telegram.bot.username
        async with here.bridged():
            group = group_of(here)
            await group.send(f"@{name} one", by=here.ann)
            await group.wait(said(group, "You said one."), timeout=PATIENCE)
            moved = group.upgrade(NEW)
            await moved.send(f"@{name} two", by=here.ann)
            await moved.wait(said(moved, "You said two."), timeout=PATIENCE)
        async with here.bridged():
            await moved.send(f"@{name} three", by=here.ann)
            await moved.wait(said(moved, "You said three."), timeout=PATIENCE)
            assert here.state is not None
            chat = await here.state.read(lambda tables: tables.chat(Place(NEW)))
        (row,) = await here.rows()
        assert (chat.place, chat.session_id) == (Place(NEW), row.id)


async def test_what_is_written_there_need_not_wait_for_what_was_written_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_go_on = asyncio.Event()
    run = Commands.run

    async def held_up(self: Commands, context: CommandContext, line: CommandLine) -> None:
        if line.name == "help":
            await may_go_on.wait()
        await run(self, context, line)

    monkeypatch.setattr(Commands, "run", held_up)
    async with world(tmp_path, *ECHO, groups=(OLD,)) as here, here.bridged():
        name = here.telegram.bot.username
        group = group_of(here)
        await group.send(f"/help@{name}", by=here.ann)
        moved = group.upgrade(NEW)
        await moved.send(f"@{name} one", by=here.ann)
        await moved.wait(said(moved, "You said one."), timeout=PATIENCE)
        may_go_on.set()
        await moved.wait(said(moved, "/sessions"), timeout=PATIENCE)
        assert sum(f"put {NEW}" in message.text for message in moved.bot_messages) == 1
        assert not any("do not work" in message.text for message in moved.bot_messages)


async def test_who_named_both_numbers_need_not_change_anything(tmp_path: Path) -> None:
    async with world(tmp_path, *ECHO, groups=(OLD, NEW)) as here, here.bridged():
        moved = group_of(here).upgrade(NEW)
        await moved.send(f"@{here.telegram.bot.username} one", by=here.ann)
        await moved.wait(said(moved, "You said one."), timeout=PATIENCE)
        assert not said(moved, "supergroup")()


async def test_a_group_that_was_never_named_stays_a_stranger_under_another_number(tmp_path: Path) -> None:
    async with world(tmp_path, *ECHO) as here, here.bridged():
        moved = group_of(here).upgrade(NEW)
        await moved.send(f"@{here.telegram.bot.username} one", by=here.ann)
        await moved.wait(said(moved, f"add {NEW} to groups"), timeout=PATIENCE)
        assert not await here.rows()

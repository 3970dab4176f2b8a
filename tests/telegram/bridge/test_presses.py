"""Buttons do what was said of them, or that is taken back in words; and nothing where the bridge does not work."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from handrail.telegram.asks.desk import AskDesk
from handrail.telegram.model import Content, Place, WantedMessage
from handrail.telegram.text.rich import plain
from tests.server.support import ASKS

from .support import PATIENCE, World, eventually, world

pytestmark = pytest.mark.slow

GROUP = -1001234


async def test_of_two_presses_in_a_row_the_second_is_taken_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_go_on = asyncio.Event()
    carry_out = AskDesk.carry_out

    async def held_up(*given: Any) -> None:
        await may_go_on.wait()
        await carry_out(*given)

    monkeypatch.setattr(AskDesk, "carry_out", held_up)
    async with world(tmp_path, *ASKS) as here, here.bridged():
        await here.say("clean up")
        ask = await here.asked()
        assert (await ask.press("Allow", by=here.ann)).text == "Approved"
        assert (await ask.press("Deny", by=here.ann)).text == "Denied"
        may_go_on.set()
        await here.hears("Allowed by Ann")
        await here.hears("Your answer was not taken.")


async def test_buttons_in_a_group_that_is_served_no_more_do_nothing(tmp_path: Path) -> None:
    async with world(tmp_path, *ASKS, groups=(GROUP,)) as here, here.bridged() as bridge:
        group = here.telegram.group(id=GROUP, title="Team", members=[here.ann], bot_is_admin=True)
        await group.send(f"@{here.telegram.bot.username} clean up", by=here.ann)
        ask = await group.wait(lambda _: next((each for each in group.bot_messages if each.buttons), None), PATIENCE)
        assert bridge.take(replace(here.settings, groups=()))
        assert "too old" in (await ask.press("Allow", by=here.ann)).text
        (row,) = await here.rows()
        assert len(await here.served.manager.session(row.id).asks(("pending",))) == 1


@pytest.mark.parametrize("how", ["unblocked", "pressed"])
async def test_a_chat_that_took_nothing_is_written_to_again(tmp_path: Path, how: str) -> None:
    async with world(tmp_path, *ASKS) as here, here.bridged():
        await here.say("clean up")
        ask = await here.asked()
        here.ann.block()
        news = WantedMessage(key="news", place=Place(here.ann.id), content=Content(plain("There is news.")))
        assert here.state is not None
        await here.state.write(lambda tables: tables.want(news))
        await eventually(lambda: _rests(here))
        if how == "unblocked":
            here.ann.unblock()
        else:
            here.ann.has_blocked = False  # as where the bot may write again, and nobody says so
            await ask.press("Show all", by=here.ann)
        await here.chat.wait_for_text("There is news.")


async def _rests(here: World) -> bool:
    assert here.state is not None
    return bool(await here.state.read(lambda tables: tables.resting()))

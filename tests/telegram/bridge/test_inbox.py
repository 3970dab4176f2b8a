"""What other sessions ask comes to those who want to know, and goes away once it is answered."""

from __future__ import annotations

from pathlib import Path

import pytest

from handrail.protocol.asks import Allow
from handrail.sessions.session import Session
from handrail.telegram.model import User
from tests.server.support import ASKS

from .support import World, eventually, world

pytestmark = pytest.mark.slow

BEN = User(1002, "Ben", "approver")


async def asking(here: World) -> Session:
    """A session that somebody else started, and that asks."""
    session = await here.served.session(*ASKS)
    await session.send("clean up")
    await here.served.asked(session)
    return session


async def test_an_owner_gets_the_asks_of_every_session_and_can_answer_them(tmp_path: Path) -> None:
    async with world(tmp_path) as here, here.bridged():
        session = await asking(here)
        ask = await here.asked()
        assert not ask.silent
        await ask.press("Allow", by=here.ann)
        await here.hears("Allowed by Ann")
        await eventually(lambda: _is_idle(session))
        assert not here.count("All clean.")


async def test_an_ask_that_is_answered_elsewhere_loses_its_buttons(tmp_path: Path) -> None:
    async with world(tmp_path) as here, here.bridged():
        session = await asking(here)
        await here.asked()
        (row,) = await session.asks()
        await session.decide(row.id, Allow(), digest=row.digest)
        await eventually(lambda: not any(message.buttons for message in here.chat.bot_messages))
        await eventually(lambda: _follows_nothing(here))


async def test_what_waited_before_the_bridge_came_is_asked(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        await asking(here)
        async with here.bridged():
            await here.asked()


async def test_who_does_not_want_to_know_is_not_told(tmp_path: Path) -> None:
    async with world(tmp_path, users=(User(1001, "Ann", "owner"), BEN)) as here, here.bridged():
        ben = here.telegram.user(id=1002, first_name="Ben").private_chat()
        await here.say("/inbox off")
        await eventually(lambda: here.chat.bot_messages)
        await ben.send("/inbox on")
        await eventually(lambda: ben.bot_messages)
        await asking(here)
        await eventually(lambda: any(message.buttons and "rm -rf" in message.text for message in ben.bot_messages))
        assert not any("rm -rf" in message.text for message in here.chat.bot_messages)


async def test_what_a_session_does_that_is_watched_is_shown(tmp_path: Path) -> None:
    async with world(tmp_path) as here, here.bridged():
        session = await asking(here)
        ask = await here.asked()
        await here.say(f"/watch {session.id[:8]}")
        await eventually(lambda: _is_followed(here, session))
        await ask.press("Allow", by=here.ann)
        await here.hears("All clean.")


async def _is_followed(here: World, session: Session) -> bool:
    assert here.state is not None
    follows = await here.state.read(lambda tables: tables.follows(session.id))
    return any(follow.mode == "all" for follow in follows)


async def _is_idle(session: Session) -> bool:
    return (await session.row()).status == "idle"


async def _follows_nothing(here: World) -> bool:
    assert here.state is not None
    return not await here.state.read(lambda tables: tables.follows())

"""Telegram fails in every way that it can, again and again, while somebody talks to Claude."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from handrail.telegram.state import BridgeState
from handrail.testing import TelegramServer
from tests.telegram.bridge.support import eventually

from .chain import chain
from .checks import at_rest, check_database, check_decisions, check_journals, check_prompts, remove_copies
from .person import Presser
from .talks import SCRIPT, Talk

pytestmark = pytest.mark.slow

GATEWAY = "Bad Gateway"
FLOOD = "Too Many Requests: retry after 1"
TAKEN = "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running"
WRITES = ("sendMessage", "editMessageText", "deleteMessage", "sendDocument")
TROUBLES = 24


def _storms(server: TelegramServer, dice: random.Random) -> list[Callable[[], None]]:
    faults, method = server.faults, dice.choice(WRITES)
    return [
        lambda: faults.drop_connections(dice.randint(1, 4)),
        lambda: faults.drop_connections(2, methods=["answerCallbackQuery", "getFile", "file"]),
        lambda: faults.accept_then_drop(method),
        lambda: faults.accept_then_drop("answerCallbackQuery"),
        lambda: faults.accept_then_drop("getUpdates"),
        lambda: faults.fail(method, 429, FLOOD, dice.randint(1, 3), retry_after=1),
        lambda: faults.fail("getUpdates", 429, FLOOD, retry_after=1),
        lambda: faults.fail(method, 502, GATEWAY, dice.randint(1, 3)),
        lambda: faults.fail("getUpdates", 502, GATEWAY, dice.randint(1, 2)),
        lambda: faults.fail("getFile", 502, GATEWAY),
        lambda: faults.delay(method, dice.uniform(0.1, 1.0), dice.randint(1, 3)),
        lambda: faults.repeat_updates(dice.randint(1, 3)),
    ]


async def _trouble(server: TelegramServer, dice: random.Random) -> None:
    """One of them, for as long as a few calls take: who fails again and again is asked later and later."""
    server.faults.clear()
    dice.choice(_storms(server, dice))()
    calls = len(server.calls)
    await eventually(lambda: len(server.calls) > calls + 2)


async def test_telegram_fails_in_every_way(tmp_path: Path) -> None:
    async with chain(tmp_path, *SCRIPT) as here, here.hub() as hub:
        here.start_bridge()
        await here.bridge_polls()
        talk, presser = Talk(here), Presser(here.chat, here.ann, here.database)
        troubles = 0
        async with presser.at_work():
            talking = asyncio.create_task(talk.go_on_until(lambda: troubles >= TROUBLES))
            dice = random.Random(3)
            while troubles < TROUBLES and not talking.done():
                await _trouble(here.telegram, dice)
                troubles += 1
            here.telegram.faults.clear()
            await talking
            await at_rest(here, hub)
        copies = await remove_copies(here, presser)
        copies += sum(talk.answers(word) - 1 for word in talk.said)
        assert all(talk.answers(word) for word in talk.said)
        assert set(talk.sent_back()) == set(talk.files)
        assert copies <= troubles
        await check_prompts(hub, talk)
        await check_journals(hub)
        await check_decisions(hub, presser)
    check_database(here.database)
    assert "it ended by itself" not in here.logged


async def test_updates_that_come_out_of_order_are_all_acknowledged(tmp_path: Path) -> None:
    """Otherwise the last of them would come again at once, for ever."""
    async with BridgeState(str(tmp_path / "telegram.db")) as state:
        await state.write(lambda tables: tables.keep([(9, b"{}"), (7, b"{}"), (8, b"{}"), (7, b"{}")]))
        assert await state.read(lambda tables: tables.offset()) == 10


async def test_another_program_takes_the_updates_for_a_while(tmp_path: Path) -> None:
    """It waits and says so, and goes on by itself when the other one is gone."""
    async with chain(tmp_path, *SCRIPT) as here, here.hub() as hub:
        here.telegram.faults.fail("getUpdates", 409, TAKEN)
        here.start_bridge()
        talk, presser = Talk(here), Presser(here.chat, here.ann, here.database)
        async with presser.at_work():
            await talk.say("job00")
            await eventually(lambda: "another program asks for them with the same token" in here.logged)
            await eventually(lambda: talk.answers("job00"))
            await at_rest(here, hub)
        await check_prompts(hub, talk)

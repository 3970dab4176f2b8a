"""Telegram or the hub is away for a while, or says things twice: all of it is taken up again, once."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from handrail.testing import simulated as sim
from handrail.testing.simulated import SimulatedCLI
from tests.remote.support import Wire
from tests.server.support import served_hub

from .support import World, world

pytestmark = pytest.mark.slow


async def test_a_hundred_messages_at_once_are_each_handled_once_and_in_order(echo: World) -> None:
    sent = [f"message {number}" for number in range(100)]
    for text in sent:
        await echo.say(text)
    await echo.hears("You said message 99.")
    assert await echo.prompts() == sent
    assert len(await echo.rows()) == 1


async def test_an_update_that_comes_twice_is_handled_once(echo: World) -> None:
    echo.telegram.faults.repeat_updates(3)
    await echo.say("one")
    await echo.hears("You said one.")
    await echo.say("two")
    await echo.hears("You said two.")
    assert await echo.prompts() == ["one", "two"]


async def test_telegram_is_away_for_a_while(echo: World) -> None:
    await echo.say("one")
    await echo.hears("You said one.")
    echo.telegram.faults.drop_connections(3)
    await echo.say("two")
    await echo.hears("You said two.")
    assert await echo.prompts() == ["one", "two"]
    assert echo.count("You said two.") == 1


async def test_a_message_whose_sending_was_not_answered_is_not_lost(echo: World) -> None:
    echo.telegram.faults.accept_then_drop("sendMessage")
    await echo.say("one")
    await echo.hears("You said one.")


async def test_the_hub_is_away_for_a_while(tmp_path: Path) -> None:
    async with Wire().laid() as wire, world(tmp_path, settings_of_hub=wire.settings) as here:
        wire.leads_to(here.served.url)
        here.hub_url = wire.url
        async with here.bridged():
            await here.say("one")
            await here.hears("You said one.")
            wire.cut()
            await here.say("two")
            await asyncio.sleep(0.5)  # for as long as somebody would notice
            wire.mend()
            await here.hears("You said two.")
            assert await here.prompts() == ["one", "two"]


async def test_a_message_waits_for_a_hub_that_is_away_for_long(tmp_path: Path) -> None:
    async with Wire().laid() as wire, world(tmp_path, settings_of_hub=wire.settings) as here:
        wire.leads_to(here.served.url)
        here.hub_url, here.hub_patience = wire.url, 0.2
        async with here.bridged():
            await here.say("one")
            await here.hears("You said one.")
            wire.cut()
            await here.say("two")
            await here.hears("The hub cannot be reached now.")
            wire.mend()
            await here.hears("You said two.")
        assert await here.prompts() == ["one", "two"]


async def test_the_hub_is_started_anew_in_the_middle_of_a_run(tmp_path: Path) -> None:
    """The session's process ends with the hub: its ask is lost, which is said, and an answer resumes it."""
    steps = (sim.turn(sim.tool("Bash", {"command": "make"}, output="done"), "Done."),)
    (tmp_path / "clis").mkdir()
    cli = SimulatedCLI(steps, directory=tmp_path / "clis")
    async with AsyncExitStack() as stack:
        wire = await stack.enter_async_context(Wire().laid())
        here = await stack.enter_async_context(world(tmp_path / "telegram"))
        async with served_hub(tmp_path / "hub", cli=cli, settings=wire.settings) as served:
            wire.leads_to(served.url)
            here.served, here.hub_url = served, wire.url
            here.settings = replace(here.settings, cwd=str(served.directory))
            await stack.enter_async_context(here.bridged())
            await here.say("begin")
            ask = await here.asked()
            wire.cut()
        async with served_hub(tmp_path / "hub", cli=cli, settings=wire.settings) as served:
            wire.leads_to(served.url)
            wire.mend()
            lost = await here.hears("The process ended")
            assert lost.id == ask.id
            await lost.press("Resume and allow exactly this once", by=here.ann)
            await here.hears("Done.")

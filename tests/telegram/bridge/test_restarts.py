"""The bridge is killed, or ended, at any moment: nothing is lost, and nothing is done twice."""

from __future__ import annotations

import asyncio
import random
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path

import msgspec
import pytest

from handrail.telegram.state import BridgeState
from handrail.testing import simulated as sim
from tests.server.support import ASKS

from .process import Told
from .support import PATIENCE, World, eventually, said, world

pytestmark = pytest.mark.slow

SOURCES = Path(__file__).parents[3]


@asynccontextmanager
async def in_a_process(here: World) -> AsyncIterator[asyncio.subprocess.Process]:
    """A bridge in a process of its own, which is killed in the end."""
    here.database.parent.mkdir(parents=True, exist_ok=True)
    told = Told(
        hub_url=here.served.url,
        hub_token=here.served.tokens["owner"],
        database=str(here.database),
        token=here.settings.token,
        api_url=here.settings.api_url,
        cwd=here.settings.cwd,
        users=list(here.settings.users),
    )
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.telegram.bridge.process"), stdin=asyncio.subprocess.PIPE, cwd=SOURCES
    )
    assert process.stdin is not None
    process.stdin.write(msgspec.json.encode(told))
    process.stdin.close()
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            process.send_signal(signal.SIGKILL)
        await process.wait()


async def _is_known(here: World, message_id: int) -> bool:
    """Whether the bridge knows of a message that Telegram took it: until then it may be sent again."""
    async with BridgeState(str(here.database)) as state:
        return await state.read(lambda tables: tables.message_at(here.ann.id, message_id)) is not None


async def test_killed_in_the_middle_of_a_run_it_goes_on_with_it(tmp_path: Path) -> None:
    steps = sim.turn("Let me see.", sim.tool("Read", {"file_path": "a"}, ask=False), sim.sleep(4.0), "Found it.")
    async with world(tmp_path, steps) as here:
        async with in_a_process(here):
            await here.say("look")
            progress = await here.hears("▸")
            await eventually(lambda: _is_known(here, progress.id))
        async with in_a_process(here):
            await here.hears("Found it.")
            await eventually(lambda: progress.id not in {message.id for message in here.chat.messages})
        assert here.count("Found it.") == 1
        assert await here.prompts() == ["look"]


async def test_killed_in_the_middle_of_an_ask_it_still_knows_the_buttons(tmp_path: Path) -> None:
    async with world(tmp_path, *ASKS) as here:
        async with in_a_process(here):
            await here.say("clean up")
            ask = await here.asked()
            await eventually(lambda: _is_known(here, ask.id))
        async with in_a_process(here):
            await ask.press("Allow", by=here.ann)
            await here.hears("All clean.")
            await eventually(lambda: said(here.chat, "Allowed by Ann")())
            await eventually(lambda: here.count("rm -rf build") == 1)  # what showed the progress goes
        assert here.count("All clean.") == 1


async def test_what_happened_while_no_bridge_ran_is_told_when_one_does(tmp_path: Path) -> None:
    async with world(tmp_path, *ASKS) as here:
        async with here.bridged():
            await here.say("clean up")
            ask = await here.asked()
        pressing = asyncio.create_task(ask.press("Allow", by=here.ann))
        await here.say("and this")
        async with here.bridged():
            await here.hears("All clean.")
            await here.hears("You said and this.")
            await pressing
        assert await here.prompts() == ["clean up", "and this"]


async def test_an_ask_that_was_answered_while_no_bridge_ran_loses_its_buttons(tmp_path: Path) -> None:
    from handrail.protocol.asks import Deny

    async with world(tmp_path, *ASKS) as here:
        async with here.bridged():
            await here.say("clean up")
            ask = await here.asked()
        (row,) = await here.rows()
        session = here.served.manager.session(row.id)
        (waiting,) = await session.asks()
        await session.decide(waiting.id, Deny("no"), digest=waiting.digest)
        async with here.bridged():
            await eventually(lambda: _has_no_buttons(here, ask.id))


def _has_no_buttons(here: World, message_id: int) -> bool:
    message = here.chat.message(message_id)
    return message is not None and not message.buttons


async def test_killed_again_and_again_it_loses_nothing_and_does_nothing_twice(tmp_path: Path) -> None:
    """Each message makes Claude ask; each ask is allowed; whatever dies in between, each is answered."""
    dice = random.Random(7)
    asks = sim.repeat(None, sim.turn(sim.tool("Bash", {"command": "make $text"}, output="ok"), "Done with $text."))
    words = [f"job{number}" for number in range(4)]
    async with world(tmp_path, asks) as here:
        pressing: set[asyncio.Task[object]] = set()
        working = asyncio.create_task(_work(here, words, pressing))
        while not working.done():
            begun = partial(_has_begun, here, len(here.telegram.calls_of("getUpdates")))
            async with in_a_process(here):
                await eventually(begun)
                with suppress(TimeoutError):
                    await asyncio.wait_for(asyncio.shield(working), dice.uniform(0.0, 1.5))
        await working
        async with in_a_process(here):
            await _press_what_is_left(here)
        for task in pressing:
            task.cancel()
        await asyncio.gather(*pressing, return_exceptions=True)
        assert sorted(await here.prompts()) == words
        (row,) = await here.rows()
        view = await here.served.manager.session(row.id).view()
        assert [ask.outcome for ask in view.closed_asks.values()] == ["decided"] * len(words)


async def _press_what_is_left(here: World) -> None:
    """A message that was sent twice, because nobody heard that it was taken, goes when its button is pressed."""
    async with asyncio.timeout(PATIENCE):
        while left := [message for message in here.chat.bot_messages if message.buttons]:
            with suppress(LookupError, TimeoutError):
                await left[0].press("Allow", by=here.ann)
            await asyncio.sleep(0.05)


def _has_begun(here: World, polls: int) -> bool:
    return len(here.telegram.calls_of("getUpdates")) > polls


async def _work(here: World, words: list[str], pressing: set[asyncio.Task[object]]) -> None:
    for word in words:
        await here.say(word)
        while not here.count(f"Done with {word}."):
            for message in here.chat.bot_messages:
                if message.buttons and not any(task.get_name() == str(message.id) for task in pressing):
                    pressing.add(asyncio.create_task(message.press("Allow", by=here.ann), name=str(message.id)))
            await asyncio.sleep(0.05)


async def test_a_clean_stop_keeps_what_was_wanted(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        async with here.bridged():
            here.telegram.faults.fail("sendMessage", 500, "Internal Server Error", times=1000)
            await here.say("hello")
            await eventually(lambda: _answered(here))
        here.telegram.faults.clear()
        async with here.bridged():
            await here.hears("You said hello.")
        assert here.count("You said hello.") == 1


async def _answered(here: World) -> bool:
    assert here.state is not None
    rows = await here.rows()
    kept = await here.state.read(lambda tables: tables.of_session(rows[0].id)) if rows else []
    return any(message.key.startswith("answer:") for message in kept)

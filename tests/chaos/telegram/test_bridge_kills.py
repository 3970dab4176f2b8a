"""The bridge is killed again and again while somebody talks to Claude: nothing is lost, nothing is decided twice."""

from __future__ import annotations

import asyncio
import random
from contextlib import suppress
from pathlib import Path

import pytest

from handrail.telegram.files.desk import FilesDesk
from handrail.telegram.files.outbox import outbox_of
from handrail.telegram.model import Place
from handrail.telegram.names import Names
from tests.telegram.bridge.support import eventually, world

from .chain import Chain, chain
from .checks import at_rest, check_database, check_decisions, check_journals, check_prompts, remove_copies
from .person import Presser
from .talks import SCRIPT, Talk

pytestmark = pytest.mark.slow

KILLS = 15


async def test_the_bridge_is_killed_again_and_again(tmp_path: Path) -> None:
    async with chain(tmp_path, *SCRIPT) as here, here.hub() as hub:
        talk, presser = Talk(here), Presser(here.chat, here.ann, here.database)
        async with presser.at_work():
            talking = asyncio.create_task(talk.go_on_until(lambda: here.kills >= KILLS))
            await _kill_while(talking, here, random.Random(1))
            here.start_bridge()
            await talking
            await at_rest(here, hub)
        copies = await remove_copies(here, presser)
        copies += sum(talk.answers(word) - 1 for word in talk.said)
        copies += len(talk.sent_back()) - len(talk.files)
        assert all(talk.answers(word) for word in talk.said)
        assert set(talk.sent_back()) == set(talk.files)
        assert copies <= here.kills  # each may have fallen between the taking of a message and the knowing of it
        await check_prompts(hub, talk)
        await check_journals(hub)
        await check_decisions(hub, presser)
    check_database(here.database)
    assert "it ended by itself" not in here.logged


async def test_files_of_a_run_come_if_the_bridge_dies_behind_its_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answer is on its way and the cursor stands behind the run: the files must not be forgotten with that."""
    async with world(tmp_path) as here:
        outbox = here.served.directory / outbox_of(Names(here.telegram.bot.id).session(Place(here.chat.id), 1))
        outbox.mkdir(parents=True)
        (outbox / "report.md").write_text("# Report")
        with monkeypatch.context() as patch:
            patch.setattr(FilesDesk, "send_back", _never)
            async with here.bridged():
                await here.say("write a report")
                await here.hears("You said write a report.")
        async with here.bridged():
            await eventually(lambda: [each for each in here.chat.bot_messages if each.file_name == "report.md"])


async def _never(*_: object) -> None:
    await asyncio.Event().wait()


async def _kill_while(talking: asyncio.Task[None], here: Chain, dice: random.Random) -> None:
    """Mostly in the middle of something, now and then before it has even begun."""
    while here.kills < KILLS and not talking.done():
        here.start_bridge()
        if dice.random() < 0.8:
            await here.bridge_polls()
        with suppress(TimeoutError):
            await asyncio.wait_for(asyncio.shield(talking), dice.uniform(0.0, 1.0))
        here.kill_bridge()

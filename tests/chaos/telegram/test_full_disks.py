"""The bridge's database cannot be written for a while: that is said, and nothing is lost once it can be again."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from handrail.testing import simulated as sim
from tests.chaos.hosts.disks import small_disk
from tests.telegram.bridge.support import World, eventually, world

from .checks import check_database

pytestmark = pytest.mark.slow

SCRIPT = (
    sim.turn(sim.tool("Bash", {"command": "rm -rf build"}, output="ok"), "All is made."),
    sim.loop_turns("You said $text."),
)


class Fault:
    """What makes writing impossible, the words that say so, and how it ends."""

    def __init__(self, words: str, begin: Callable[[], object], end: Callable[[], object]) -> None:
        self.words = words
        self.begin = begin
        self.end = end


async def _live_through(here: World, fault: Fault) -> None:
    """Something waits for an answer. Then the fault: a press, messages and files come meanwhile. Then it is over."""
    async with here.bridged() as bridge:
        await here.say("begin")
        ask = await here.asked()
        allow = ask.button("Allow")
        assert allow is not None
        fault.begin()
        await here.say("and this")
        await here.chat.send_document(b"some notes", "notes.txt", caption="with a file")
        pressing = asyncio.create_task(ask.press(allow, by=here.ann, timeout=30))
        await eventually(lambda: fault.words in " ".join(bridge.troubles))
        fault.end()
        await here.hears("All is made.")
        await here.hears("You said ")
        # What came while Claude was at work may be taken up together, and then has one answer.
        await eventually(lambda: _are_answered(here, 3))
        assert (await pressing).text
        await eventually(lambda: not any(message.buttons for message in here.chat.bot_messages))
        await eventually(lambda: not bridge.troubles)
        await here.say("/health")
        await here.hears(fault.words)
    assert [prompt.split("\n")[0] for prompt in await here.prompts()] == ["begin", "and this", "with a file"]
    check_database(here.database)


async def _are_answered(here: World, number: int) -> bool:
    (row,) = await here.rows()
    states = [message.state for message in await here.served.manager.store.messages(row.id)]
    return states == ["answered"] * number


async def test_the_disk_is_full(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with small_disk(tmp_path / "world" / "bridge") as disk:
        async with world(tmp_path / "world", *SCRIPT) as here:
            await _live_through(here, Fault("free some space", disk.fill, disk.make_room))
    assert "free some space" in caplog.text


async def test_another_process_holds_the_database(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async with world(tmp_path, *SCRIPT) as here:
        here.database.parent.mkdir()
        with closing(sqlite3.connect(tmp_path / "unused", isolation_level=None)) as holder:

            def hold() -> None:
                holder.execute("ATTACH ? AS bridge", (str(here.database),))
                holder.execute("BEGIN IMMEDIATE")
                holder.execute("UPDATE bridge.notes SET value = value")

            await _live_through(here, Fault("locked", hold, lambda: holder.execute("ROLLBACK")))
    assert "locked" in caplog.text

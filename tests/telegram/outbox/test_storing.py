"""What the outbox does when its database cannot be used."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TypeVar

import pytest

from handrail.errors import StoreCorrupt
from handrail.telegram.outbox import Outbox
from handrail.telegram.state import BridgeState, Tables

from .support import QUICK, MemoryBot, database, message, running, until, want, want_all

T = TypeVar("T")


async def test_while_the_database_is_locked_nothing_is_sent_twice(tmp_path: Path, bot: MemoryBot) -> None:
    async with BridgeState(database(tmp_path), lock_timeout=0.02) as state:
        await want_all(state, (message("a", "one"), message("b", "two")))
        bot.gate = asyncio.Event()
        async with running(state, bot) as outbox:
            await until(lambda: bot.calls != [])
            with closing(sqlite3.connect(database(tmp_path), isolation_level=None)) as other:
                other.execute("BEGIN IMMEDIATE")
                bot.gate.set()
                await until(lambda: "locked" in outbox.trouble)
                assert bot.methods() == ["send"]
            await outbox.idle()
            assert outbox.trouble == ""
    assert bot.texts() == ["one", "two"]


async def test_a_database_that_is_locked_at_first_is_waited_for(tmp_path: Path, bot: MemoryBot) -> None:
    async with BridgeState(database(tmp_path), lock_timeout=0.02) as state:
        await state.write(want("m", "x"))
        with closing(sqlite3.connect(database(tmp_path), isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            async with running(state, bot) as outbox:
                await until(lambda: "locked" in outbox.trouble)
                other.execute("ROLLBACK")
                await outbox.idle()
                assert outbox.trouble == ""
    assert bot.texts() == ["x"]


class Breaking(BridgeState):
    """A state whose file breaks when it is told to."""

    broken = False

    async def write(self, function: Callable[[Tables], T]) -> T:
        if self.broken:
            raise StoreCorrupt("telegram.db is damaged: move the file away")
        return await super().write(function)


async def test_damage_ends_the_outbox_with_words(tmp_path: Path, bot: MemoryBot) -> None:
    async with Breaking(database(tmp_path)) as state:
        outbox = Outbox(state, bot, pace=QUICK)
        bot.gate = asyncio.Event()
        await state.write(want("m", "x"))
        task = asyncio.create_task(outbox.run())
        await until(lambda: bot.calls != [])
        state.broken = True
        bot.gate.set()
        with pytest.raises(StoreCorrupt, match="move the file away"):
            await asyncio.wait_for(task, 20)
        with pytest.raises(StoreCorrupt):
            await outbox.idle()

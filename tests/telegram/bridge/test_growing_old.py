"""A bridge that comes back to an old database: what nobody needs goes while it runs, and the rest still works."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from handrail.telegram.files.outbox import outbox_of
from handrail.telegram.model import Place
from handrail.telegram.session_notes import conversation_note
from tests.server.support import ASKS

from .support import World, eventually, world

pytestmark = pytest.mark.slow

DAY = 24 * 3600
TIMES = {
    "messages": ("changed_at", "due_since"),
    "buttons": ("minted_at",),
    "drafts": ("changed_at",),
    "updates": ("kept_at",),
    "notes": ("forget_at",),
}


def make_older(here: World, days: int) -> None:
    """Let so many days have gone by since anything was remembered."""
    with closing(sqlite3.connect(here.database)) as connection, connection:
        for table, columns in TIMES.items():
            changes = ", ".join(f"{column} = {column} - {days * DAY}" for column in columns)
            connection.execute(f"UPDATE {table} SET {changes}")  # noqa: S608


async def forgets(here: World, table: str) -> None:
    """Once a table is empty."""

    def is_empty() -> bool:
        with closing(sqlite3.connect(here.database)) as connection:
            return connection.execute(f"SELECT 1 FROM {table} LIMIT 1").fetchone() is None  # noqa: S608

    await eventually(is_empty)


def leave(outbox: Path, name: str) -> None:
    """Do what Claude does to send a file."""
    outbox.mkdir(parents=True)
    (outbox / name).write_text("a report")


@pytest.mark.parametrize("days", [100, 200])
async def test_a_reply_to_an_old_answer_goes_on_with_its_session(tmp_path: Path, days: int) -> None:
    async with world(tmp_path) as here:
        async with here.bridged():
            await here.say("hello")
            answer = await here.hears("You said hello.")
            await here.say("/new")
            await here.hears("Your next message starts")
        make_older(here, days)
        async with here.bridged():
            await forgets(here, "updates")
            await here.say("are you there?", reply_to=answer)
            await here.hears("You said are you there?.")
            assert len(await here.rows()) == 1


async def test_a_chat_that_was_silent_for_years_goes_on_as_it_was(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        async with here.bridged():
            await here.say("/verbose on")
            await here.say("hello")
            await here.hears("You said hello.")
        make_older(here, 800)
        async with here.bridged():
            await forgets(here, "updates")
            (row,) = await here.rows()
            assert here.state is not None
            conversation = await here.state.read(lambda tables: tables.noted(conversation_note(row.id)))
            assert conversation is not None
            leave(Path(row.cwd, outbox_of(conversation)), "report.txt")
            await here.say("are you there?")
            await here.hears("You said are you there?.")
            await eventually(lambda: any(message.document for message in here.chat.bot_messages))
            assert (await here.state.read(lambda tables: tables.chat(Place(here.ann.id)))).prefs.verbose
        assert len(await here.rows()) == 1


async def test_an_old_ask_that_still_waits_is_answered_by_its_button(tmp_path: Path) -> None:
    async with world(tmp_path, *ASKS) as here:
        async with here.bridged():
            await here.say("go")
            ask = await here.asked()
        make_older(here, 100)
        async with here.bridged():
            await forgets(here, "updates")
            await ask.press("Allow", by=here.ann)
            await here.hears("All clean.")
            await here.hears("Allowed by Ann")
        make_older(here, 31)
        async with here.bridged():
            await forgets(here, "buttons")
            assert here.state is not None
            assert await here.state.read(lambda tables: tables.notes("ask:")) == {}

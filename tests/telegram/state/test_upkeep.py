"""What is old goes, in small steps, and nothing of it that somebody may still need."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

import msgspec
import pytest

from handrail.errors import StoreLocked
from handrail.telegram.forgetting import Forgetting
from handrail.telegram.model import GONE, Button, Content, Place, Press, WantedMessage
from handrail.telegram.state import BridgeState, Tables
from handrail.telegram.state.schema import MIGRATIONS
from handrail.telegram.state.upkeep import AT_ONCE
from handrail.telegram.text.rich import plain

from .conftest import Clock

ANN, BLOCKED = Place(1001), Place(1002)
DAY = 24 * 3600.0


def want(tables: Tables, key: str, place: Place = ANN, *, ask: str = "") -> str:
    """A message with a button; returns its token."""
    token = tables.mint(Press(action="ask:decide", place=place, key=key, ask_id=ask))
    content = Content(plain("Allow?"), ((Button("Allow", token=token),),))
    tables.want(WantedMessage(key=key, place=place, content=content, session_id="s", ask_id=ask))
    return token


def show(tables: Tables, key: str, message_id: int) -> None:
    delivery = tables.delivery(key)
    assert delivery is not None
    tables.shown(delivery, message_id)


async def pruned(state: BridgeState) -> int:
    """How many steps it takes until nothing is left to do."""
    steps = 0
    while await state.write(lambda t: t.prune()):
        steps += 1
        assert steps < 100
    return steps


def sizes(path: str) -> dict[str, int]:
    with closing(sqlite3.connect(path)) as connection:
        names = [name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
        return {name: connection.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in names}  # noqa: S608


@pytest.mark.slow
async def test_a_large_old_database_shrinks_to_what_is_needed_in_small_steps(state: BridgeState, clock: Clock) -> None:
    many = 3 * AT_ONCE

    def fill(tables: Tables) -> None:
        for number in range(1, many + 1):
            want(tables, f"m{number}")
            show(tables, f"m{number}", number)
            tables.set_draft(f"a{number}", ANN, b"draft")
            tables.note(f"ask:s:{number}:{ANN}", "{}", stays=30 * DAY)
            tables.note(f"prompt:{number}", "{}", stays=180 * DAY)
        tables.keep([(number, b"{}") for number in range(many)])
        for number in range(many - 1):
            tables.done(number)
        tables.follow(ANN, "s", "all", 5)
        tables.note("chosen:1001", "s")

    await state.write(fill)
    clock.now += 400 * DAY
    assert await pruned(state) == 6  # twice as many notes as anything else
    kept = {name: size for name, size in sizes(state.path).items() if size and name != "sqlite_sequence"}
    assert kept == {"follows": 1, "updates": 1, "notes": 1}
    assert await state.read(lambda t: t.undone()) == [(many - 1, b"{}")]


async def test_what_belongs_to_an_ask_that_waits_stays_as_long_as_its_note(state: BridgeState, clock: Clock) -> None:
    def ask(tables: Tables) -> tuple[str, str, str, str]:
        tables.note("ask:s:1:1001", "open", stays=365 * DAY, holds=True)
        tokens = (
            want(tables, "ask:s:1:1001", ask="1"),
            want(tables, "ask:s:1:1001:prompt:x", ask="1"),
            want(tables, "ask:s:11:1001", ask="11"),
            want(tables, "picker"),
        )
        for number, key in enumerate(("ask:s:1:1001", "ask:s:1:1001:prompt:x", "ask:s:11:1001", "picker"), 1):
            show(tables, key, number)
        return tokens

    tokens = await state.write(ask)
    clock.now += 200 * DAY
    await pruned(state)
    known = await state.read(lambda t: [t.press(token) is not None for token in tokens])
    assert known == [True, True, False, False]
    messages = await state.read(lambda t: [t.message_at(ANN.chat, number) for number in range(1, 5)])
    assert [message is not None and message.content != GONE for message in messages] == [True, True, False, False]

    clock.now += 166 * DAY
    await pruned(state)
    await pruned(state)
    assert sizes(state.path)["messages"] == sizes(state.path)["buttons"] == sizes(state.path)["notes"] == 0


async def test_a_reply_finds_its_session_for_half_a_year(state: BridgeState, clock: Clock) -> None:
    await state.write(lambda t: want(t, "answer"))
    await state.write(lambda t: show(t, "answer", 7))
    clock.now += 179 * DAY
    await pruned(state)
    found = await state.read(lambda t: t.message_at(ANN.chat, 7))
    assert found is not None
    assert found.session_id == "s"
    clock.now += 2 * DAY
    await pruned(state)
    assert await state.read(lambda t: t.message_at(ANN.chat, 7)) is None


async def test_what_waits_for_a_chat_that_takes_nothing_goes_after_a_month(state: BridgeState, clock: Clock) -> None:
    def write(tables: Tables) -> None:
        tables.rest(BLOCKED.chat, "blocked")
        tables.note("ask:s:1:1002", "open", stays=365 * DAY, holds=True)
        for key, place in (("unsent", BLOCKED), ("ask:s:1:1002", BLOCKED), ("waits", ANN)):
            want(tables, key, place)

    await state.write(write)
    clock.now += 31 * DAY
    await pruned(state)
    kept = await state.read(lambda t: [t.sent(key) is not None for key in ("unsent", "ask:s:1:1002", "waits")])
    assert kept == [False, True, True]


async def test_a_note_is_forgotten_at_its_end_and_renewed_by_noting_it_again(state: BridgeState, clock: Clock) -> None:
    await state.write(lambda t: t.note("sent:a", "1", stays=10 * DAY))
    await state.write(lambda t: t.note("sent:b", "1", stays=10 * DAY))
    clock.now += 9 * DAY
    await state.write(lambda t: t.note("sent:b", "1", stays=10 * DAY))
    clock.now += 2 * DAY
    await pruned(state)
    assert await state.read(lambda t: t.notes("sent:")) == {"sent:b": "1"}


async def test_notes_of_an_older_database_get_an_end(tmp_path: Path) -> None:
    path = str(tmp_path / "telegram.db")
    asks = {"1": {"digest": "d"}, "2": {"digest": "d", "outcome": "decided"}, "3": {"digest": "d", "outcome": "lost"}}
    notes = {f"ask:s:{name}:1001": msgspec.json.encode(known).decode() for name, known in asks.items()}
    notes |= {"ask:digest:ask:s:1:1001:prompt:x": "d", "prompt:u": "{}", "sent:1001:s:a.txt": "1", "outbox:s": "c"}
    notes |= {"chosen:1001": "s", "webhook:secret": "x", "leave:s:1001": "1", "ask:s:odd:1001": "no json"}
    async with BridgeState(path, migrations=MIGRATIONS[:1]):
        pass
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executemany("INSERT INTO notes (key, value) VALUES (?, ?)", notes.items())
    async with BridgeState(path) as state:
        assert await state.read(lambda t: t.notes("")) == notes
    with closing(sqlite3.connect(path)) as connection:
        rows = connection.execute(
            "SELECT key, round((forget_at - strftime('%s', 'now')) / 86400), holds FROM notes WHERE forget_at NOT NULL"
        ).fetchall()
    assert sorted(rows) == [
        ("ask:digest:ask:s:1:1001:prompt:x", 365, 0),
        ("ask:s:1:1001", 365, 1),
        ("ask:s:2:1001", 30, 0),
        ("ask:s:3:1001", 365, 1),
        ("ask:s:odd:1001", 365, 1),
        ("prompt:u", 180, 0),
        ("sent:1001:s:a.txt", 365, 0),
    ]


async def test_it_is_done_while_the_bridge_runs_and_goes_on_after_trouble(
    state: BridgeState, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    await state.write(lambda t: t.note("old", "1", stays=DAY))
    clock.now += 2 * DAY
    said: list[str] = []
    gone = asyncio.Event()
    write = state.write

    async def once_locked(function: Callable[[Tables], int]) -> int:
        if not said:
            raise StoreLocked("busy")
        return await write(function)

    def say(words: str) -> None:
        said.append(words)
        if not words:
            gone.set()

    monkeypatch.setattr(state, "write", once_locked)
    task = asyncio.create_task(Forgetting(state, say, every=0.01, pause=0.0).run())
    async with asyncio.timeout(10):
        await gone.wait()
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task
    assert "busy" in said[0]
    assert await state.read(lambda t: t.noted("old")) is None

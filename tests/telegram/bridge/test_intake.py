"""Updates are kept, handled once, in order in each place, and none holds up another place."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import pytest

from handrail.errors import StoreFull
from handrail.remote.errors import HubUnreachable
from handrail.telegram.incoming import Update
from handrail.telegram.intake import AT_ONCE, Intake
from handrail.telegram.state import BridgeState

from .support import eventually


def update(number: int, *, chat: int = 1, **message: Any) -> bytes:
    body = {"message_id": number, "chat": {"id": chat}, "from": {"id": chat}, "text": f"m{number}", **message}
    return msgspec.json.encode({"update_id": number, "message": body})


def press(number: int, *, chat: int = 1) -> bytes:
    message = {"message_id": 1, "chat": {"id": chat}}
    query = {"id": str(number), "from": {"id": chat}, "data": "x", "message": message}
    return msgspec.json.encode({"update_id": number, "callback_query": query})


@dataclass
class Desk:
    """Handles updates, and fails if it is told to."""

    handled: list[list[int]] = field(default_factory=list)
    heard: list[int] = field(default_factory=list)
    waited: list[int] = field(default_factory=list)
    failures: list[Exception] = field(default_factory=list)
    held: dict[int, asyncio.Event] = field(default_factory=dict)
    unsayable: bool = False

    async def handle(self, updates: Sequence[Update]) -> None:
        first = updates[0].update_id
        if first in self.held:
            await self.held[first].wait()
        if self.failures:
            raise self.failures.pop()
        self.handled.append([each.update_id for each in updates])

    def hear(self, update: Update) -> None:
        self.heard.append(update.update_id)

    async def away(self, updates: Sequence[Update]) -> None:
        if self.unsayable:
            raise StoreFull("the disk is full")
        self.waited.append(updates[0].update_id)


@pytest.fixture
async def state(tmp_path: Path) -> AsyncIterator[BridgeState]:
    async with BridgeState(str(tmp_path / "t.db")) as state:
        yield state


def intake(state: BridgeState, desk: Desk) -> Intake:
    return Intake(state, desk.handle, desk.hear, on_away=desk.away, album_pause=0.05, first_pause=0.01)


async def test_each_is_handled_once_however_often_it_comes(state: BridgeState) -> None:
    desk = Desk()
    taking = intake(state, desk)
    await taking.keep([update(1), update(2)])
    await taking.keep([update(2), update(1), update(3)])
    await eventually(lambda: taking.is_idle)
    assert desk.handled == [[1], [2], [3]]
    assert await state.read(lambda tables: tables.undone()) == []
    assert await state.read(lambda tables: tables.offset()) == 4


async def test_a_place_that_is_held_up_holds_up_no_other_and_no_button(state: BridgeState) -> None:
    desk = Desk(held={1: asyncio.Event()})
    taking = intake(state, desk)
    await taking.keep([update(1), update(2), press(3), update(4, chat=2)])
    await eventually(lambda: len(desk.handled) == 2)
    assert sorted(desk.handled) == [[3], [4]]
    assert desk.heard == [1, 2, 3, 4]
    desk.held[1].set()
    await eventually(lambda: taking.is_idle)
    assert desk.handled[2:] == [[1], [2]]


async def test_what_was_not_handled_is_taken_up_again(state: BridgeState) -> None:
    desk = Desk(held={2: asyncio.Event()})
    taking = intake(state, desk)
    await taking.keep([update(1), update(2), update(3)])
    await eventually(lambda: desk.handled == [[1]])
    await eventually(lambda: _undone_are(state, 2))
    await taking.close()
    again = Desk()
    taking = intake(state, again)
    await taking.take_up()
    await eventually(lambda: taking.is_idle)
    assert again.handled == [[2], [3]]


async def _undone_are(state: BridgeState, number: int) -> bool:
    return len(await state.read(lambda tables: tables.undone())) == number


async def test_what_waits_for_the_hub_or_the_database_is_tried_again(state: BridgeState) -> None:
    desk = Desk(failures=[StoreFull("the disk is full"), HubUnreachable("away")])
    taking = intake(state, desk)
    await taking.keep([update(1), update(2)])
    await eventually(lambda: taking.is_idle)
    assert desk.handled == [[1], [2]]
    assert desk.waited == [1]


async def test_an_album_is_handled_as_one(state: BridgeState) -> None:
    desk = Desk()
    taking = intake(state, desk)
    await taking.keep([update(1, media_group_id="a")])
    await taking.keep([update(2, media_group_id="a"), update(3, media_group_id="b"), update(4)])
    await eventually(lambda: taking.is_idle)
    assert sorted(desk.handled) == [[1, 2], [3], [4]]
    assert await state.read(lambda tables: tables.undone()) == []


async def test_what_is_no_update_is_left_out(state: BridgeState, caplog: pytest.LogCaptureFixture) -> None:
    desk = Desk()
    taking = intake(state, desk)
    await taking.keep([b"[]", b"{", b'{"update_id": 1, "message": 7}', update(2)])
    await eventually(lambda: taking.is_idle)
    await eventually(lambda: _undone_are(state, 0))
    assert desk.handled == [[2]]


async def test_what_waits_for_the_hub_is_not_given_up_because_that_cannot_be_said(state: BridgeState) -> None:
    desk = Desk(failures=[HubUnreachable("away")], unsayable=True)
    taking = intake(state, desk)
    await taking.keep([update(1), update(2)])
    await eventually(lambda: taking.is_idle)
    assert desk.handled == [[1], [2]]


async def test_what_cannot_be_handled_holds_up_nothing(state: BridgeState) -> None:
    desk = Desk(failures=[RuntimeError("a mistake")])
    taking = intake(state, desk)
    await taking.keep([update(1), update(2)])
    await eventually(lambda: taking.is_idle)
    assert desk.handled == [[2]]
    assert await _undone_are(state, 0)


async def test_places_that_wait_for_the_hub_hold_up_no_other(state: BridgeState) -> None:
    desk = Desk(failures=[HubUnreachable("away") for _ in range(AT_ONCE)])
    taking = Intake(state, desk.handle, desk.hear, on_away=desk.away, first_pause=60.0)
    await taking.keep([update(number, chat=number) for number in range(1, AT_ONCE + 2)])
    await eventually(lambda: desk.handled == [[AT_ONCE + 1]])
    await taking.close()

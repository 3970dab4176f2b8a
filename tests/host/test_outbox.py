"""The outbox: one parcel for what is said at once, turns in order, and no more waiting than it holds."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack, suppress

import pytest

from handrail.host import outbox as module
from handrail.host.outbox import Outbox
from handrail.link import wire
from handrail.store.base import CopyPage, SessionRow

from .support import eventually


class Socket:
    """Takes parcels while it is open."""

    def __init__(self) -> None:
        self.open = asyncio.Event()
        self.open.set()
        self.parcels: list[list[wire.FromHost]] = []

    async def send(self, parcel: bytes) -> None:
        await self.open.wait()
        self.parcels.append(wire.decode_from_host(parcel))


def page(session: str, title: str = "") -> wire.Page:
    row = SessionRow(id=session, cwd="/", created_at=0, updated_at=0, title=title)
    return wire.Page(number=1, page=CopyPage(session=row))


async def test_what_is_said_at_once_goes_as_one_parcel() -> None:
    outbox, socket = Outbox(), Socket()
    running = asyncio.ensure_future(outbox.run(socket.send))
    for number in range(5):
        outbox.put(wire.Reply(id=str(number)))
    await eventually(lambda: socket.parcels)
    assert [[message.id for message in parcel if isinstance(message, wire.Reply)] for parcel in socket.parcels] == [
        ["0", "1", "2", "3", "4"]
    ]
    running.cancel()


async def test_deltas_are_joined_until_they_leave_and_never_over_a_page() -> None:
    outbox, socket = Outbox(), Socket()
    outbox.put_delta("a", b"1")
    outbox.put_delta("b", b"2")
    outbox.put_delta("a", b"3")
    outbox.put(page("a"))
    outbox.put_delta("a", b"4")
    outbox.put_delta("b", b"5")
    running = asyncio.ensure_future(outbox.run(socket.send))
    await eventually(lambda: socket.parcels)
    (parcel,) = socket.parcels
    assert [(m.session, list(m.items)) if isinstance(m, wire.Deltas) else "page" for m in parcel] == [
        ("a", [b"1", b"3"]),
        ("b", [b"2", b"5"]),
        "page",
        ("a", [b"4"]),
    ]
    running.cancel()


async def test_a_parcel_has_an_end() -> None:
    outbox, socket = Outbox(), Socket()
    for number in range(4):
        outbox.put(wire.Reply(id=str(number), result=b"x" * module.PARCEL))
    running = asyncio.ensure_future(outbox.run(socket.send))
    await eventually(lambda: len(socket.parcels) == 4)
    running.cancel()


async def test_turns_are_given_in_order_and_only_while_there_is_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FULL", 100)
    outbox, socket = Outbox(), Socket()
    socket.open.clear()
    running = asyncio.ensure_future(outbox.run(socket.send))
    order: list[int] = []

    async def worker(number: int) -> None:
        async with outbox.turn(60):
            order.append(number)
            outbox.put(wire.Reply(id=str(number), result=b"x" * 100))

    workers = [asyncio.ensure_future(worker(number)) for number in range(6)]
    await eventually(lambda: order)
    assert order == [0]
    socket.open.set()
    await asyncio.gather(*workers)
    assert order == [0, 1, 2, 3, 4, 5]
    running.cancel()


async def test_turns_come_at_once_after_a_silence_and_then_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BETWEEN_TURNS", 3600.0)
    outbox, socket = Outbox(), Socket()
    running = asyncio.ensure_future(outbox.run(socket.send))

    async def send(session: str) -> None:
        async with outbox.turn(100):
            outbox.put(page(session))

    await asyncio.wait_for(send("a"), 5)
    await eventually(lambda: len(socket.parcels) == 1)
    later = [asyncio.ensure_future(send(name)) for name in ("b", "c")]
    outbox.put(wire.Reply(id="1"))
    await eventually(lambda: len(socket.parcels) == 2)  # what somebody waits for goes by itself
    assert not any(task.done() for task in later)
    outbox._on_time()
    await asyncio.wait_for(asyncio.gather(*later), 5)
    await eventually(lambda: len(socket.parcels) == 3)
    assert [message.page.session.id for message in socket.parcels[2] if isinstance(message, wire.Page)] == ["b", "c"]
    running.cancel()


async def test_behind_a_large_parcel_nobody_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BETWEEN_TURNS", 3600.0)
    outbox, socket = Outbox(), Socket()
    running = asyncio.ensure_future(outbox.run(socket.send))
    for _ in range(3):
        async with asyncio.timeout(5), outbox.turn(100):
            outbox.put(page("a", title="x" * module.MUCH))
    await eventually(lambda: sum(map(len, socket.parcels)) == 3)
    running.cancel()


async def test_a_parcel_does_not_wait_for_ever_for_a_turn_that_takes_long() -> None:
    outbox, socket = Outbox(), Socket()
    running = asyncio.ensure_future(outbox.run(socket.send))
    async with outbox.turn(100):
        async with outbox.turn(100):
            outbox.put(page("a"))
        await eventually(lambda: socket.parcels)
    running.cancel()


async def test_who_goes_away_gives_the_room_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FULL", 100)
    outbox = Outbox()
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(outbox.turn(100))
        waiting = [asyncio.ensure_future(_once(outbox)) for _ in range(3)]
        await asyncio.sleep(0)
        waiting[0].cancel()
    waiting[1].cancel()  # it was let in just now
    await asyncio.wait_for(waiting[2], 5)
    for each in waiting:
        with suppress(asyncio.CancelledError):
            await each


async def _once(outbox: Outbox) -> None:
    async with outbox.turn(100):
        pass

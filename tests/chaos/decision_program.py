"""A process that has a session decided on, and kills itself at a chosen point of that: `decision_program.py ORDER`."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from pathlib import Path
from typing import Any, Literal, TypeAlias

import msgspec

from handrail.events.model import Action, AskOpened, Event
from handrail.places import Places
from handrail.protocol.asks import Allow
from handrail.protocol.options import Options
from handrail.sessions.asks import Actor
from handrail.sessions.manager import Manager
from handrail.sessions.session import Session
from handrail.store.base import Batch, DecisionRow, Lease

ANN = Actor("Ann", "telegram")

Point: TypeAlias = Literal[
    "asked",
    "not stored",
    "stored",
    "carried out",
    "in the transcript",
    "told to whoever decided",
    "result in the journal",
]
"""When to die. All but the first and the last two are so close to each other that chance would hardly hit them."""
HELD: tuple[Point, ...] = ("carried out", "in the transcript")
"""Points at which the store knows the decision, and nothing that happened behind it."""


class Order(msgspec.Struct):
    """What to do: have something asked, or answer what an earlier process was asked, and when to die."""

    directory: str
    options: dict[str, Any]
    env: dict[str, str]
    point: Point
    session_id: str | None = None


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class DoomedStore:
    """Takes the place of two methods of a store."""

    def __init__(self, manager: Manager, point: Point) -> None:
        self._append, self._decide, self._point = manager.store.append, manager.store.decide, point
        self._holds = False
        manager.store.append, manager.store.decide = self.append, self.decide  # type: ignore[method-assign]

    async def append(self, lease: Lease, batch: Batch) -> None:
        if self._holds:
            await asyncio.Event().wait()
        await self._append(lease, batch)

    async def decide(self, row: DecisionRow) -> None:
        if self._point == "not stored":
            die()
        await self._decide(row)
        if self._point == "stored":
            die()
        self._holds = self._point in HELD


async def live(order: Order) -> None:
    places = Places(*(f"{order.directory}/{name}" for name in ("config", "state", "cache", "run")))
    async with Manager.local(places, env=order.env) as manager:
        DoomedStore(manager, order.point)
        if order.session_id is None:
            session = await manager.start(Options(**order.options))
            await session.send("Do it.")
            opened = await first(session, AskOpened)
            if order.point == "asked":
                die()
            deciding = session.decide(opened.ask_id, Allow(), actor=ANN, digest=opened.digest)
        else:
            session = manager.session(order.session_id)
            (lost,) = await session.asks(("lost", "unsent"))
            deciding = session.decide(lost.id, Allow(), actor=ANN, digest=lost.digest, resume=True)
        await die_at(order.point, session, asyncio.ensure_future(deciding), Path(order.directory))


async def die_at(point: Point, session: Session, decided: Awaitable[None], directory: Path) -> None:
    match point:
        case "carried out":
            await until(lambda: any(file.stat().st_size for file in directory.glob("work/effects")))
        case "in the transcript":
            await until(lambda: any(b'"tool_result"' in path.read_bytes() for path in directory.rglob("*-*-*.jsonl")))
        case "told to whoever decided":
            await decided
        case "result in the journal":
            await decided
            await first(session, Action, lambda action: action.kind == "command" and action.phase == "completed")
        case _:
            await asyncio.Event().wait()  # it dies in the store
    die()


async def until(condition: Callable[[], bool]) -> None:
    while not condition():
        await asyncio.sleep(0.001)


async def first(session: Session, kind: type[Event], is_it: Callable[[Any], bool] = lambda event: True) -> Any:
    async with aclosing(session.subscribe(deltas=False)) as items:
        async for item in items:
            if isinstance(item, kind) and is_it(item):
                return item
    raise AssertionError(f"no {kind.__name__}")


if __name__ == "__main__":
    asyncio.run(live(msgspec.json.decode(sys.argv[1], type=Order)))

"""A process that has everything imported, and forks owners of sessions on request: starting one is quick.

Reads a line of JSON for each owner from standard input and answers with its pid. An owner writes what it tells the
world into a file, one JSON array per line, so that it is known after the owner was killed.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import random
import signal
import sys
from contextlib import suppress
from typing import Any

import msgspec

from handrail.errors import HandrailError
from handrail.events.model import AskOpened, Delta, Event
from handrail.places import Places
from handrail.protocol.asks import Allow, Deny
from handrail.protocol.options import Options
from handrail.sessions.asks import Actor
from handrail.sessions.manager import Manager
from handrail.sessions.session import Session
from handrail.store import sqlite

ANSWERER = "the owner"


class Order(msgspec.Struct):
    """The owner that is wanted."""

    directory: str
    told: str
    options: dict[str, Any]
    prompts: list[str]
    seed: int
    env: dict[str, str] = {}


class World:
    """Hears what an owner tells."""

    def __init__(self, path: str) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def tell(self, *words: Any) -> None:
        os.write(self._file, msgspec.json.encode(words) + b"\n")


async def own(order: Order) -> None:
    world = World(order.told)
    places = Places(*(f"{order.directory}/{name}" for name in ("config", "state", "cache", "run")))
    async with Manager.local(places, env=order.env) as manager:
        session = await manager.start(Options(**order.options))
        world.tell("session", session.id)
        reader = asyncio.create_task(tell_events(session, random.Random(order.seed), world))
        for prompt in order.prompts:
            await session.run(prompt)
        reader.cancel()
    world.tell("done")


async def tell_events(session: Session, chance: random.Random, world: World) -> None:
    async for item in session.subscribe():
        if isinstance(item, Delta):
            continue
        world.tell("event", item.seq, fingerprint(item))
        if isinstance(item, AskOpened):
            answer = Allow() if chance.random() < 0.7 else Deny("no")
            with suppress(HandrailError):
                await session.decide(item.ask_id, answer, actor=Actor(ANSWERER, "terminal"), digest=item.digest)
                world.tell("decided", item.ask_id)


def fingerprint(event: Event) -> str:
    return hashlib.sha256(msgspec.json.encode(event)).hexdigest()


def main() -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    assert sqlite
    for line in sys.stdin.buffer:
        order = msgspec.json.decode(line, type=Order)
        pid = os.fork()
        if pid == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            try:
                asyncio.run(own(order))
            finally:
                os._exit(0)
        print(pid, flush=True)


if __name__ == "__main__":
    main()

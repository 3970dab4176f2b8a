"""Lines that delay, stall, cut and deliver too late: each message arrives once, and so does each answer."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

import msgspec
import pytest

from handrail.errors import AlreadyDecided, AskClosed, HostAway
from handrail.events.model import Event, Prompt
from handrail.host import dialling
from handrail.protocol.asks import Allow
from handrail.server.hosts import link as hub_links
from handrail.store.base import Store
from handrail.testing import simulated as sim
from handrail.testing.journal_checks import journal_problems

from ...host.fleet import Fleet, hub_behind, identity_of
from ...host.middle import middle
from ...host.support import eventually, made, running_host
from .lines import BadLine

pytestmark = pytest.mark.slow

SESSIONS = 3
STEPS = 30
SCRIPT = (
    sim.loop_turns(sim.say("Let me see.", pause=0.005), sim.tool("Bash", {"command": "make"}), "You said $text."),
)


@dataclass
class Busy(Fleet):
    """A hub and a host of it on a bad line, and what somebody at the hub does."""

    line: BadLine
    sessions: list[str] = field(default_factory=list)
    sent: dict[str, list[str]] = field(default_factory=dict)
    """The uuids of the messages of each session."""
    acts: list[asyncio.Future[None]] = field(default_factory=list)

    async def begin(self) -> str:
        """Another session."""
        self.sessions.append(session := await self.start())
        self.sent[session] = []
        return session

    def act(self, what: Awaitable[None]) -> None:
        """Do something in the background: it may take until the line is well again."""
        self.acts.append(asyncio.ensure_future(what))

    def send(self, session: str) -> None:
        uuid = str(uuid4())
        self.sent[session].append(uuid)
        self.act(insist(lambda: self.served.manager.session(session).send(f"message {uuid[:4]}", uuid=uuid)))

    async def answer_all(self) -> None:
        """Answer whatever is asked, over and over."""
        while True:
            for row in await self.served.manager.asks():
                await self._allow(row.session_id, row.id, row.digest)
            await asyncio.sleep(0.02)

    async def _allow(self, session: str, ask_id: str, digest: str) -> None:
        decide = self.served.manager.session(session).decide
        with suppress(AlreadyDecided, AskClosed):  # the copy did not have it yet
            await insist(lambda: decide(ask_id, Allow(), digest=digest))

    async def settled(self) -> None:
        """Wait until everything is done, and the hub has all of it."""
        await asyncio.gather(*self.acts)
        for session in self.sessions:
            await eventually(partial(self._is_done, session))
            await eventually(partial(same, self.served.manager.store, self.host.manager.store, session))

    async def _is_done(self, session: str) -> bool:
        rows = await self.host.manager.store.messages(session)
        states = {row.uuid: row.state for row in rows}
        return all(states.get(uuid) == "answered" for uuid in self.sent[session])


async def insist(act: Callable[[], Awaitable[Any]]) -> None:
    """Do it again until the host is there to do it."""
    while True:
        try:
            await act()
        except HostAway:
            continue
        return


async def same(here: Store, there: Store, session: str) -> bool:
    """Whether the copy has every event and every row that the journal has."""
    return await whole(here, session) == await whole(there, session)


async def whole(store: Store, session: str) -> list[Any]:
    asks = sorted(await store.asks(session, states=()), key=lambda row: row.id)
    runs, messages = await store.runs(session), sorted(await store.messages(session), key=lambda row: row.uuid)
    return [[row.body for row in await store.read(session)], asks, runs, messages]


@asynccontextmanager
async def busy(directory: Path) -> AsyncIterator[Busy]:
    line = BadLine()
    async with middle(line), hub_behind(line, directory / "hub") as served:
        identity = await identity_of(served, line)
        async with running_host(made(directory / "host"), line.url, *SCRIPT, key=identity.key) as host:
            await host.told("connected")
            try:
                yield Busy(served, host, line)
            finally:
                line.end()


# ------------------------------------------------------------ what happens to the line


class Weather:
    """Does something to the line at random, and makes it well again at the end."""

    def __init__(self, line: BadLine, chance: random.Random) -> None:
        self._line = line
        self._chance = chance
        self.seen: Counter[str] = Counter()

    def change(self) -> None:
        happen = self._chance.choice((self._cut, self._delay, self._stall, self._go_on, self._leave_hub, self._deliver))
        self.seen[happen.__name__] += 1
        happen()

    def clear_up(self) -> None:
        self._line.delay = 0.0
        for each in self._line.earlier:
            each.go_on()
        self._line.cut_once()  # what stalls would only be noticed by the next ping

    def _cut(self) -> None:
        self._line.cut_once()

    def _delay(self) -> None:
        self._line.delay = self._chance.uniform(0.0, 0.05)

    def _stall(self) -> None:
        if self._line.current is not None:
            up = self._chance.random() < 0.5
            self._line.current.stall(up=up, down=not up or self._chance.random() < 0.5)

    def _go_on(self) -> None:
        if self._line.current is not None:
            self._line.current.go_on()

    def _leave_hub(self) -> None:
        """The host connects again while the hub still holds the old connection."""
        if self._line.current is not None:
            self._line.current.leave_the_hub_alone()

    def _deliver(self) -> None:
        """What the host said on connections that it has given up arrives now."""
        for each in self._line.earlier:
            each.go_on()


@pytest.mark.parametrize("seed", range(6))
async def test_whatever_the_line_does_each_act_is_done_once(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    async with busy(tmp_path) as all_of_it:
        for _ in range(SESSIONS):
            await all_of_it.begin()
        weather = Weather(all_of_it.line, chance)
        answering = asyncio.create_task(all_of_it.answer_all())
        try:
            for _ in range(STEPS):
                weather.change()
                if chance.random() < 0.4:
                    all_of_it.send(chance.choice(all_of_it.sessions))
                await asyncio.sleep(chance.uniform(0.0, 0.1))  # the point of the test: any moment will do
            weather.clear_up()
            await all_of_it.settled()
        finally:
            answering.cancel()
            await asyncio.gather(answering, return_exceptions=True)
        for session in all_of_it.sessions:
            await check(all_of_it, session)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both ends look often whether the other one is there."""
    for module, names in ((dialling, ("PING_EVERY", "PING_SECONDS")), (hub_links, ("PING_EVERY", "PONG_PATIENCE"))):
        for name in names:
            monkeypatch.setattr(module, name, 0.3)


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("left", ["leave_the_host_alone", "leave_the_hub_alone", "stall"])
async def test_a_half_open_line_is_noticed_by_both(left: str, tmp_path: Path) -> None:
    async with busy(tmp_path) as all_of_it:
        session = await all_of_it.begin()
        answering = asyncio.create_task(all_of_it.answer_all())
        assert all_of_it.line.current is not None
        getattr(all_of_it.line.current, left)()
        all_of_it.send(session)
        await eventually(lambda: all_of_it.line.connections > 2)  # the first one was to be let in
        await all_of_it.settled()
        answering.cancel()
        await asyncio.gather(answering, return_exceptions=True)
        await check(all_of_it, session)


async def test_what_arrives_too_late_changes_nothing(tmp_path: Path) -> None:
    """Pages of a connection that the host has given up reach the hub after the same pages on the next one."""
    async with busy(tmp_path) as all_of_it:
        session = await all_of_it.begin()
        old = all_of_it.line.current
        assert old is not None
        old.stall(down=False)
        await all_of_it.host.manager.session(session).send("from there")
        await eventually(lambda: old.up.held > 1000)
        old.leave_the_hub_alone()
        ask = await eventually(lambda: all_of_it.served.manager.session(session).asks())
        old.go_on()
        await all_of_it.served.manager.session(session).decide(ask[0].id, Allow(), digest=ask[0].digest)
        await all_of_it.settled()
        events = await all_of_it.served.manager.session(session).events()
        assert [event.seq for event in events] == list(range(1, len(events) + 1))


async def check(all_of_it: Busy, session: str) -> None:
    """Nothing is missing, and nothing is there twice: neither in the journals nor with the CLI."""
    events = list(await all_of_it.served.manager.session(session).events())
    assert journal_problems((item for item in events if isinstance(item, Event)), ended=False) == []
    queued = Counter(event.uuid for event in events if isinstance(event, Prompt) and event.content is not None)
    assert queued == Counter(all_of_it.sent[session])
    asks = await all_of_it.host.manager.store.asks(session, states=())
    assert all(row.state == "sent" for row in asks)
    frames = [msgspec.json.decode(row.line) for row in await all_of_it.host.manager.store.frames(session)]
    told = Counter(frame["uuid"] for frame in frames if frame["type"] == "user" and frame.get("uuid") in queued)
    assert told == queued
    answers = Counter(
        frame["response"]["request_id"]
        for frame in frames
        if frame["type"] == "control_response" and "allow" in str(frame)
    )
    assert answers == Counter(row.id for row in asks)

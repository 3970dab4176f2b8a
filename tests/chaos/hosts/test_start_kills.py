"""Hub and hosts are killed while sessions are started: who insists on a start gets one session, on one host."""

from __future__ import annotations

import asyncio
import random
import signal
import sqlite3
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit
from uuid import uuid4

import httpx2
import pytest

from handrail.sessions.beginning import first_message
from handrail.testing import simulated as sim

from ...host.middle import Middle, middle
from .machines import PATIENCE, HostMachine, HubMachine, eventually
from .simulating import CONFIG_OF_HOST, CONFIG_OF_HUB, simulated_cli

pytestmark = pytest.mark.slow

STARTS = 3
PASSING = {"outcome_unknown", "host_away", "stopping", "in_progress"}
NAMES = ("box", "other-box")


@dataclass
class Fleet:
    """A hub, its hosts, and the line between them, whose address stays."""

    hub: HubMachine
    hosts: tuple[HostMachine, ...]
    line: Middle
    answers: Counter[str] = field(default_factory=Counter)

    async def insist(self, session_id: str) -> None:
        """Ask for the same start until there is an answer."""
        body = {"id": session_id, "cwd": "~/project", "host": "any", "prompt": "hello"}
        async with asyncio.timeout(PATIENCE):
            while not await self._is_started(body):
                await asyncio.sleep(0.05)

    async def _is_started(self, body: dict[str, str]) -> bool:
        try:
            answer = await self.hub.request("POST", "/api/sessions", json=body)
        except httpx2.HTTPError as error:
            self.answers[type(error).__name__] += 1
            return False
        self.answers[str(answer.json().get("code", answer.status_code))] += 1
        assert answer.status_code == 201 or answer.json()["code"] in PASSING, answer.text
        return answer.status_code == 201

    async def kill(self, which: Sequence[int]) -> None:
        """Kill these of the machines at once, then bring them back."""
        machines = (self.hub, *self.hosts)
        await asyncio.gather(*(machines[number].process.end(signal.SIGKILL) for number in which))
        if 0 in which:
            self.line.cut()
            await self.hub.serve()
            self.line.lead_to(self.hub.url)
        await asyncio.gather(*(host.work() for host in self.hosts if not host.process.is_running))

    def started(self) -> list[tuple[str, str]]:
        """Every session with every message that it was sent, of all hosts."""
        found: list[tuple[str, str]] = []
        for host in self.hosts:
            with closing(sqlite3.connect(host.journal)) as journal:
                found += journal.execute(
                    "SELECT sessions.id, uuid FROM sessions LEFT JOIN messages ON messages.session_id = sessions.id"
                ).fetchall()
        return sorted(found)


@asynccontextmanager
async def fleet(directory: Path) -> AsyncIterator[Fleet]:
    async with middle() as line:
        allowed = f'allowed_hosts = ["{urlsplit(line.url).netloc}"]\n'
        hub = HubMachine(directory / "hub", config=f"{CONFIG_OF_HUB}{allowed}")
        hosts = tuple(HostMachine(directory / name, config=CONFIG_OF_HOST) for name in NAMES)
        await hub.serve()
        try:
            line.lead_to(hub.url)
            for name, host in zip(NAMES, hosts, strict=True):
                simulated_cli(host, sim.loop_turns("You said $text."))
                await host.join(hub, line.url, name)
            yield Fleet(hub, hosts, line)
        finally:
            for machine in (*hosts, hub):
                if hasattr(machine, "process"):
                    await machine.process.end(signal.SIGKILL)


@pytest.mark.parametrize("seed", range(2))
async def test_whatever_dies_a_session_is_started_once(tmp_path: Path, seed: int) -> None:
    dice = random.Random(seed)
    async with fleet(tmp_path) as machines:
        ids = [uuid4().hex for _ in range(STARTS)]
        for session_id in ids:
            starting = asyncio.create_task(machines.insist(session_id))
            await asyncio.sleep(dice.uniform(0.0, 0.3))
            await machines.kill(dice.sample(range(3), dice.randint(1, 3)))
            await starting
        for name in NAMES:
            await machines.hub.until_host("connected", name)
        assert machines.started() == sorted((each, first_message(each)) for each in ids), machines.answers

        async def all_are_listed() -> bool:
            listed = (await machines.hub.get("/api/sessions"))["items"]
            return {each["id"] for each in listed} == set(ids)

        await eventually(all_are_listed, "the hub has all of them")

"""Many sessions on several hosts at once: every journal arrives at the hub, whole. How fast it was is printed."""

from __future__ import annotations

import asyncio
import re
import time
from pathlib import Path

import pytest

from handrail.testing import simulated as sim

from .journals import event_count, sessions_in, unanswered, until_equal
from .machines import HOST_NAME, HostMachine, HubMachine, eventually
from .simulating import CONFIG_OF_HOST, CONFIG_OF_HUB, simulated_cli, working

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]

HOSTS = 4
SESSIONS = 200
AT_ONCE = 8
"""Starts at a time: each is a process of its own."""
ROUNDS = 2
WORK = sim.loop_turns(
    "Let me look at it.",
    *(sim.tool("Read", {"file_path": f"/src/file{number}.py"}, ask=False, output="x" * 500) for number in range(5)),
    "You said $text.",
)


async def test_two_hundred_sessions_on_four_hosts(tmp_path: Path) -> None:
    hub = HubMachine(tmp_path / "hub", config=CONFIG_OF_HUB)
    hosts = [HostMachine(tmp_path / f"host-{number}", config=CONFIG_OF_HOST) for number in range(HOSTS)]
    for host in hosts:
        simulated_cli(host, WORK)
    async with working(hub, *hosts):
        began = time.monotonic()
        sessions = await all_started(hub, hosts)
        started = time.monotonic()
        for number in range(ROUNDS):
            await all_told(hub, sessions, f"message {number}")
        await eventually(lambda: not any(unanswered(host.journal) for host in hosts), "everything is answered", 200)
        events = sum(event_count(host.journal) for host in hosts)
        await eventually(lambda: event_count(hub.database) == events, "every event is at the hub")
        done = time.monotonic()
        assert sorted(sessions) == sessions_in(hub.database)
        for host in hosts:
            for session in sessions_in(host.journal):
                await until_equal(hub.database, host.journal, session)
        speed = f"{events} events at the hub within {done - began:.0f} s, {events / (done - began):.0f} per second"
        print(f"{SESSIONS} sessions on {HOSTS} hosts, started in {started - began:.0f} s; {speed}; {memory_of(hub)} MB")


def memory_of(machine: HubMachine) -> int:
    """What its process takes, in megabytes."""
    found = re.search(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{machine.process.pid}/status").read_text())
    return int(found[1]) // 1024 if found is not None else 0


async def all_started(hub: HubMachine, hosts: list[HostMachine]) -> list[str]:
    names = [HOST_NAME, *(f"{HOST_NAME}-{number}" for number in range(1, HOSTS))]
    gate = asyncio.Semaphore(AT_ONCE)

    async def start(number: int) -> str:
        async with gate:
            place = number % HOSTS
            return await hub.start_session(hosts[place].project, "begin", host=names[place])

    return await asyncio.gather(*(start(number) for number in range(SESSIONS)))


async def all_told(hub: HubMachine, sessions: list[str], text: str) -> None:
    gate = asyncio.Semaphore(AT_ONCE)

    async def tell(session: str) -> None:
        async with gate:
            await hub.send(session, text)

    await asyncio.gather(*map(tell, sessions))

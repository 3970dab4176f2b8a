"""Sessions that move: their owner is another process, which is stopped or killed, and they are resumed here."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from handrail.protocol.asks import Allow
from handrail.server.live import home
from handrail.sessions.asks import Actor
from handrail.testing import simulated as sim
from handrail.testing.simulated import SimulatedCLI

from .support import STORY, Client, Served, served_live

pytestmark = pytest.mark.slow

PROGRAM = Path(__file__).parents[2] / "sessions" / "owner_program.py"
ALICE = Actor("alice", "web")
ASKING = sim.tool("Bash", {"command": "ls"}, ask=True)


@asynccontextmanager
async def owner(directory: Path, *steps: sim.Step) -> AsyncIterator[tuple[asyncio.subprocess.Process, str]]:
    """Another process that owns a session, and the session's id."""
    cli_directory = directory / "cli"
    cli_directory.mkdir(parents=True)
    cli = SimulatedCLI(steps, directory=cli_directory)
    process = await asyncio.create_subprocess_exec(
        sys.executable, str(PROGRAM), str(directory), str(cli.path), str(directory), stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    try:
        line = await asyncio.wait_for(process.stdout.readline(), 60)
        yield process, line.decode().strip()
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGCONT)
            process.terminate()
        await process.wait()


@pytest.fixture
def others(tmp_path: Path) -> Path:
    return tmp_path / "live"


async def last_of(served: Served, session_id: str) -> int:
    return (await served.manager.session(session_id).row()).last_seq


async def test_a_session_of_another_process_that_is_killed_and_then_answered_here(others: Path) -> None:
    async with (
        owner(others, sim.loop_turns(ASKING, sim.say(STORY, pause=0.05))) as (process, session_id),
        served_live(others) as served,
        Client.connected(served.url) as viewing,
        Client.connected(served.url) as reading,
    ):
        session = served.manager.session(session_id)
        await viewing.say("home", on=True)
        await viewing.follow(session_id, form="view")
        await reading.follow(session_id, 0)
        await viewing.until(lambda: bool(viewing.home.asks))
        card = next(iter(viewing.home.asks.values()))
        await viewing.until(lambda: viewing.views[session_id].state["owner"] == "elsewhere")
        await session.decide(card["ask_id"], Allow(), actor=ALICE, digest=card["digest"])
        await reading.until(lambda: any(event["type"] == "completed" for event in reading.events[session_id]))
        assert reading.of("delta"), "what another process writes is told as it is written"

        await session.send("more", actor=ALICE)
        await viewing.until(lambda: any(key[1] != card["ask_id"] for key in viewing.home.asks))
        os.kill(process.pid, signal.SIGKILL)
        await process.wait()
        await viewing.until(lambda: any(each["state"] == "lost" for each in viewing.home.asks.values()))
        await viewing.until(lambda: viewing.views[session_id].state["live"] is False)
        lost = next(each for each in viewing.home.asks.values() if each["state"] == "lost")

        await session.decide(lost["ask_id"], Allow(), actor=ALICE, digest=lost["digest"], resume=True)
        await viewing.until(lambda: viewing.views[session_id].state["owner"] == "here")
        await viewing.until(lambda: viewing.home.asks == {})  # the same call, asked about again, was let pass
        await viewing.until(lambda: viewing.views[session_id].types[-1] == "end")
        await session.stop()
        last = await last_of(served, session_id)
        await reading.until(lambda: last in reading.seqs(session_id))
        assert reading.seqs(session_id) == list(range(1, last + 1))
        await viewing.until(lambda: viewing.views[session_id].seq == last)
        assert [message["reset"] for message in viewing.of("view")].count(True) == 1


async def test_a_session_that_another_process_takes_over_is_followed_there(others: Path) -> None:
    async with (
        owner(others, sim.turn("first"), sim.loop_turns("You said $text.")) as (process, session_id),
        served_live(others) as served,
        Client.connected(served.url) as client,
    ):
        await client.follow(session_id, 0)
        await client.until(lambda: any(event["type"] == "completed" for event in client.events.get(session_id, ())))
        session = served.manager.session(session_id)
        await session.stop()
        await process.wait()
        await session.run("here again")  # resumed in this process
        last = await last_of(served, session_id)
        await client.until(lambda: last in client.seqs(session_id))
        assert client.seqs(session_id) == list(range(1, last + 1))


async def test_an_owner_that_is_stopped_keeps_nobody_from_reading(others: Path) -> None:
    async with (
        owner(others, sim.turn("first"), sim.loop_turns("You said $text.")) as (process, session_id),
        served_live(others) as served,
    ):
        async with Client.connected(served.url) as client:
            await client.follow(session_id, 0)
            await client.until(lambda: any(e["type"] == "completed" for e in client.events.get(session_id, ())))
        os.kill(process.pid, signal.SIGSTOP)
        async with Client.connected(served.url) as client:
            await client.follow(session_id, form="view")
            await client.until(lambda: session_id in client.views)
            assert "text" in client.views[session_id].types
        os.kill(process.pid, signal.SIGCONT)


async def test_the_list_notices_an_owner_that_was_killed(others: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(home, "LOOK_ROUND", 0.5)
    async with (
        owner(others, sim.loop_turns(ASKING)) as (process, session_id),
        served_live(others) as served,
        Client.connected(served.url) as client,
    ):
        await client.say("home", on=True)
        await client.until(lambda: bool(client.home.asks))
        assert client.home.sessions[session_id]["owner"] == "elsewhere"
        os.kill(process.pid, signal.SIGKILL)
        await process.wait()
        await client.until(lambda: any(card["state"] == "lost" for card in client.home.asks.values()))
        await client.until(lambda: client.home.sessions[session_id]["live"] is False)

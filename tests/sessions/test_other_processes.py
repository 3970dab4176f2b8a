"""Sessions that another process owns: reached over its socket, and brought to an honest end when it is killed."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from handrail.errors import AlreadyDecided, AskClosed, StaleDigest
from handrail.events.model import AskClosed as AskClosedEvent
from handrail.events.model import AskOpened, Completed, Event, ProcessExited, Prompt, Started
from handrail.places import Places
from handrail.protocol.asks import Allow, Deny
from handrail.sessions.asks import Actor
from handrail.sessions.manager import Manager
from handrail.sessions.session import Session
from handrail.testing import simulated as sim
from handrail.testing.simulated import SimulatedCLI
from handrail.transports.process_tree import MARKER_VARIABLE

pytestmark = pytest.mark.slow

PROGRAM = Path(__file__).parent / "owner_program.py"
ANSWER = Path(__file__).parent / "answer_program.py"
ALICE = Actor("alice", "attach")
ASKING = sim.tool("Bash", {"command": "ls"}, ask=True)


@asynccontextmanager
async def owner(directory: Path, *steps: sim.Step) -> AsyncIterator[tuple[asyncio.subprocess.Process, str]]:
    """Another process that owns a session, and the session's id."""
    cli_directory = directory / "cli"
    cli_directory.mkdir()
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
            process.terminate()
        await process.wait()


def places(directory: Path) -> Places:
    return Places(*(str(directory / name) for name in ("config", "state", "cache", "run")))


async def first(session: Session, kind: type[Any], after: int = 0) -> Any:
    async with aclosing(session.subscribe(after, deltas=False)) as items:
        async for item in items:
            if isinstance(item, kind):
                return item
    raise AssertionError(f"no {kind.__name__}")


async def events_of(session: Session) -> list[Event]:
    return [item async for item in session.subscribe(deltas=False, follow=False) if isinstance(item, Event)]


async def test_watching_answering_and_steering_from_another_process(tmp_path: Path) -> None:
    async with (
        owner(tmp_path, sim.loop_turns(ASKING, "You said $text.")) as (_, session_id),
        Manager.local(places(tmp_path)) as manager,
    ):
        session = await manager.get(session_id)
        assert await session.is_live()
        assert not await session.is_mine()
        opened = await first(session, AskOpened)
        with pytest.raises(StaleDigest, match="digest"):
            await session.decide(opened.ask_id, Allow(), actor=ALICE)
        await session.decide(opened.ask_id, Allow(), actor=ALICE, digest=opened.digest)
        done = await first(session, Completed)
        assert done.ok
        with pytest.raises(AlreadyDecided, match="alice"):
            await session.decide(opened.ask_id, Deny("no"), actor=ALICE, digest=opened.digest)
        uuid = await session.send("more", actor=ALICE)
        second = await first(session, AskOpened, after=done.seq)
        await session.decide(second.ask_id, Deny("not this time"), actor=ALICE, digest=second.digest)
        assert (await session.wait(uuid, after=done.seq)).answer == "You said more."
        await session.rename("seen from outside", actor=ALICE)
        assert (await session.row()).title == "seen from outside"
        await session.stop()
        assert not await session.is_live()


async def test_two_who_answer_at_once_and_one_wins(tmp_path: Path) -> None:
    async with (
        owner(tmp_path, sim.turn(ASKING, "done")) as (_, session_id),
        Manager.local(places(tmp_path)) as here,
        Manager.local(places(tmp_path)) as there,
    ):
        one, two = await here.get(session_id), await there.get(session_id)
        opened = await first(one, AskOpened)
        answers = await asyncio.gather(
            one.decide(opened.ask_id, Allow(), actor=Actor("alice", "attach"), digest=opened.digest),
            two.decide(opened.ask_id, Deny("no"), actor=Actor("bob", "attach"), digest=opened.digest),
            return_exceptions=True,
        )
        refused = [answer for answer in answers if answer is not None]
        assert len(refused) == 1
        assert isinstance(refused[0], AlreadyDecided)
        closed = [event for event in await events_of(one) if isinstance(event, AskClosedEvent)]
        assert len(closed) == 1
        winner = "alice" if answers[0] is None else "bob"
        assert closed[0].by == winner


async def test_a_killed_owner_leaves_a_journal_that_is_closed_honestly(tmp_path: Path) -> None:
    async with (
        owner(tmp_path, sim.loop_turns(ASKING, "done")) as (process, session_id),
        Manager.local(places(tmp_path)) as manager,
    ):
        session = await manager.get(session_id)
        opened = await first(session, AskOpened)
        os.kill(process.pid, signal.SIGKILL)
        await process.wait()
        assert not await session.is_live()
        events = await events_of(session)
        assert [event.seq for event in events] == list(range(1, len(events) + 1))
        assert len([e for e in events if isinstance(e, Started)]) == 1
        completed = [e for e in events if isinstance(e, Completed)]
        assert [(e.ok, e.run) for e in completed] == [(False, 1)]
        closed = [e for e in events if isinstance(e, AskClosedEvent)]
        assert [(e.ask_id, e.outcome) for e in closed] == [(opened.ask_id, "lost")]
        assert isinstance(events[-1], ProcessExited)
        assert [e.state for e in events if isinstance(e, Prompt)][-1] == "lost"
        assert (await session.row()).owner is None
        with pytest.raises(AskClosed, match="has ended"):
            await session.decide(opened.ask_id, Allow(), actor=ALICE, digest=opened.digest)
        after = events[-1].seq
        await session.decide(opened.ask_id, Allow(), actor=ALICE, digest=opened.digest, resume=True)
        assert (await first(session, Completed, after=after)).ok


async def test_a_subscription_ends_with_the_owner_and_misses_nothing(tmp_path: Path) -> None:
    async with (
        owner(tmp_path, sim.loop_turns(ASKING, "done")) as (process, session_id),
        Manager.local(places(tmp_path)) as manager,
    ):
        session = await manager.get(session_id)
        seen: list[int] = []

        async def read() -> None:
            async with aclosing(session.subscribe(deltas=False)) as items:
                async for item in items:
                    assert isinstance(item, Event)
                    seen.append(item.seq)

        reader = asyncio.create_task(read())
        await first(session, AskOpened)
        os.kill(process.pid, signal.SIGKILL)
        await asyncio.wait_for(reader, 60)
        stored = [event.seq for event in await events_of(session)]
        assert seen == stored[: len(seen)]
        assert seen


async def test_a_session_cannot_answer_for_itself(tmp_path: Path) -> None:
    """What a session started carries its mark, and is refused; any other process is not."""
    async with owner(tmp_path, sim.turn(ASKING, "done")) as (_, session_id):
        async with Manager.local(places(tmp_path)) as manager:
            opened = await first(await manager.get(session_id), AskOpened)
            (start,) = [row for row in await manager.store.starts(session_id) if row.why == "running"]
        arguments = (str(tmp_path), session_id, opened.ask_id, opened.digest)
        assert await answered_by({MARKER_VARIABLE: start.marker}, *arguments) == "SelfApproval"
        assert await answered_by({}, *arguments) == "allowed"


async def answered_by(variables: dict[str, str], *arguments: str) -> str:
    process = await asyncio.create_subprocess_exec(
        sys.executable, str(ANSWER), *arguments, stdout=asyncio.subprocess.PIPE, env={**os.environ, **variables}
    )
    output, _ = await process.communicate()
    return output.decode().strip()

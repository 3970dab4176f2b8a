"""Handrail is killed at each point of a decision, with the real CLI: nothing is done twice that was allowed once."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pytest

from handrail.errors import AskClosed
from handrail.events.model import AskClosed as AskClosedEvent
from handrail.events.model import Completed, Event
from handrail.protocol.asks import Allow
from handrail.sessions.manager import Manager
from handrail.sessions.session import Session
from handrail.store.base import AskRow
from handrail.testing import Reply, ScriptedModel, ToolUse, claude_cli, cli_slot, isolated_env
from handrail.testing.journal_checks import journal_problems
from handrail.testing.model_request import ModelRequest

from .decision_program import ANN, Order, Point
from .support import places_in

pytestmark = [pytest.mark.slow, pytest.mark.real_cli]

PROGRAM = Path(__file__).parent / "decision_program.py"
PATIENCE = 60.0
AGAIN = "make it again"


def _reply(request: ModelRequest) -> Reply:
    """What is wanted, whenever it is wanted, and otherwise that it is done."""
    said = json.dumps([message["content"] for message in request.messages if message["role"] == "user"][-1])
    wanted = "Do it." in said or AGAIN in said.lower()
    return Reply(ToolUse("Bash", {"command": "echo x >> effects"})) if wanted else Reply("Done.")


@dataclass
class World:
    """A session whose Handrail gets killed, and everything that stays."""

    directory: Path
    env: dict[str, str]
    options: dict[str, Any]
    model: ScriptedModel
    session_id: str | None = None

    @property
    def effects(self) -> int:
        """How often it was carried out."""
        file = self.directory / "work" / "effects"
        return len(file.read_text().splitlines()) if file.exists() else 0

    @property
    def told(self) -> str:
        """Everything that was said to Claude."""
        return json.dumps([request.messages for request in self.model.requests_in()])

    async def killed(self, point: Point) -> None:
        order = Order(str(self.directory), self.options, self.env, point, self.session_id)
        command = (sys.executable, str(PROGRAM), msgspec.json.encode(order).decode())
        process = await asyncio.create_subprocess_exec(*command)
        try:
            async with asyncio.timeout(PATIENCE):
                assert await process.wait() == -signal.SIGKILL
        finally:
            with suppress(ProcessLookupError):
                process.kill()

    @asynccontextmanager
    async def session(self) -> AsyncIterator[Session]:
        """The session, with whatever was left of it brought to an end."""
        async with Manager.local(places_in(self.directory), env=self.env) as manager:
            (row,) = await manager.list()
            self.session_id = row.id
            session = manager.session(row.id)
            assert not await session.is_live()
            yield session
            events = [item async for item in session.subscribe(deltas=False, follow=False) if isinstance(item, Event)]
            assert journal_problems(events, ended=False) == []


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    for name in ("home", "work"):
        (tmp_path / name).mkdir()
    options = {"cli_path": str(claude_cli().path), "cwd": str(tmp_path / "work"), "use_api_billing": True}
    async with ScriptedModel([_reply] * 30) as model, cli_slot():
        yield World(tmp_path, isolated_env(tmp_path / "home", model), options, model)


async def run_ends(session: Session, after: int) -> None:
    async with asyncio.timeout(PATIENCE), aclosing(session.subscribe(after, deltas=False)) as items:
        async for item in items:
            if isinstance(item, Completed):
                return


async def answered(session: Session, ask: AskRow) -> None:
    after = (await session.row()).last_seq
    await session.decide(ask.id, Allow(), actor=ANN, digest=ask.digest, resume=True)
    await run_ends(session, after)


async def outcomes(session: Session) -> list[tuple[str, str]]:
    """What became of each ask, in order, and whose answer that was."""
    events = [item async for item in session.subscribe(deltas=False, follow=False)]
    return [(item.outcome, item.granted_by) for item in events if isinstance(item, AskClosedEvent)]


@pytest.mark.parametrize(
    ("point", "left", "told"),
    [
        ("asked", "lost", "could not reach you"),
        ("not stored", "lost", "could not reach you"),
        ("stored", "unsent", "may have reached you or not"),
    ],
)
async def test_what_was_not_carried_out_is_answered_anew_and_done_once(
    world: World, point: Point, left: str, told: str
) -> None:
    await world.killed(point)
    async with world.session() as session:
        (ask,) = await session.asks(())
        assert (ask.state, world.effects) == (left, 0)
        await answered(session, ask)
        assert world.effects == 1
        assert told in world.told
        assert await outcomes(session) == [(left, ""), ("resumed", ""), ("decided", ask.id)]


@pytest.mark.parametrize("point", ["in the transcript", "told to whoever decided", "result in the journal"])
async def test_what_claude_code_was_told_is_not_answered_again(world: World, point: Point) -> None:
    await world.killed(point)
    async with world.session() as session:
        (ask,) = await session.asks(())
        assert (ask.state, ask.decided_by) == ("sent", "Ann")
        with pytest.raises(AskClosed):
            await session.decide(ask.id, Allow(), actor=ANN, digest=ask.digest, resume=True)
        assert (await session.run("Go on.")).answer == "Done."
        assert world.effects <= 1
        assert await outcomes(session) == [("decided", "")]


async def test_what_was_carried_out_unseen_is_known_or_said_to_be_in_doubt(world: World) -> None:
    """Whether Claude Code still wrote down that it was done, is chance; that it was done, is not."""
    await world.killed("carried out")
    async with world.session() as session:
        (ask,) = await session.asks(())
        assert (ask.decided_by, world.effects) == ("Ann", 1)
        if ask.state != "sent":
            assert ask.state == "unsent"
            await answered(session, ask)
            assert "It may have been carried out before: look first" in world.told


@pytest.mark.parametrize(("point", "asked_again"), [("not stored", False), ("stored", True)])
async def test_an_answer_to_what_was_lost_lets_one_call_pass_whatever_is_killed(
    world: World, point: Point, asked_again: bool
) -> None:
    await world.killed("asked")
    async with world.session() as session:
        (lost,) = await session.asks(())
    await world.killed(point)
    async with world.session() as session:
        states = {row.id: (row.state, row.granted_by) for row in await session.asks(())}
        assert states.pop(lost.id) == ("resumed", "")
        assert list(states.values()) == [("unsent", lost.id) if asked_again else ("lost", "")]
        assert world.effects == 0
        after = (await session.row()).last_seq
        await session.send(f"Please {AGAIN}.")
        if asked_again:  # it was used, and may have got somewhere: only a person can know whether it is to be repeated
            async with asyncio.timeout(PATIENCE):
                while not (waiting := await session.asks()):
                    await asyncio.sleep(0.01)
            await session.decide(waiting[0].id, Allow(), actor=ANN, digest=waiting[0].digest)
        await run_ends(session, after)
        assert world.effects == 1
        last = (await session.asks(("sent",)))[-1]
        assert last.granted_by == ("" if asked_again else lost.id)

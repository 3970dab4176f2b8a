"""An ask that comes outside of a run, just as its session is about to end because nobody has used it for long."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from handrail.events.model import Event
from handrail.places import Places
from handrail.protocol.asks import Elicited
from handrail.protocol.options import Options
from handrail.protocol.state import AskState
from handrail.sessions.asks import AskChange
from handrail.sessions.guards.activity import Idle, StallLimits
from handrail.sessions.guards.watch import Limits
from handrail.sessions.manager import Manager
from handrail.sessions.session import Session
from handrail.sessions.sitting import Sitting
from handrail.testing import simulated as sim
from handrail.testing.journal_checks import journal_problems
from handrail.testing.simulated import SimulatedCLI

SOON = 30.0
IDLE = 0.1
FORM = {"subtype": "elicitation", "mcp_server_name": "forms", "message": "Go on?", "mode": "form"}


def asks_after(seconds: float, directory: Path) -> Options:
    """A CLI that answers one message, and has something to ask so long after that."""
    directory.mkdir()
    cli = SimulatedCLI(
        [sim.turn("Done."), sim.sleep(seconds), sim.request(FORM), sim.loop_turns("x")], directory=directory
    )
    return Options(cli_path=str(cli.path), cwd=str(directory))


async def eventually(condition: Callable[[], Awaitable[Any]]) -> None:
    async with asyncio.timeout(SOON):
        while not await condition():
            await asyncio.sleep(0.01)


@pytest.mark.slow
async def test_a_session_does_not_end_as_idle_over_an_ask_that_the_journal_does_not_have_yet(
    manager: Manager, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tell = Sitting._ask_changed

    def tell_in_the_worst_moment(sitting: Any, change: AskChange) -> None:
        tell(sitting, change)
        if change.state is AskState.PENDING:
            sitting._listener._idled(Idle(IDLE))

    monkeypatch.setattr(Sitting, "_ask_changed", tell_in_the_worst_moment)
    session = await manager.start(asks_after(0.3, tmp_path / "cli"))
    await session.run("go")
    await eventually(session.asks)
    (ask,) = await session.asks()
    await session.decide(ask.id, Elicited("decline"), digest=ask.digest)
    assert await session.is_live()
    assert [row.state for row in await session.asks(())] == ["sent"]


@pytest.mark.slow
async def test_what_is_asked_about_as_a_session_ends_waits_or_is_lost_and_can_be_answered(
    places: Places, tmp_path: Path
) -> None:
    async with Manager.local(places, limits=Limits(stall=StallLimits(idle=IDLE))) as manager:

        async def ask_at(number: int) -> None:
            session = await manager.start(asks_after(IDLE - 0.03 + number * 0.01, tmp_path / f"cli{number}"))
            await session.run("go")
            await eventually(lambda: _is_settled(session))
            events = [item async for item in session.subscribe(deltas=False, follow=False) if isinstance(item, Event)]
            assert journal_problems(events, ended=False) == []

        for number in range(7):
            await ask_at(number)


async def _is_settled(session: Session) -> bool:
    """Whether it waits for an answer, or has ended, and then nothing is said to wait that nobody could answer."""
    is_live = await session.is_live()
    states = {row.state for row in await session.asks(())}
    return states == {"pending"} if is_live else states <= {"lost"}

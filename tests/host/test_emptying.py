"""A host that is drained becomes empty: what runs goes on, what does nothing ends, and can be resumed."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from handrail.host.emptying import Emptying
from handrail.places import Places
from handrail.protocol.options import Options
from handrail.sessions.manager import Manager
from handrail.sessions.session import Session
from handrail.testing import simulated as sim
from handrail.testing.simulated import SimulatedCLI

from .support import ASKS, ECHO, eventually


@pytest.fixture
async def manager(tmp_path: Path) -> AsyncIterator[Manager]:
    places = Places(*(str(tmp_path / name) for name in ("config", "state", "cache", "run")))
    async with Manager.local(places) as manager:
        yield manager


async def a_session(manager: Manager, directory: Path, *steps: sim.Step) -> Session:
    cli = SimulatedCLI(steps, directory=directory)
    return await manager.start(Options(cwd=directory, cli_path=str(cli.path)))


def made(directory: Path) -> Path:
    directory.mkdir()
    return directory


async def is_over(session: Session) -> bool:
    return not await session.is_live()


async def status(session: Session) -> str:
    return (await session.row()).status


@pytest.mark.slow
async def test_what_does_nothing_ends_and_what_runs_goes_on(manager: Manager, tmp_path: Path) -> None:
    idle = await a_session(manager, made(tmp_path / "idle"), *ECHO)
    busy = await a_session(manager, made(tmp_path / "busy"), *ASKS)
    await idle.run("hello")
    await busy.send("make it")
    await eventually(lambda: _is(busy, "needs_you"))
    drained = False
    async with Emptying(manager, lambda: drained, rests_for=0.05, look_every=0.01) as emptying:
        emptying.changed()
        assert await idle.is_live()
        drained = True
        emptying.changed()
        await eventually(lambda: is_over(idle))
        assert await busy.is_live()
        assert await status(busy) == "needs_you"
    assert (await idle.run("again")).ok


async def _is(session: Session, wanted: str) -> bool:
    return await status(session) == wanted

"""Handrail is killed without warning, again and again, at random moments; the journal must be whole each time."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from handrail.testing import ScriptedModel, ToolUse, claude_cli, cli_slot, isolated_env
from handrail.testing import simulated as sim
from handrail.testing.simulated import SimulatedCLI

from .support import Nursery, verify

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

KILLS = 180
GROUPS = 4
STORES = 15
ALIVE_AT_ONCE = 2
"""More would keep each other from getting anywhere before they are killed."""
LONGEST_LIFE = 0.8
"""Long enough for kills to fall into every part of a session: its start, its runs, its asks."""

SCRIPT = (
    sim.turn(sim.say("Reading what there is.", pause=0.001), sim.tool("Read", {"file_path": "/x"}, ask=False), "ok"),
    sim.turn(sim.tool("Bash", {"command": "ls"}), sim.say("That was it.", pause=0.001)),
    sim.turn(sim.tool("Bash", {"command": "a"}), sim.tool("Bash", {"command": "b"}), "both done"),
    sim.loop_turns(sim.tool("Bash", {"command": "more"}), "done"),
)
PROMPTS = tuple(f"message {number}" for number in range(1000))


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    nursery = Nursery()
    yield nursery
    nursery.close()


@pytest.mark.parametrize("group", range(GROUPS))
async def test_a_killed_handrail_leaves_a_whole_journal(group: int, nursery: Nursery, tmp_path: Path) -> None:
    """Many stores at once, since most of the time goes into waiting; each is left by one owner after another."""
    stores = [_simulated(tmp_path / f"store{number}") for number in range(STORES)]
    turn = asyncio.Semaphore(ALIVE_AT_ONCE)
    shown = await asyncio.gather(
        *(_kill_again_and_again(nursery, store, turn, random.Random(f"{group} {store.name}")) for store in stores)
    )
    assert sum(shown), "no owner lived long enough to do anything"


def _simulated(directory: Path) -> Path:
    directory.mkdir()
    SimulatedCLI(SCRIPT, directory=directory)
    return directory


async def _kill_again_and_again(nursery: Nursery, store: Path, turn: asyncio.Semaphore, chance: random.Random) -> int:
    options = {"cli_path": str(store / "claude"), "cwd": str(store)}
    shown = 0
    for number in range(KILLS // GROUPS // STORES):
        lives, settled = chance.uniform(0.0, LONGEST_LIFE), number % 2 == 1
        async with turn:
            told = await nursery.killed_owner(
                store, options, prompts=PROMPTS, seed=number, lives=lives, settled=settled
            )
        await verify(store, told)
        shown += len(told.events)
    return shown


@pytest.mark.real_cli
@pytest.mark.parametrize("group", range(4))
async def test_a_killed_handrail_with_the_real_cli(group: int, nursery: Nursery, tmp_path: Path) -> None:
    chance = random.Random(1000 + group)
    cli = claude_cli()
    (tmp_path / "home").mkdir()
    shown = 0
    for number in range(5):
        script = [ToolUse("Bash", {"command": f"touch {each}"}) if each % 2 else f"Said {each}." for each in range(60)]
        async with ScriptedModel(script) as model, cli_slot():
            env = isolated_env(tmp_path / "home", model)
            options = {"cli_path": str(cli.path), "cwd": str(tmp_path), "use_api_billing": True}
            lives, settled = chance.uniform(0.4, 3.0), number % 2 == 1
            told = await nursery.killed_owner(
                tmp_path, options, prompts=PROMPTS, seed=number, lives=lives, settled=settled, env=env
            )
            await verify(tmp_path, told)
            shown += len(told.events)
    assert shown, "no owner lived long enough to do anything"

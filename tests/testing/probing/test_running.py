"""How a probe runs: what hangs, ends or fails is told as such, in bounded time, and hides nothing else."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from handrail.testing import simulated as sim
from handrail.testing.model_request import ModelRequest
from handrail.testing.probing.behaviours import Behaviour, Play, Scenario, Seen
from handrail.testing.probing.running import Progress, probe
from handrail.testing.probing.scenarios import START
from handrail.testing.probing.scenarios.permissions import PERMISSIONS
from handrail.testing.probing.stage import Stage, answers_by_prompt
from handrail.testing.simulated import SimulatedCLI

NO_CLI = ["/nowhere/claude"]


def behaviour(name: str) -> Behaviour:
    return Behaviour(name=f"test: {name}", need="breaks", otherwise="all is lost")


ONE, TWO, THREE = behaviour("one"), behaviour("two"), behaviour("three")


def scenario(play: Play, *behaviours: Behaviour) -> Scenario:
    return Scenario(behaviours[0].what, behaviours, play)


async def sees_one(stage: Stage) -> None:
    stage.see(ONE, True, f"in {stage.cwd}")


async def seen_by(*scenarios: Scenario, seconds: float = 30.0) -> dict[str, Seen]:
    return (await probe(NO_CLI, scenarios=scenarios, seconds=seconds)).seen


async def test_what_was_seen_and_nothing_of_the_scratch_directory() -> None:
    assert await seen_by(scenario(sees_one, ONE)) == {ONE.name: Seen(True, "in CWD")}


async def test_a_scenario_that_fails_keeps_what_it_saw_and_hides_no_other() -> None:
    async def fails(stage: Stage) -> None:
        stage.see(TWO, True, "yes")
        raise LookupError("there is none")

    seen = await seen_by(scenario(sees_one, ONE), scenario(fails, TWO, THREE))
    assert seen == {
        ONE.name: Seen(True, "in CWD"),
        TWO.name: Seen(True, "yes"),
        THREE.name: Seen(None, "LookupError: there is none"),
    }


async def test_the_order_is_that_of_the_scenarios() -> None:
    first_is_done = asyncio.Event()

    async def waits(stage: Stage) -> None:
        await first_is_done.wait()
        stage.see(TWO, True, "late")

    async def hurries(stage: Stage) -> None:
        stage.see(THREE, True, "early")
        first_is_done.set()

    seen = await seen_by(scenario(sees_one, ONE), scenario(waits, TWO), scenario(hurries, THREE))
    assert list(seen) == [ONE.name, TWO.name, THREE.name]


async def test_a_slow_moment_gets_a_second_chance() -> None:
    tries = 0

    async def works_the_second_time(stage: Stage) -> None:
        nonlocal tries
        tries += 1
        if tries == 1:
            raise TimeoutError("no answer")
        stage.see(TWO, True, "at last")

    seen = await seen_by(scenario(sees_one, ONE), scenario(works_the_second_time, TWO))
    assert seen[TWO.name] == Seen(True, "at last")


@pytest.mark.slow
async def test_it_ends_in_time_whatever_hangs() -> None:
    async def hangs(stage: Stage) -> None:
        await asyncio.Event().wait()

    seen = await seen_by(scenario(sees_one, ONE), scenario(hangs, TWO, THREE), seconds=0.2)
    assert seen[ONE.name].works
    assert seen[TWO.name] == seen[THREE.name] == Seen(None, "not reached within 0.2 s")


async def test_progress_is_told() -> None:
    told: list[Progress] = []

    async def sees_two(stage: Stage) -> None:
        stage.see(TWO, True, "yes")

    scenarios: Sequence[Scenario] = (scenario(sees_one, ONE), scenario(sees_two, TWO))
    await probe(NO_CLI, scenarios=scenarios, on_progress=told.append)
    assert (told[0].done, told[0].running) == (0, ("one",))
    assert (told[-1].done, told[-1].total, told[-1].running) == (2, 2, ())


# ---------------------------------------------------------------- programs that are no good


def program(directory: Path, script: str) -> list[str]:
    path = directory / "claude"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return [str(path)]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("exec sleep 600", "no answer to initialize within 0.1 s"),
        ("echo 'no such flag: --verbose' >&2; exit 3", "exited with code 3"),
        ("echo hello; cat > /dev/null", "no answer to initialize within 0.1 s"),
    ],
)
async def test_a_cli_that_does_not_start_is_asked_nothing_more(tmp_path: Path, script: str, reason: str) -> None:
    argv = program(tmp_path, script)
    seen = (await probe(argv, scenarios=(START, PERMISSIONS), patience=0.1)).seen
    assert {each.works for each in seen.values()} == {None}
    assert reason in seen["start: initialize"].words
    assert {seen[each.name].words for each in PERMISSIONS.behaviours} == {"not tried: it did not start"}


async def test_no_program_at_all() -> None:
    seen = (await probe(NO_CLI, scenarios=(START,))).seen
    assert "/nowhere/claude" in seen["start: initialize"].words


async def test_a_cli_that_starts_and_then_leaves(tmp_path: Path) -> None:
    cli = SimulatedCLI([sim.expect("user"), sim.exit(7)], directory=tmp_path)
    seen = (await probe([str(cli.path)], scenarios=(START,))).seen
    assert seen["start: initialize"] == Seen(True, "answered")
    assert "exited with code 7" in seen["start: what the init frame has"].words
    assert seen["process: end of input"] == Seen(None, "not reached")


async def test_a_second_chance_changes_nothing_where_something_needed_fails(tmp_path: Path) -> None:
    tries = 0

    async def fails(stage: Stage) -> None:
        nonlocal tries
        tries += 1
        stage.see(TWO, False, "no")
        raise TimeoutError("no answer")

    seen = await seen_by(scenario(sees_one, ONE), scenario(fails, TWO, THREE))
    assert (seen[TWO.name], seen[THREE.name]) == (Seen(False, "no"), Seen(None, "no answer"))
    assert tries == 1


# ---------------------------------------------------------------- the model of a scenario


def request(*messages: tuple[str, str]) -> ModelRequest:
    body = {"messages": [{"role": role, "content": text} for role, text in messages]}
    return ModelRequest("POST", "/v1/messages", "", {}, body)


def test_the_model_finds_its_place_by_the_newest_prompt() -> None:
    choose = answers_by_prompt({"Count": ["one", "two"], "Sing": ["la"]})[0]
    assert choose(request(("user", "Count"))) == "one"
    assert choose(request(("user", "Count"), ("assistant", "one"), ("user", "and?"))) == "two"
    assert choose(request(("user", "Count"), ("assistant", "one"), ("user", "Sing"))) == "la"
    assert choose(request(("user", "Sing\nCount"))) == "one"
    assert choose(request(("user", "Count"), *[("assistant", "x")] * 5)) == "two"
    assert choose(request(("user", "What?"))) == "Nothing is planned for this."

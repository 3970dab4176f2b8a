"""Sessions of a Python program are held to the policy that it gives them, and to none if it gives none."""

from __future__ import annotations

from pathlib import Path

import pytest

from handrail import Manager, Options, Policy, PolicySource, connect
from handrail.errors import SessionError
from handrail.places import Places
from handrail.policy.storage.loading import Asked
from handrail.testing.simulated import SimulatedCLI

from .support import CALLS, RULE, STANDING, asking_cli, check_held

pytestmark = pytest.mark.slow

FIXED = Policy.of("readonly", deny=[RULE])


@pytest.fixture
def places(tmp_path: Path) -> Places:
    return Places(*(str(tmp_path / name) for name in ("config", "state", "cache", "run")))


@pytest.fixture
def cli(tmp_path: Path) -> SimulatedCLI:
    return asking_cli(tmp_path / "cli")


@pytest.fixture
def options(tmp_path: Path, cli: SimulatedCLI) -> Options:
    project = tmp_path / "project"
    project.mkdir()
    return Options(cwd=str(project), cli_path=str(cli.path))


def write_policy(places: Places) -> None:
    Path(places.config).mkdir()
    Path(places.policy_file).write_text(f'profile = "readonly"\ndeny = ["{RULE}"]\n')


async def test_a_client_with_a_policy(cli: SimulatedCLI, options: Options) -> None:
    async with connect(options, policy=FIXED) as client:
        await client.run("Go")
    check_held(cli, launches=1)


async def test_a_client_with_the_policy_files(cli: SimulatedCLI, options: Options, places: Places) -> None:
    write_policy(places)
    async with connect(options, policy=PolicySource(str(options.cwd), places)) as client:
        await client.run("Go")
    check_held(cli, launches=1)


async def test_a_session_with_a_policy(cli: SimulatedCLI, options: Options, places: Places) -> None:
    async with Manager.local(places) as manager:
        session = await manager.start(options, policy=FIXED)
        await session.run("Go")
        await session.stop()
        with pytest.raises(SessionError, match="policy of its own"):
            await manager.fork(session.id)
        fork = await manager.fork(session.id, policy=STANDING)
        await fork.run("Go")
    check_held(cli, launches=2)


async def test_a_session_with_the_policy_files(cli: SimulatedCLI, options: Options, places: Places) -> None:
    write_policy(places)
    async with Manager.local(places) as manager:
        session = await manager.start(options, policy=Asked())
        await session.run("Go")
    check_held(cli, launches=1)


async def test_what_a_manager_holds_all_to(cli: SimulatedCLI, options: Options, places: Places) -> None:
    async with Manager.local(places) as manager:
        manager.hold_to(STANDING)
        session = await manager.start(options, policy=Asked(allow=("Bash",)))
        await session.run("Go")
    check_held(cli, launches=1)


async def test_without_a_policy_nothing_is_judged_until_somebody_resumes_it_who_has_one(
    tmp_path: Path, options: Options, places: Places
) -> None:
    quiet = SimulatedCLI(directory=tmp_path)
    async with Manager.local(places) as manager:
        manager.hold_to(STANDING)
        session = await manager.start(Options(cwd=options.cwd, cli_path=str(quiet.path)))
        await session.run("Go")
        await session.stop()
        (first,) = quiet.launches()
        assert not any(each.startswith("--settings") for each in first.argv)
        assert not any("hooks" in line.get("request", {}) for line in first.received)
        cli = SimulatedCLI(CALLS, directory=tmp_path)
        await session.run("Go")
    check_held(cli, launches=1)

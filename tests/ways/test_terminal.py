"""Whichever command a session is started or continued with, it is held to the configuration's policy."""

from __future__ import annotations

import asyncio
import json
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from handrail import hook
from handrail.places import Places
from handrail.policy.policy import Policy
from handrail.protocol.options import Options
from handrail.sessions.manager import Manager
from handrail.testing.simulated import SimulatedCLI

from ..cli.support import Done, handrail, handrail_process
from .support import RULE, Ruling, asking_cli, check_held, kept_by_claude

pytestmark = pytest.mark.slow


@dataclass
class Machine:
    """A user's directories, a configuration, and a simulated Claude Code."""

    directory: Path
    cli: SimulatedCLI

    @property
    def project(self) -> Path:
        return self.directory / "project"

    @property
    def env(self) -> dict[str, str]:
        names = ("CONFIG", "STATE", "CACHE", "RUNTIME")
        places = {f"HANDRAIL_{name}_DIR": str(self.directory / name.lower()) for name in names}
        return {"HOME": str(self.directory / "home"), "HANDRAIL_CLAUDE_CLI_PATH": str(self.cli.path), **places}

    def configure(self) -> None:
        (self.directory / "config").mkdir(mode=0o700)
        config = f'[claude]\ndisallowed_tools = ["{RULE}"]\n\n[policy]\nprofile = "readonly"\n'
        (self.directory / "config" / "config.toml").write_text(config)

    def run(self, *words: str, code: int = 0) -> Done:
        done = handrail(*words, **self.env)
        assert done.returncode == code, done.stderr
        return done


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    made = Machine(tmp_path, asking_cli(tmp_path / "cli"))
    for directory in (made.project, tmp_path / "home"):
        directory.mkdir()
    return made


def begun(machine: Machine) -> str:
    """The id of a session that `handrail run` started before there was a configuration."""
    machine.run("run", "Begin", "--cwd", str(machine.project))
    (row,) = json.loads(machine.run("ls", "--json").stdout)
    return str(row["id"])


def new(machine: Machine) -> None:
    machine.run("run", "Go", "--cwd", str(machine.project))


def new_with_a_rule(machine: Machine) -> None:
    machine.run("run", "Go", "--cwd", str(machine.project), "--allowed-tools", "Bash")


def new_with_a_profile(machine: Machine) -> None:
    machine.run("run", "Go", "--cwd", str(machine.project), "--policy", "edits")


def adopted(machine: Machine) -> None:
    conversation = kept_by_claude(machine.directory / "home", machine.project)
    machine.run("adopt", conversation)
    machine.run("resume", conversation, "Go")


def adopted_by_running(machine: Machine) -> None:
    conversation = kept_by_claude(machine.directory / "home", machine.project)
    machine.run("run", "Go", "--resume", conversation, "--cwd", str(machine.project))


@pytest.mark.parametrize(
    ("way", "touch"),
    [
        (new, "deny"),
        (new_with_a_rule, "deny"),
        (new_with_a_profile, "ask"),
        (adopted, "deny"),
        (adopted_by_running, "deny"),
    ],
)
def test_new_ones(machine: Machine, way: Callable[[Machine], None], touch: Ruling) -> None:
    machine.configure()
    way(machine)
    check_held(machine.cli, launches=1, touch=touch)


GOES_ON: dict[str, tuple[list[str], Ruling]] = {
    "run --resume": (["run", "Go", "--resume", "ID"], "deny"),
    "run --resume --allowed-tools": (["run", "Go", "--resume", "ID", "--allowed-tools", "Bash"], "deny"),
    "run --resume --policy": (["run", "Go", "--resume", "ID", "--policy", "edits"], "ask"),
    "run --resume --fork": (["run", "Go", "--resume", "ID", "--fork"], "deny"),
    "run --continue": (["run", "Go", "--continue", "--cwd", "PROJECT"], "deny"),
    "resume": (["resume", "ID", "Go"], "deny"),
    "send": (["send", "ID", "Go"], "deny"),
    "fork": (["fork", "ID", "Go"], "deny"),
}


@pytest.mark.parametrize("way", GOES_ON)
def test_what_goes_on_is_held_to_what_is_configured_now(machine: Machine, way: str) -> None:
    session_id = begun(machine)
    machine.configure()
    words, touch = GOES_ON[way]
    machine.run(*(word.replace("ID", session_id).replace("PROJECT", str(machine.project)) for word in words))
    check_held(machine.cli, launches=2, touch=touch)


def test_one_that_a_program_started_without_a_policy_is_held_to_it_too(machine: Machine) -> None:
    session_id = asyncio.run(_by_a_program(machine, policy=None))
    machine.configure()
    machine.run("resume", session_id, "Go")
    check_held(machine.cli, launches=2)


@pytest.mark.parametrize("words", [("resume", "ID", "Go"), ("fork", "ID", "Go"), ("run", "Go", "--resume", "ID")])
def test_one_with_a_policy_of_a_programs_own_does_not_go_on_without_it(machine: Machine, words: tuple[str]) -> None:
    session_id = asyncio.run(_by_a_program(machine, policy=Policy.of("careful")))
    handrail(*(word.replace("ID", session_id) for word in words), **machine.env)
    assert len(machine.cli.launches()) == 1
    machine.configure()
    machine.run("run", "Go", "--resume", session_id, "--policy", "edits")
    check_held(machine.cli, launches=2, touch="ask")


async def test_one_that_runs_is_not_said_to_be_held_to_another_profile(machine: Machine) -> None:
    async with Manager.local(Places.of_user(machine.env), env={"HOME": machine.env["HOME"]}) as manager:
        options = Options(cwd=str(machine.project), cli_path=str(machine.cli.path))
        session = await manager.start(options, policy=Policy.of("careful"))
        words = ("run", "Go", "--resume", session.id, "--policy", "readonly")
        env: dict[str, Any] = machine.env
        done = await asyncio.to_thread(handrail_process, *words, **env)
        assert done.returncode == 2
        assert "runs already, and is held to what it was started with" in " ".join(done.stderr.split())


@hook("PreToolUse")
async def watches(call: Any) -> None:
    """Says nothing to anything."""


async def _by_a_program(machine: Machine, policy: Policy | None) -> str:
    async with Manager.local(Places.of_user(machine.env), env={"HOME": machine.env["HOME"]}) as manager:
        options = Options(cwd=str(machine.project), cli_path=str(machine.cli.path))
        session = await manager.start(options, policy=policy, hooks=[watches])
        await session.run("Begin")
        return session.id


def test_a_worktree_is_held_to_the_policy_of_its_project(machine: Machine) -> None:
    """Also if that is in no commit, and so in no worktree."""
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    for command in (["init", "-q"], [*identity, "commit", "-q", "--allow-empty", "-m", "one"]):
        subprocess.run(["git", *command], cwd=machine.project, check=True)
    (machine.project / ".handrail").mkdir()
    (machine.project / ".handrail" / "policy.toml").write_text(f'profile = "readonly"\ndeny = ["{RULE}"]\n')
    machine.run("run", "Go", "--cwd", str(machine.project), "--worktree", "side")
    assert str(machine.project) not in machine.cli.launches()[0].cwd
    check_held(machine.cli, launches=1)

"""A policy binds, whatever the CLI would have allowed by itself."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from handrail import Deny, Options, Policy, PolicySource, hook
from handrail.places import Places
from handrail.testing.replies import ToolUse

from .support import Asks, Observe, World, bash, subagent, write

PERMISSIVE = {"permissions": {"allow": ["Bash", "Edit", "Write", "WebFetch"], "defaultMode": "bypassPermissions"}}


def allow_everything(world: World) -> None:
    """The user's own settings, and the project's, allow whatever Claude wants."""
    for root in (world.home, world.cwd):
        (root / ".claude").mkdir()
        (root / ".claude" / "settings.json").write_text(json.dumps(PERMISSIVE))


class Handrail:
    """Handrail's own directories, for one test."""

    def __init__(self, directory: Path) -> None:
        self.places = Places(*(str(directory / name) for name in ("config", "state", "cache", "runtime")))
        self.policy_file = directory / "config" / "policy.toml"
        self.policy_file.parent.mkdir(parents=True)

    def write_policy(self, text: str) -> None:
        self.policy_file.write_text(text)


@pytest.fixture
def handrail(tmp_path: Path) -> Handrail:
    return Handrail(tmp_path / "handrail")


def calls(world: World) -> list[Any]:
    return [bash("touch made"), write(world.cwd / "written.txt", "x"), "All right."]


@pytest.mark.parametrize("mode", ["default", "acceptEdits", "bypassPermissions"])
async def test_readonly_holds_against_permissive_settings(world: World, mode: Any) -> None:
    allow_everything(world)
    async with world.live(calls(world), policy=Policy.of("readonly"), options=Options(permission_mode=mode)) as live:
        assert (await live.client.run("Change something")).ok
        first = await live.tool_result_text()
    assert "Handrail's policy" in first
    assert not (world.cwd / "made").exists()
    assert not (world.cwd / "written.txt").exists()


async def test_careful_asks_although_the_settings_allow(world: World) -> None:
    allow_everything(world)
    asks = Asks(Deny("not yet"), Deny("not yet"))
    async with world.live(calls(world), policy=Policy.of("careful"), on_ask=asks) as live:
        assert (await live.client.run("Change something")).ok
    assert [ask.tool_name for ask in asks.asked] == ["Bash", "Write"]
    assert not (world.cwd / "made").exists()
    assert not (world.cwd / "written.txt").exists()


async def test_careful_lets_reads_inside_the_project_pass(world: World) -> None:
    (world.cwd / "notes.txt").write_text("remember the milk")
    asks = Asks()
    script = [ToolUse("Read", {"file_path": str(world.cwd / "notes.txt")}), bash("cat notes.txt"), "Read."]
    async with world.live(script, policy=Policy.of("careful"), on_ask=asks) as live:
        assert (await live.client.run("Read it")).ok
        assert "remember the milk" in await live.tool_result_text(2)
    assert asks.asked == []


async def test_careful_asks_for_a_read_outside_the_project(world: World) -> None:
    allow_everything(world)
    (world.outside / "secret.txt").write_text("secret")
    asks = Asks(Deny("no"))
    script = [ToolUse("Read", {"file_path": str(world.outside / "secret.txt")}), "All right."]
    async with world.live(script, policy=Policy.of("careful"), on_ask=asks) as live:
        assert (await live.client.run("Read it")).ok
    assert len(asks.asked) == 1


async def test_edits_accepts_edits_inside_the_project_only(world: World) -> None:
    asks = Asks(Deny("no"))
    script = [write(world.cwd / "in.txt", "x"), write(world.outside / "out.txt", "x"), "Done."]
    async with world.live(script, policy=Policy.of("edits"), on_ask=asks) as live:
        assert (await live.client.run("Write both")).ok
    assert (world.cwd / "in.txt").exists()
    assert [ask.input["file_path"] for ask in asks.asked] == [str(world.outside / "out.txt")]


@pytest.mark.parametrize("mode", ["default", "acceptEdits", "bypassPermissions"])
async def test_ask_and_deny_rules_hold_in_every_mode(world: World, mode: Any) -> None:
    allow_everything(world)
    asks = Asks(Deny("not that one"))
    policy = Policy.of("trusted", ask=["Bash(touch asked)"], deny=["Bash(touch denied)"])
    script = [bash("touch denied"), bash("touch asked"), "All right."]
    async with world.live(script, policy=policy, on_ask=asks, options=Options(permission_mode=mode)) as live:
        assert (await live.client.run("Touch them")).ok
    assert [ask.input["command"] for ask in asks.asked] == ["touch asked"]
    assert not (world.cwd / "denied").exists()
    assert not (world.cwd / "asked").exists()


async def test_handrails_own_files_and_commands_are_never_allowed_unasked(world: World, handrail: Handrail) -> None:
    asks = Asks(*[Deny("no")] * 3)
    script = [
        bash("handrail policy trust ."),
        bash(f"echo profile > {handrail.policy_file}"),
        write(handrail.policy_file, 'profile = "trusted"'),
        "All right.",
    ]
    policy = PolicySource(str(world.cwd), handrail.places)
    async with world.live(script, policy=policy, on_ask=asks, options=Options(permission_mode="acceptEdits")) as live:
        assert (await live.client.run("Widen it")).ok
    assert len(asks.asked) == 3
    assert not handrail.policy_file.exists()


async def test_a_hostile_repository_cannot_widen_its_policy(world: World, handrail: Handrail) -> None:
    (world.cwd / ".handrail").mkdir()
    hostile = 'profile = "trusted"\nallow = ["Bash", "Write", "Edit"]\ndeny = ["WebFetch"]\n'
    (world.cwd / ".handrail" / "policy.toml").write_text(hostile)
    asks = Asks(Deny("no"), Deny("no"))
    source = PolicySource(str(world.cwd), handrail.places)
    assert source.loaded.held_back is not None
    fetch = ToolUse("WebFetch", {"url": "http://127.0.0.1:9/", "prompt": "x"})
    script = [*calls(world)[:2], fetch, "All right."]
    async with world.live(script, policy=source, on_ask=asks) as live:
        assert (await live.client.run("Change something")).ok
    assert [ask.tool_name for ask in asks.asked] == ["Bash", "Write"]  # and WebFetch is denied: it may tighten
    assert not (world.cwd / "made").exists()
    assert not (world.cwd / "written.txt").exists()


async def test_a_policy_file_that_changes_is_obeyed_at_once(world: World, handrail: Handrail) -> None:
    handrail.write_policy('allow = ["Bash(touch *)"]\n')
    script = [bash("touch one"), "One.", bash("touch two"), "Two."]
    async with world.live(script, policy=PolicySource(str(world.cwd), handrail.places), on_ask=Asks()) as live:
        assert (await live.client.run("One")).ok
        handrail.write_policy('deny = ["Bash(touch *)"]\n')
        assert (await live.client.run("Two")).ok
    assert (world.cwd / "one").exists()
    assert not (world.cwd / "two").exists()


async def test_a_policy_holds_for_subagents_too(world: World) -> None:
    allow_everything(world)
    jobs = {"the job": [bash("touch made"), "Done."]}
    call = subagent(world.cli, "the job", run_in_background=False)
    async with world.live([call, "Done."], policy=Policy.of("readonly"), conversations=jobs) as live:
        await live.client.run("Do it")
    assert not (world.cwd / "made").exists()


@pytest.mark.parametrize("mode", ["acceptEdits", "bypassPermissions"])
async def test_a_repository_cannot_widen_by_the_mode_of_its_subagents(world: World, mode: str) -> None:
    agents = world.cwd / ".claude" / "agents"
    agents.mkdir(parents=True)
    head = f"name: helper\ndescription: helps\npermissionMode: {mode}"
    (agents / "helper.md").write_text(f"---\n{head}\n---\nYou help.\n")
    jobs = {"the job": [write(world.cwd / "written.txt", "x"), bash("touch made"), "Done."]}
    call = subagent(world.cli, "the job", subagent_type="helper", run_in_background=False)
    asks = Asks(Deny("no"), Deny("no"))
    async with world.live([call, "Done."], policy=Policy.of("careful"), conversations=jobs, on_ask=asks) as live:
        await live.client.run("Do it")
    assert not (world.cwd / "made").exists()
    assert not (world.cwd / "written.txt").exists()


async def test_a_hook_that_hangs_lets_nothing_pass(world: World, observe: Observe) -> None:
    """Our own hook beside it still binds, and the one that hangs counts as a refusal."""
    released = asyncio.Event()

    @hook("PreToolUse", timeout=1)
    async def hangs(call: Any) -> None:
        await released.wait()

    allow_everything(world)
    asks = Asks(Deny("no"))
    async with world.live(
        [bash("touch made"), "All right."], policy=Policy.of("careful"), hooks=[hangs], on_ask=asks
    ) as live:
        assert (await live.client.run("Touch it")).ok
        told = await live.tool_result_text()
    released.set()
    observe("hooks: one that hangs, beside a policy", "refused" if "took more than 1 s" in told else told[:60])
    assert not (world.cwd / "made").exists()

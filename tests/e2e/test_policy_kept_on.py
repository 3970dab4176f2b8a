"""Settings of a user or a repository cannot switch the policy off."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from handrail import Deny, Options, Policy

from .support import Asks, World, bash

SIMPLE = {"CLAUDE_CODE_SIMPLE": "1"}
SWITCHED_OFF: dict[str, dict[str, Any]] = {"all hooks": {"disableAllHooks": True}, "a variable": {"env": SIMPLE}}


@pytest.mark.parametrize("setting", SWITCHED_OFF)
@pytest.mark.parametrize("whose", ["settings.json", "settings.local.json", "~"])
async def test_settings_cannot_switch_the_policy_off(world: World, setting: str, whose: str) -> None:
    write_settings(world, whose, {**SWITCHED_OFF[setting], "permissions": {"allow": ["Bash"]}})
    await the_policy_holds(world, Options())


async def test_a_variable_cannot_switch_the_policy_off(world: World) -> None:
    write_settings(world, "~", {"permissions": {"allow": ["Bash"]}})
    await the_policy_holds(world, Options(env=SIMPLE))


async def the_policy_holds(world: World, options: Options) -> None:
    asks = Asks(Deny("not yet"))
    policy = Policy.of("careful", deny=["Bash(touch denied)"])
    script = [bash("touch denied"), bash("touch made"), "Done."]
    async with world.live(script, policy=policy, on_ask=asks, options=options) as live:
        assert (await live.client.run("Touch them")).ok
    assert not (world.cwd / "denied").exists()
    assert not (world.cwd / "made").exists()
    assert [ask.input["command"] for ask in asks.asked] == ["touch made"]


def write_settings(world: World, whose: str, settings: dict[str, Any]) -> None:
    root, name = (world.home, "settings.json") if whose == "~" else (world.cwd, whose)
    directory: Path = root / ".claude"
    directory.mkdir()
    (directory / name).write_text(json.dumps(settings))

"""What the configuration gives Claude Code's environment reaches it again when a session is resumed."""

from __future__ import annotations

from pathlib import Path

import pytest

from handrail.cli.managing import configured_manager
from handrail.config import Claude, Config
from handrail.places import Places
from handrail.protocol.options import Options
from handrail.testing import simulated as sim
from handrail.testing.simulated import SimulatedCLI


@pytest.mark.slow
async def test_a_resumed_session_has_the_environment_of_the_configuration(tmp_path: Path) -> None:
    places = Places(*(str(tmp_path / name) for name in ("config", "state", "cache", "run")))
    config = Config(claude=Claude(env={"ANTHROPIC_AUTH_TOKEN": "of the settings"}))
    cli = SimulatedCLI([sim.loop_turns("You said $text.")], directory=tmp_path)
    async with configured_manager(places, config) as manager:
        options = Options(cli_path=str(cli.path), cwd=str(tmp_path), env=config.claude.env)
        session = await manager.start(options)
        assert (await session.run("one")).ok
    async with configured_manager(places, config) as manager:
        assert (await manager.session(session.id).run("two")).ok
    found = [launch.env.get("ANTHROPIC_AUTH_TOKEN") for launch in cli.launches()]
    assert found == ["of the settings", "of the settings"]

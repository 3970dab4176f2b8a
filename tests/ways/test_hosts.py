"""Sessions on a host are held to the policy of the host's owner, whatever the hub asks for."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from handrail import Hub, Options
from handrail.testing.simulated import SimulatedCLI

from ..host.fleet import Fleet, fleet
from .support import STANDING, Ruling, asking_cli, check_held, kept_by_claude

pytestmark = pytest.mark.slow


@dataclass
class Scene:
    """A host whose owner has a policy, the hub that it works for, and the CLI of its sessions."""

    fleet: Fleet
    cli: SimulatedCLI
    home: Path

    @property
    def cwd(self) -> str:
        return str(self.fleet.host.projects)

    async def ended(self) -> str:
        session = self.fleet.served.manager.session(await self.fleet.start())
        await session.run("Begin")
        await session.stop()
        return session.id

    async def post(self, path: str, **body: Any) -> str:
        return str((await self.fleet.post(path, **body))["id"])


@asynccontextmanager
async def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Scene]:
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    cli = asking_cli(tmp_path / "cli")
    options = Options(cli_path=str(cli.path), include_partial_messages=True)
    async with fleet(tmp_path, policy=STANDING, defaults=options) as made:
        yield Scene(made, cli, home)


async def started(scene: Scene) -> str:
    return await scene.fleet.start()


async def started_with_a_profile(scene: Scene) -> str:
    return await scene.fleet.start(policy="edits")


async def started_from_python(scene: Scene) -> str:
    async with Hub(scene.fleet.served.url, scene.fleet.served.tokens["owner"]) as hub:
        return (await hub.start(Options(cwd=scene.cwd), host="box")).id


async def message_to_one_that_ended(scene: Scene) -> str:
    return await scene.ended()


async def resumed(scene: Scene) -> str:
    return await scene.post(f"/api/sessions/{await scene.ended()}/resume")


async def resumed_with_a_profile(scene: Scene) -> str:
    return await scene.post(f"/api/sessions/{await scene.ended()}/resume", policy="edits")


async def forked(scene: Scene) -> str:
    return await scene.post(f"/api/sessions/{await scene.ended()}/fork")


async def adopted(scene: Scene) -> str:
    conversation = kept_by_claude(scene.home, Path(scene.cwd))
    return await scene.post("/api/adopt", cli_session_id=conversation, host="box")


@pytest.mark.parametrize(
    ("way", "touch"),
    [
        (started, "deny"),
        (started_with_a_profile, "ask"),
        (started_from_python, "deny"),
        (message_to_one_that_ended, "deny"),
        (resumed, "deny"),
        (resumed_with_a_profile, "ask"),
        (forked, "deny"),
        (adopted, "deny"),
    ],
)
async def test_each_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: Callable[[Scene], Awaitable[str]], touch: Ruling
) -> None:
    async with scene(tmp_path, monkeypatch) as made:
        session = made.fleet.served.manager.session(await way(made))
        await session.run("Go")
        check_held(made.cli, touch=touch)

"""Whichever request a session of a hub is started or continued with, it is held to the hub's policy."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from handrail import Hub, Options
from handrail.events.model import AskOpened
from handrail.policy.answers.plan import ApproveInFreshContext
from handrail.policy.storage.loading import Asked
from handrail.server.hub import HubSettings, SessionDefaults
from handrail.sessions.session import Session
from handrail.testing import simulated as sim
from handrail.testing.simulated import SimulatedCLI

from ..server.support import PATIENCE, ServedHub, served_hub
from ..transports.dialling_cli import DiallingCLI
from .support import RULE, STANDING, Ruling, asking_cli, calls, check_held, kept_by_claude

pytestmark = pytest.mark.slow

HELD = HubSettings(defaults=SessionDefaults(policy=STANDING))


@dataclass
class Scene:
    """A hub whose configuration has a policy, and the CLI of its sessions."""

    served: ServedHub
    cli: SimulatedCLI
    home: Path

    @property
    def cwd(self) -> str:
        return str(self.served.directory)

    async def post(self, path: str, **body: Any) -> str:
        async with self.served.client() as owner:
            reply = await owner.post(path, json=body or None)
        assert reply.status_code < 300, reply.text
        return str(reply.json()["id"])

    def session(self, session_id: str) -> Session:
        return self.served.manager.session(session_id)

    async def ended(self) -> str:
        """The id of a session that was started and has ended; it has no more to do with what follows."""
        session = self.session(await self.post("/api/sessions", cwd=self.cwd))
        await session.run("Begin")
        await session.stop()
        return session.id


@asynccontextmanager
async def scene(tmp_path: Path, *, cli: SimulatedCLI | None = None) -> AsyncIterator[Scene]:
    home = tmp_path / "home"
    home.mkdir(exist_ok=True)
    cli = cli or asking_cli(tmp_path / "cli")
    async with served_hub(tmp_path / "hub", settings=HELD, cli=cli, env={"HOME": str(home)}) as served:
        yield Scene(served, cli, home)


# ---------------------------------------------------------------- requests


async def started(scene: Scene) -> str:
    return await scene.post("/api/sessions", cwd=scene.cwd)


async def started_with_a_profile(scene: Scene) -> str:
    return await scene.post("/api/sessions", cwd=scene.cwd, policy="edits")


async def started_with_rules(scene: Scene) -> str:
    return await scene.post("/api/sessions", cwd=scene.cwd, policy={"allow": ["Bash"]})


async def started_in_a_worktree(scene: Scene) -> str:
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    for command in (["init", "-q"], [*identity, "commit", "-q", "--allow-empty", "-m", "one"]):
        await asyncio.to_thread(subprocess.run, ["git", *command], cwd=scene.cwd, check=True)
    return await scene.post("/api/sessions", cwd=scene.cwd, worktree="side")


async def message_to_one_that_ended(scene: Scene) -> str:
    return await scene.ended()


async def resumed(scene: Scene) -> str:
    return await scene.post(f"/api/sessions/{await scene.ended()}/resume")


async def resumed_with_a_profile(scene: Scene) -> str:
    return await scene.post(f"/api/sessions/{await scene.ended()}/resume", policy="edits")


async def resumed_with_another_budget(scene: Scene) -> str:
    return await scene.post(f"/api/sessions/{await scene.ended()}/resume", budget=9.0)


async def forked(scene: Scene) -> str:
    return await scene.post(f"/api/sessions/{await scene.ended()}/fork")


async def adopted(scene: Scene) -> str:
    return await scene.post("/api/adopt", cli_session_id=kept_by_claude(scene.home, Path(scene.cwd)))


async def started_from_python(scene: Scene) -> str:
    async with Hub(scene.served.url, scene.served.tokens["owner"]) as hub:
        return (await hub.start(Options(cwd=scene.cwd))).id


async def started_from_python_with_a_policy(scene: Scene) -> str:
    async with Hub(scene.served.url, scene.served.tokens["owner"]) as hub:
        return (await hub.start(Options(cwd=scene.cwd), policy=Asked(profile="edits"))).id


async def resumed_from_python(scene: Scene) -> str:
    async with Hub(scene.served.url, scene.served.tokens["owner"]) as hub:
        return (await hub.resume(await scene.ended())).id


async def forked_from_python(scene: Scene) -> str:
    async with Hub(scene.served.url, scene.served.tokens["owner"]) as hub:
        return (await hub.fork(await scene.ended())).id


@pytest.mark.parametrize(
    ("way", "touch"),
    [
        (started, "deny"),
        (started_with_a_profile, "ask"),
        (started_with_rules, "deny"),
        (started_in_a_worktree, "deny"),
        (message_to_one_that_ended, "deny"),
        (resumed, "deny"),
        (resumed_with_a_profile, "ask"),
        (resumed_with_another_budget, "deny"),
        (forked, "deny"),
        (adopted, "deny"),
        (started_from_python, "deny"),
        (started_from_python_with_a_policy, "ask"),
        (resumed_from_python, "deny"),
        (forked_from_python, "deny"),
    ],
)
async def test_each_request(tmp_path: Path, way: Callable[[Scene], Awaitable[str]], touch: Ruling) -> None:
    async with scene(tmp_path) as made:
        session = made.session(await way(made))
        await session.run("Go")
        check_held(made.cli, touch=touch)


async def test_a_profile_that_is_named_later_takes_back_no_rule_of_the_session(tmp_path: Path) -> None:
    async with scene(tmp_path) as made:
        wish = {"profile": "careful", "deny": ["Bash(touch *)"]}
        session = made.session(await made.post("/api/sessions", cwd=made.cwd, policy=wish))
        await session.run("Begin")
        await session.stop()
        await made.post(f"/api/sessions/{session.id}/resume", policy="edits")
        await session.run("Go")
        check_held(made.cli, launches=2, touch="deny")


# ---------------------------------------------------------------- without a request


async def test_what_goes_on_after_a_restart_of_the_hub(tmp_path: Path) -> None:
    cli = asking_cli(tmp_path / "cli")
    async with served_hub(tmp_path / "hub", cli=cli) as before:  # which has no policy of its own
        session = await before.manager.start(Options(cwd=str(before.directory), cli_path=str(cli.path)), policy=Asked())
        await session.run("Begin")
    async with scene(tmp_path, cli=cli) as made:
        await made.session(session.id).run("Go")
        check_held(cli, launches=2)


async def test_a_plan_in_a_fresh_context(tmp_path: Path) -> None:
    directory = tmp_path / "cli"
    directory.mkdir()
    cli = SimulatedCLI([calls(sim.ask("ExitPlanMode", {"plan": "1. Bake"}))], directory=directory)
    async with scene(tmp_path, cli=cli) as made:
        session = made.session(await made.post("/api/sessions", cwd=made.cwd))
        await session.send("Plan it")
        opened = await _opened(session)
        await session.decide(opened.ask_id, ApproveInFreshContext("acceptEdits"), digest=opened.digest)
        await _opened(session, after=opened.seq)
        check_held(cli, launches=2)


async def _opened(session: Session, after: int = 0) -> AskOpened:
    async with asyncio.timeout(PATIENCE):
        async for item in session.subscribe(after, deltas=False):
            if isinstance(item, AskOpened):
                return item
    raise AssertionError("nothing was asked")


# ---------------------------------------------------------------- started elsewhere


async def test_one_that_dials_in_is_held_to_it_by_its_line_and_by_the_hook(tmp_path: Path) -> None:
    async with scene(tmp_path) as made, made.served.client() as owner:
        line = (await owner.post("/api/ingress", json={"cwd": "/there"})).json()
        (settings,) = [each for each in line["command"] if each.startswith("--settings=")]
        assert RULE in settings
        assert '"disableAllHooks":false' in settings
        async with DiallingCLI(line["url"], line["token"]) as cli:
            await cli.dial()
            await cli.until(lambda: cli.received)
            assert await _ruling(cli, "rm -rf build") == "deny"
            assert await _ruling(cli, "touch made") == "deny"


async def _ruling(cli: DiallingCLI, command: str) -> str:
    hooks = cli.received[0]["request"]["hooks"]["PreToolUse"]
    call = {"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": command}, "cwd": "/there"}
    request = {"subtype": "hook_callback", "callback_id": hooks[0]["hookCallbackIds"][0], "input": call}
    await cli.say({"type": "control_request", "request_id": command, "request": {**request, "tool_use_id": command}})

    def answer() -> Any:
        return next((each for each in cli.received if each.get("response", {}).get("request_id") == command), None)

    await cli.until(answer)
    return str(answer()["response"]["response"]["hookSpecificOutput"]["permissionDecision"])

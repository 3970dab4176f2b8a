"""A hub that is really served, over a real database and with simulated sessions, for tests of any part of it."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import httpx2

from handrail.places import Places
from handrail.policy.storage.loading import Asked
from handrail.protocol.options import Options
from handrail.server.app import make_app
from handrail.server.hub import ClaudeStatus, Finding, Hub, HubSettings, SessionDefaults
from handrail.server.roles import ROLES, Role
from handrail.server.running import HubServer, listen
from handrail.sessions.manager import Manager
from handrail.sessions.session import Session
from handrail.testing import simulated as sim
from handrail.testing.simulated import SimulatedCLI

PATIENCE = 60.0
ASKS = (
    sim.turn(
        "Let me look.",
        sim.tool("Bash", {"command": "rm -rf build", "description": "Remove the build"}, output="done"),
        "All clean.",
    ),
    sim.loop_turns("You said $text."),
)
"""A session that asks once, and then repeats what it is told."""


@dataclass
class Around:
    """What the hub is told of the machine."""

    status: ClaudeStatus = field(default_factory=lambda: ClaudeStatus(found=True, version="2.1.325", logged_in=False))
    demo: Callable[[], Any] | None = None

    async def claude(self) -> ClaudeStatus:
        return self.status

    async def findings(self) -> Sequence[Finding]:
        return [Finding(area="git", level="ok", words="git is there")]

    async def start_demo(self) -> Session:
        assert self.demo is not None
        session: Session = await self.demo()
        return session


@dataclass
class ServedHub:
    """A hub, its address, and a token for each role."""

    hub: Hub
    url: str
    tokens: Mapping[Role, str]
    directory: Path
    manager: Manager

    def client(self, role: Role | None = "owner", **headers: str) -> httpx2.AsyncClient:
        """Somebody with a token of this role."""
        if role is not None:
            headers = {"authorization": f"Bearer {self.tokens[role]}", **headers}
        return httpx2.AsyncClient(base_url=self.url, headers=headers, timeout=PATIENCE, trust_env=False, verify=False)

    def simulated(self, *steps: sim.Step) -> SimulatedCLI:
        """A CLI that follows a script."""
        directory = self.directory / f"cli-{len(list(self.directory.iterdir()))}"
        return SimulatedCLI(steps or ASKS, directory=_made(directory))

    async def session(self, *steps: sim.Step, policy: Asked | None = None) -> Session:
        """A session on a simulated CLI, started beside the API."""
        cli = self.simulated(*steps)
        return await self.manager.start(Options(cli_path=str(cli.path), cwd=str(self.directory)), policy=policy)

    async def asked(self, session: Session) -> Any:
        """What the session asks, once it does."""
        async with asyncio.timeout(PATIENCE):
            while not (rows := await session.asks()):
                await asyncio.sleep(0.01)
        return rows[0]


@asynccontextmanager
async def served_hub(
    directory: Path,
    *,
    settings: HubSettings | None = None,
    cli: SimulatedCLI | None = None,
    options: Options | None = None,
    env: Mapping[str, str] | None = None,
    around: Around | None = None,
) -> AsyncIterator[ServedHub]:
    """A hub on a free port of loopback. Without `options` its sessions run on a simulated CLI."""
    projects = _made(directory / "projects")
    places = Places(*(str(directory / name) for name in ("config", "state", "cache", "run")))
    if options is None:
        cli = cli or SimulatedCLI(ASKS, directory=_made(directory / "cli"))
        options = Options(cli_path=str(cli.path), include_partial_messages=True)
    settings = settings or HubSettings()
    defaults = SessionDefaults(options=options, policy=settings.defaults.policy)
    settings = replace(settings, port=0, defaults=defaults, roots=(str(projects),))
    async with Manager.local(places, env=env) as manager:
        listener: socket.socket = listen(settings)
        settings = replace(settings, port=listener.getsockname()[1])
        async with Hub(manager, settings, around or Around()) as hub:
            tokens = {role: (await hub.tokens.mint(f"{role} of the tests", role))[1] for role in ROLES}
            async with HubServer(make_app(hub), [listener]):
                try:
                    yield ServedHub(hub, settings.url, tokens, projects, manager)
                finally:
                    await hub.live.stop()


def _made(directory: Path) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    return directory

"""A host with its own journal and a simulated Claude Code, for tests of the agent."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from handrail.errors import HostRefused
from handrail.host.agent import HostAgent, News
from handrail.host.dialling import Backoff
from handrail.host.facts import FactsSource
from handrail.host.identity import HostIdentity
from handrail.host.limits import HostLimits
from handrail.places import Places
from handrail.protocol.options import Options
from handrail.sessions.manager import Manager
from handrail.store.place import store_path
from handrail.store.sqlite import SqliteStore
from handrail.testing import simulated as sim
from handrail.testing.simulated import SimulatedCLI

PATIENCE = 30.0
ECHO = (sim.loop_turns("You said $text."),)
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
class RunningHost:
    """A host, the directory that it may work in, and what it said of its connection."""

    agent: HostAgent
    manager: Manager
    projects: Path
    running: asyncio.Future[None]
    news: list[News] = field(default_factory=list)

    async def told(self, kind: str) -> News:
        """What it says of this kind next."""
        found: News = await eventually(lambda: next((news for news in self.news if news.kind == kind), None))
        return found


async def eventually(look: Callable[[], Any]) -> Any:
    """What `look` finds, or gives when awaited, once that is something."""
    async with asyncio.timeout(PATIENCE):
        while True:
            found = look()
            if isinstance(found, Awaitable):
                found = await found
            if found:
                return found
            await asyncio.sleep(0.01)


def places_in(directory: Path) -> Places:
    return Places(*(str(made(directory / name)) for name in ("config", "state", "cache", "run")))


def made(directory: Path) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    return directory


@asynccontextmanager
async def host_manager(directory: Path) -> AsyncIterator[Manager]:
    places = places_in(directory)
    async with Manager(SqliteStore(store_path(places)), places) as manager:
        yield manager


@asynccontextmanager
async def running_host(
    directory: Path,
    hub_url: str,
    *steps: sim.Step,
    key: str = "hrh_secret",
    manager: Manager | None = None,
    **limits: Any,
) -> AsyncIterator[RunningHost]:
    """A host that dials a hub. Its sessions run on a simulated CLI, which follows the steps."""
    projects = made(directory / "projects")
    cli = SimulatedCLI(steps or ECHO, directory=made(directory / "cli"))
    bounds = HostLimits(
        roots=(str(projects),),
        **{"defaults": Options(cli_path=str(cli.path), include_partial_messages=True), **limits},
    )
    identity = HostIdentity(hub=hub_url, host_id="h1", name="box", key=key)
    if manager is None:
        async with host_manager(directory) as own, _agent(own, identity, bounds, projects) as host:
            yield host
        return
    async with _agent(manager, identity, bounds, projects) as host:
        yield host


@asynccontextmanager
async def _agent(
    manager: Manager, identity: HostIdentity, limits: HostLimits, projects: Path
) -> AsyncIterator[RunningHost]:
    news: list[News] = []
    facts = FactsSource(manager.places.state, limits, labels=("gpu",))
    agent = HostAgent(
        manager,
        identity=identity,
        limits=limits,
        facts=facts,
        on_news=news.append,
        backoff=Backoff(pick=lambda: 0.0),
        sleep=lambda seconds: asyncio.sleep(seconds / 20),
    )
    async with agent:
        running = asyncio.ensure_future(agent.run())
        try:
            yield RunningHost(agent, manager, projects, running, news)
        finally:
            running.cancel()
            with suppress(asyncio.CancelledError, HostRefused):
                await running

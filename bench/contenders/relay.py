"""Handrail on several machines: sessions on hosts, each a process of its own, and their hub in this process.

The socket between them is a real one, of loopback. Readers are the hub's: they follow the copies that it has.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path

from bench.common import ROOT, clean_environment, cpu_seconds
from bench.contenders.journal import places_in
from handrail import Options
from handrail.host.identity import HostIdentity, save_identity
from handrail.server.app import make_app
from handrail.server.hub import ClaudeStatus, Finding, Hub, HubSettings
from handrail.server.running import HubServer, listen
from handrail.sessions.manager import Manager
from handrail.sessions.session import Session

__all__ = ["Fleet", "HostProcess", "works"]

STARTED_AT_ONCE = 4


class HostProcess:
    """A host, as this process sees it."""

    def __init__(self, name: str, directory: Path, process: asyncio.subprocess.Process) -> None:
        self.name = name
        self.directory = directory
        self.process = process

    async def line(self) -> str:
        assert self.process.stdout is not None
        line = (await self.process.stdout.readline()).decode().strip()
        assert line, f"{self.name} ended"
        return line

    async def cpu_seconds(self) -> float:
        """What it has used so far, without its CLIs."""
        assert self.process.stdin is not None
        self.process.stdin.write(b"cpu\n")
        return float(await self.line())


class Fleet:
    """A hub, and its hosts."""

    def __init__(self, hub: Hub, hosts: Sequence[HostProcess]) -> None:
        self.hub = hub
        self.manager = hub.manager
        self.hosts = hosts

    async def start(self, count: int) -> list[Session]:
        """So many sessions, in turn on each host, a few at a time."""
        places = asyncio.Semaphore(STARTED_AT_ONCE * len(self.hosts))

        async def start_one(host: HostProcess) -> Session:
            async with places:
                return await self.manager.start(Options(cwd=str(host.directory)), host=host.name)

        return await asyncio.gather(*(start_one(self.hosts[n % len(self.hosts)]) for n in range(count)))

    async def spent(self) -> Mapping[str, float]:
        return {"hub": cpu_seconds(), "hosts": sum([await host.cpu_seconds() for host in self.hosts])}


@asynccontextmanager
async def works(cli: str, hosts: int) -> AsyncIterator[Fleet]:
    """A hub that is served, and hosts that are connected to it."""
    with tempfile.TemporaryDirectory(prefix="handrail-bench-") as name:
        directory = Path(name)
        async with served(directory / "hub") as hub, AsyncExitStack() as stack:
            opened = [host_process(hub, directory / f"host-{n}", cli, f"host-{n}") for n in range(hosts)]
            yield Fleet(hub, [await stack.enter_async_context(each) for each in opened])


@asynccontextmanager
async def served(directory: Path) -> AsyncIterator[Hub]:
    settings = HubSettings(port=0)
    listener = listen(settings)
    settings = replace(settings, port=listener.getsockname()[1])
    async with (
        Manager.local(places_in(directory)) as manager,
        Hub(manager, settings, Surroundings()) as hub,
        HubServer(make_app(hub), [listener]),
    ):
        yield hub
        await hub.live.stop()
        await hub.hosts.stop()


@asynccontextmanager
async def host_process(hub: Hub, directory: Path, cli: str, name: str) -> AsyncIterator[HostProcess]:
    """A host that is enrolled and connected."""
    known, key = await hub.hosts.registry.enrol(name, by="bench")
    _keep(HostIdentity(hub=hub.settings.url, host_id=known.id, name=name, key=key), directory)
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "bench.host", str(directory), cli),
        cwd=ROOT,
        env=clean_environment(),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    host = HostProcess(name, directory, process)
    try:
        assert await host.line() == "ready"
        yield host
    finally:
        await _ended(process)


def _keep(identity: HostIdentity, directory: Path) -> None:
    state = Path(places_in(directory).state)
    state.mkdir(parents=True)
    save_identity(state, identity)


async def _ended(process: asyncio.subprocess.Process) -> None:
    """Have it end by itself, so that it stops its CLIs."""
    assert process.stdin is not None
    process.stdin.close()
    try:
        async with asyncio.timeout(20):
            await process.wait()
    except TimeoutError:
        process.kill()
        await process.wait()


class Surroundings:
    """What a hub needs of the program that runs it, as far as anything of that is used here."""

    async def claude(self) -> ClaudeStatus:
        return ClaudeStatus(found=False)

    async def findings(self) -> Sequence[Finding]:
        return []

    async def start_demo(self) -> Session:
        raise NotImplementedError

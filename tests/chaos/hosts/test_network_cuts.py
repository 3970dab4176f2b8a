"""Hub and host on two machines, with the real CLI, and the network between them as networks are.

While it is cut, or the hub is away, a turn goes on: what the policy of the host allows runs, what a person must decide
waits. Afterwards the answer arrives once, and the hub has the host's journal, row by row.
"""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from handrail.testing import CLIUnavailable, claude_cli, cli_slot
from handrail.transports.process_tree import system_processes

from .journals import asks_in, markers_of, session_row, starts_of, until_equal
from .machines import HostMachine, HubMachine, Process, eventually
from .networks import HUB_ADDRESS, HUB_PORT, Network, network

pytestmark = [pytest.mark.slow, pytest.mark.real_cli]

HERE = Path(__file__).parent
MODEL_PORT = 4299
LASTS = 3.0
"""Seconds of a cut: several tries to connect fall into it."""
HUB_URL = f"wss://{HUB_ADDRESS}:{HUB_PORT}"
SCRIPT = """
[[main]]
tools = [{ name = "Bash", input = { command = "./step.sh one", description = "Wait" } }]
[[main]]
tools = [{ name = "Bash", input = { command = "./step.sh two", description = "Go on" } }]
[[main]]
tools = [{ name = "Bash", input = { command = "./danger.sh first", description = "Risk something" } }]
[[main]]
text = "The first is done."
[[main]]
tools = [{ name = "Bash", input = { command = "./danger.sh second", description = "Risk more" } }]
[[main]]
text = "The second is done."
"""
SCRIPT_OF_ONE_THAT_DIES = """
[[main]]
tools = [{ name = "Bash", input = { command = "./danger.sh first", description = "Risk something" } }]
[[main]]
text = "Here again."
times = 9
"""
STEP = """#!/bin/sh
echo "$1" >> begun
until [ -e "go-$1" ]; do sleep 0.05; done
echo "$1" >> done
"""
DANGER = """#!/bin/sh
echo "$1" >> risked
"""
CONFIG_OF_HUB = f"""
[hub]
host = "{HUB_ADDRESS}"
port = {HUB_PORT}
tls_certificate = "{{certificate}}"
tls_key = "{{key}}"
open_browser = false
probe_hours = 0
"""
CONFIG_OF_HOST = """
[claude]
cli_path = "{cli}"
use_api_billing = true
allowed_tools = ["Bash(./step.sh *)"]
[host]
probe_hours = 0
drain_seconds = 0
"""


@dataclass
class World:
    """A hub and a host of it, each on its side of a cable."""

    network: Network
    hub: HubMachine
    host: HostMachine

    @property
    def copy(self) -> Path:
        return self.hub.database

    def lines(self, name: str) -> list[str]:
        """What the commands of Claude have written."""
        path = self.host.project / name
        return path.read_text().split() if path.exists() else []

    def allow_to_go_on(self, step: str) -> None:
        (self.host.project / f"go-{step}").touch()

    async def asks_there(self, session: str, *states: str) -> None:
        """Wait until the host has asks in these states."""
        await eventually(
            lambda: [state for state, _ in asks_in(self.host.journal, session)] == list(states), f"asks are {states}"
        )

    async def equal(self, session: str) -> None:
        await until_equal(self.copy, self.host.journal, session)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of the hub, for its address; signed by itself. The key lies beside it."""
    path = tmp_path_factory.mktemp("tls") / "certificate.pem"
    made = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    made += ["-days", "2", "-subj", "/CN=hub", "-addext", f"subjectAltName=IP:{HUB_ADDRESS}"]
    made += ["-keyout", str(path.with_name("key.pem")), "-out", str(path)]
    subprocess.run(made, check=True, capture_output=True)
    return path


@pytest.fixture
def cable() -> Iterator[Network]:
    with network() as found:
        yield found


@pytest.fixture
def script() -> str:
    """What the model says."""
    return SCRIPT


@pytest.fixture
async def world(cable: Network, tmp_path: Path, script: str, request: pytest.FixtureRequest) -> AsyncIterator[World]:
    try:
        cli = claude_cli()
    except CLIUnavailable as error:
        pytest.skip(str(error))
    certificate: Path = request.getfixturevalue("certificate")
    (tmp_path / "script.toml").write_text(script)
    async with cli_slot(), made_world(cable, tmp_path, certificate, str(cli.path)) as made:
        yield made


@asynccontextmanager
async def made_world(cable: Network, directory: Path, certificate: Path, cli: str) -> AsyncIterator[World]:
    key = certificate.with_name("key.pem")
    hub = HubMachine(
        directory / "hub",
        within=cable.within(cable.hub),
        config=CONFIG_OF_HUB.format(certificate=certificate, key=key),
    )
    host = HostMachine(
        directory / "host",
        within=cable.within(cable.host),
        config=CONFIG_OF_HOST.format(cli=cli),
        env={"SSL_CERT_FILE": str(certificate), "TERM": "dumb", **model_env()},
    )
    furnish(host.project)
    script = str(directory / "script.toml")
    async with host.running(sys.executable, str(HERE / "model_main.py"), script, str(MODEL_PORT)) as model:
        await model.until("the model is there")
        await hub.serve()
        try:
            await host.join(hub, HUB_URL)
            yield World(cable, hub, host)
        finally:
            cable.heal()
            for process in (getattr(host, "process", None), hub.process):
                if isinstance(process, Process):
                    await process.end(signal.SIGKILL)


def furnish(project: Path) -> None:
    for name, text in (("step.sh", STEP), ("danger.sh", DANGER)):
        (project / name).write_text(text)
        (project / name).chmod(0o755)


def model_env() -> dict[str, str]:
    return {
        "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{MODEL_PORT}",
        "ANTHROPIC_API_KEY": "scripted-model",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        "IS_SANDBOX": "1",
        "NO_PROXY": "127.0.0.1",
    }


# ------------------------------------------------------------ faults that pass


class Fault:
    """Something between hub and host that breaks, and is well again. `hub_is_there`: requests to the hub work."""

    hub_is_there = True

    def __init__(self, world: World) -> None:
        self.world = world

    async def begin(self) -> None: ...

    async def end(self) -> None: ...


class Unplugged(Fault):
    async def begin(self) -> None:
        self.world.network.unplug()

    async def end(self) -> None:
        self.world.network.plug_in()


class Dropped(Fault):
    async def begin(self) -> None:
        self.world.network.drop()

    async def end(self) -> None:
        self.world.network.heal()


class Reset(Dropped):
    async def begin(self) -> None:
        self.world.network.reset()


class HubKilled(Fault):
    hub_is_there = False
    how = signal.SIGKILL

    async def begin(self) -> None:
        await self.world.hub.process.end(self.how)

    async def end(self) -> None:
        await self.world.hub.serve()


class HubUpgraded(HubKilled):
    how = signal.SIGTERM


class HubKilledBehindACut(HubKilled):
    """The host never hears of the end of its connection: it finds a hub that does not know it."""

    async def begin(self) -> None:
        self.world.network.drop()
        await super().begin()

    async def end(self) -> None:
        await super().end()
        self.world.network.heal()


async def for_a_while() -> None:
    """Cuts last: whatever is tried again meanwhile is tried in vain."""
    await asyncio.sleep(LASTS)


async def a_turn_goes_on(world: World, fault: Fault) -> str:
    """The cut comes in the middle of a turn; gives the session."""
    hub = world.hub
    session = await hub.start_session(world.host.project, "go")
    await eventually(lambda: world.lines("begun") == ["one"], "the first step has begun")
    await fault.begin()
    world.allow_to_go_on("one")
    world.allow_to_go_on("two")
    await eventually(lambda: world.lines("done") == ["one", "two"], "policy has answered during the cut")
    await world.asks_there(session, "sent", "sent", "pending")
    assert len(asks_in(world.copy, session)) < 3, "the hub cannot know it yet"
    await for_a_while()
    await fault.end()
    ask = await hub.asked(session)
    assert world.lines("risked") == []
    await hub.answer(ask)
    assert (await hub.answer(ask, status=409))["code"] == "already_decided"
    await hub.said(session, "The first is done.")
    assert world.lines("risked") == ["first"]
    await world.equal(session)
    return session


async def an_ask_waits(world: World, fault: Fault, session: str) -> None:
    """The cut comes while somebody is asked."""
    hub = world.hub
    await hub.send(session, "more")
    ask = await hub.asked(session)
    await fault.begin()
    early = asyncio.create_task(hub.answer(ask)) if fault.hub_is_there else None
    await for_a_while()
    assert world.lines("risked") == ["first"]
    await world.asks_there(session, "sent", "sent", "sent", "pending")
    await fault.end()
    if early is None:
        await hub.until_host("connected")
        await hub.answer(ask)
    else:
        await early
    await hub.said(session, "The second is done.")
    assert (await hub.answer(ask, status=409))["code"] == "already_decided"
    assert world.lines("risked") == ["first", "second"]
    await world.equal(session)
    assert [state for state, _ in asks_in(world.copy, session)] == ["sent"] * 4


@pytest.mark.parametrize("kind", [Unplugged, Dropped, Reset, HubKilled, HubUpgraded, HubKilledBehindACut])
async def test_a_cut_touches_nothing_that_runs(world: World, kind: type[Fault]) -> None:
    session = await a_turn_goes_on(world, kind(world))
    await an_ask_waits(world, kind(world), session)
    assert starts_of(world.host.journal, session) == ["new", "running"], "Claude Code was started once"


async def test_a_connection_that_a_firewall_forgot_is_noticed(world: World) -> None:
    """Nothing ever says that it is over. Both sides find out by themselves, and the host connects anew."""
    hub = world.hub
    for step in ("one", "two"):
        world.allow_to_go_on(step)
    session = await hub.start_session(world.host.project, "go")
    await eventually(
        lambda: [state for state, _ in asks_in(world.copy, session)] == ["sent", "sent", "pending"], "a person is asked"
    )
    ask = await hub.asked(session)
    world.network.forget()
    await hub.answer(ask)  # waits until the host is there again
    await hub.said(session, "The first is done.")
    assert world.lines("risked") == ["first"]
    await world.equal(session)
    assert "connected again" in world.host.process.said


# ------------------------------------------------------------ a host that dies


@pytest.mark.parametrize("script", [SCRIPT_OF_ONE_THAT_DIES], ids=[""])
async def test_a_host_that_is_killed_says_what_was_lost_and_goes_on(world: World) -> None:
    hub, host = world.hub, world.host
    session = await hub.start_session(host.project, "go")
    ask = await hub.asked(session)
    marks = set(markers_of(host.journal, session))
    assert not are_gone(marks)
    await host.process.end(signal.SIGKILL)
    await hub.until_host("away")
    assert (await hub.answer(ask, status=503))["code"] == "host_away"
    await host.work()
    await eventually(lambda: session_row(world.copy, session)["owner"] is None, "the session claims nothing any more")
    await world.equal(session)
    assert [state for state, _ in asks_in(world.copy, session)] == ["lost"]
    assert session_row(world.copy, session)["status"] in ("stopped", "failed")
    await eventually(lambda: are_gone(marks), "the Claude Code of the agent that was killed has ended, too")
    await hub.post(f"/api/sessions/{session}/resume", {})
    await hub.send(session, "go on")
    await hub.said(session, "Here again.")
    await world.equal(session)
    assert world.lines("risked") == [], "what was lost was never done"


def are_gone(markers: set[str]) -> bool:
    """Whether no process carries one of these marks any more."""
    return not any(markers & set(process.markers) for process in system_processes().table().values())

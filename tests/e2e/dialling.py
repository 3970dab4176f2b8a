"""A real CLI that connects by itself, through a `Middle`, to an address that we serve."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any

from handrail.events.model import Action
from handrail.protocol.dialling import dialling_command_line, dialling_environment
from handrail.protocol.options import Options
from handrail.sessions.asking import OnAsk
from handrail.sessions.client import connect
from handrail.sessions.session import Session
from handrail.testing.cli_sandbox import cli_slot
from handrail.testing.model import ScriptedModel
from handrail.transports.base import Receiver
from handrail.transports.ingress.listener import LoopbackIngress
from handrail.transports.ingress.transport import IngressTransport, Surroundings

from ..server.support import ServedHub, served_hub
from .middle import Middle
from .support import DEADLINE, GUARD, FrameLog, Live, Script, Tee, World, events_of


class LoggedIngress(IngressTransport):
    """The served end, with a log that is complete whenever the client has seen something."""

    log: FrameLog

    async def open(self, receiver: Receiver) -> None:
        self.log = FrameLog()
        await super().open(Tee(receiver, self.log))


@dataclass
class Dialled(Live):
    """A client whose CLI has connected by itself."""

    transport: LoggedIngress  # type: ignore[assignment]  # whoever looks at the log finds one
    middle: Middle
    process: asyncio.subprocess.Process
    notices: list[str]
    """What the session would be told of losses."""


@asynccontextmanager
async def dialled(
    world: World,
    script: Script = (),
    *,
    options: Options | None = None,
    on_ask: OnAsk | None = None,
    window: float | None = None,
) -> AsyncIterator[Dialled]:
    """A client, and a CLI that was started for itself and connects to it."""
    chosen = world.complete(options or Options(transport="websocket"))
    notices: list[str] = []
    transport = LoggedIngress(around=Surroundings(notice=notices.append), window=window)
    async with (
        ScriptedModel(script) as model,
        cli_slot(),
        asyncio.timeout(GUARD),
        LoopbackIngress(transport) as ingress,
        Middle(ingress.url) as middle,
        started(world, model, chosen, middle.url, ingress.token) as process,
        connect(chosen, on_ask=on_ask, transport=transport) as client,
    ):
        yield Dialled(client, model, transport, middle, process, notices)


@asynccontextmanager
async def started(
    world: World, model: ScriptedModel, options: Options, url: str, token: str
) -> AsyncIterator[asyncio.subprocess.Process]:
    """A CLI that connects to `url`, as somebody would start it in a shell."""
    command = dialling_command_line(options, world.cli.argv, url)
    env = {**world.environment(model, options), **dialling_environment(options, token=token)}
    async with running(command, env, str(world.cwd)) as process:
        yield process


@asynccontextmanager
async def running(
    command: Sequence[str], env: Mapping[str, str], cwd: str
) -> AsyncIterator[asyncio.subprocess.Process]:
    """A process that does not outlive the test."""
    nothing = asyncio.subprocess.DEVNULL
    process = await asyncio.create_subprocess_exec(*command, env=env, cwd=cwd, stdin=nothing, stdout=nothing)
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()


def frames_of(frames: Sequence[Mapping[str, Any]], kind: str) -> list[Mapping[str, Any]]:
    """Those of a type, as they were on the wire."""
    return [frame for frame in frames if frame.get("type") == kind]


# ---------------------------------------------------------------- at a hub


@dataclass
class AtHub:
    """A session of a hub whose CLI was started elsewhere, and has connected through a `Middle`."""

    hub: ServedHub
    session: Session
    model: ScriptedModel
    middle: Middle
    process: asyncio.subprocess.Process

    async def noted(self, words: str) -> None:
        """Wait until the journal says so."""
        async with asyncio.timeout(DEADLINE):
            while not any(words in note for note in await self.notes()):
                await asyncio.sleep(0.02)

    async def notes(self) -> list[str]:
        """What the journal says of the session beside what Claude did."""
        return [event.title for event in await events_of(self.session, Action) if event.kind in ("note", "warning")]


@asynccontextmanager
async def at_hub(
    world: World, script: Script = (), *, transport: str = "websocket", mode: str = "default"
) -> AsyncIterator[AtHub]:
    """A hub, a session that it expects, and the CLI for it, started with the line that the hub gives out."""
    async with (
        ScriptedModel(script) as model,
        cli_slot(),
        asyncio.timeout(GUARD),
        served_hub(world.home.parent) as hub,
    ):
        line = await new_line(hub, cwd=str(world.cwd), transport=transport, mode=mode)
        async with Middle(line["url"]) as middle, dialling_in(world, model, line, middle.url) as process:
            session = hub.manager.session(line["id"])
            await seated(session)
            yield AtHub(hub, session, model, middle, process)


async def seated(session: Session) -> None:
    """Wait until the CLI of a session is there."""
    await _until(session, lambda status: status != "waiting")


async def waiting(session: Session) -> None:
    """Wait until the CLI of a session is not there any more."""
    await _until(session, lambda status: status == "waiting")


async def idle(session: Session) -> None:
    """Wait until a session has nothing to do."""
    await _until(session, lambda status: status == "idle")


async def _until(session: Session, condition: Callable[[str], bool]) -> None:
    async with asyncio.timeout(DEADLINE):
        while not condition((await session.row()).status):
            await asyncio.sleep(0.02)


async def new_line(hub: ServedHub, **wanted: Any) -> dict[str, Any]:
    """What `handrail ingress new` is told by the hub."""
    async with hub.client() as client:
        response = await client.post("/api/ingress", json=wanted)
        assert response.status_code == 201, response.text
        line: dict[str, Any] = response.json()
        return line


@asynccontextmanager
async def dialling_in(
    world: World, model: ScriptedModel, line: Mapping[str, Any], url: str
) -> AsyncIterator[asyncio.subprocess.Process]:
    """The CLI that `line` starts, made to connect to `url`."""
    program, *arguments = line["command"]
    assert program == "claude"
    command = [*world.cli.argv, *(each.replace(line["url"], url) for each in arguments)]
    own = {**line["environment"], "CLAUDE_CODE_SESSION_ACCESS_TOKEN": line["token"]}
    env = {**world.environment(model, Options(use_api_billing=True)), **own}
    async with running(command, env, str(world.cwd)) as process:
        yield process

"""The whole chain, each link in a process of its own that can be killed: Telegram, a bridge, a hub, the CLI."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from handrail.remote.hub import Hub
from handrail.telegram.model import User
from handrail.testing import TelegramServer
from handrail.testing import simulated as sim
from handrail.testing.simulated import SimulatedCLI
from handrail.testing.telegram import Chat
from handrail.testing.telegram import User as Person
from tests.telegram.bridge.process import Told
from tests.telegram.bridge.support import eventually

from .nursery import BridgeOrder, HubOrder

SOURCES = Path(__file__).parents[3]


class Nursery:
    """Where hubs and bridges come from. What it has forked is killed with it."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.chaos.telegram.nursery"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=SOURCES,
        )
        self._born: set[int] = set()

    def bear(self, order: HubOrder | BridgeOrder) -> int:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(msgspec.json.encode(order) + b"\n")
        self._process.stdin.flush()
        pid = int(self._process.stdout.readline())
        self._born.add(pid)
        return pid

    def kill(self, pid: int) -> None:
        """It is gone when this returns."""
        self._born.discard(pid)
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        deadline = time.monotonic() + 30
        while is_alive(pid) and time.monotonic() < deadline:
            time.sleep(0.001)

    def close(self) -> None:
        for pid in tuple(self._born):
            self.kill(pid)
        self._process.communicate()


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@contextmanager
def nursery() -> Iterator[Nursery]:
    made = Nursery()
    try:
        yield made
    finally:
        made.close()


@dataclass
class Chain:
    """Telegram, and whatever of bridge and hub lives at the moment."""

    telegram: TelegramServer
    nursery: Nursery
    directory: Path
    ann: Person
    chat: Chat
    hub_order: HubOrder
    users: list[User] = field(default_factory=lambda: [User(1001, "Ann", "owner")])
    groups: list[int] = field(default_factory=list)
    hub_pid: int = 0
    bridge_pid: int = 0
    kills: int = 0

    @property
    def database(self) -> Path:
        return self.directory / "bridge" / "telegram.db"

    @property
    def projects(self) -> Path:
        return self.directory / "hub" / "projects"

    @property
    def hub_url(self) -> str:
        return f"http://127.0.0.1:{self.hub_order.port}"

    @property
    def hub_token(self) -> str:
        return Path(self.hub_order.token_file).read_text()

    def hub(self) -> Hub:
        """A program that is connected with the hub."""
        return Hub(self.hub_url, self.hub_token, patience=30.0)

    async def start_hub(self) -> None:
        is_first = not os.access(self.hub_order.token_file, os.R_OK)
        self.hub_pid = self.nursery.bear(msgspec.structs.replace(self.hub_order, is_first=is_first))
        await eventually(lambda: is_open(self.hub_order.port))
        await eventually(lambda: Path(self.hub_order.token_file).exists())

    def start_bridge(self) -> None:
        self.database.parent.mkdir(parents=True, exist_ok=True)
        told = Told(
            hub_url=self.hub_url,
            hub_token=self.hub_token,
            database=str(self.database),
            token=self.telegram.token,
            api_url=self.telegram.url,
            cwd=str(self.projects),
            users=self.users,
        )
        self.bridge_pid = self.nursery.bear(BridgeOrder(told, str(self.directory / "bridge.log")))

    async def bridge_polls(self) -> None:
        """Wait until the bridge that lives now has asked for updates."""
        polls = len(self.telegram.calls_of("getUpdates"))
        await eventually(lambda: self.telegram.is_polled or len(self.telegram.calls_of("getUpdates")) > polls)

    def kill_bridge(self) -> None:
        self.kills += 1
        self.nursery.kill(self.bridge_pid)

    def kill_hub(self) -> None:
        self.kills += 1
        self.nursery.kill(self.hub_pid)

    @property
    def logged(self) -> str:
        """What the bridges said."""
        log = self.directory / "bridge.log"
        return log.read_text() if log.exists() else ""


def is_open(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@asynccontextmanager
async def chain(
    directory: Path, *steps: sim.Step, options: dict[str, Any] | None = None, **of_telegram: Any
) -> AsyncIterator[Chain]:
    """Telegram and a hub that runs; no bridge yet. Sessions follow a script, unless there are other options."""
    for name in ("hub/projects", "cli"):
        (directory / name).mkdir(parents=True)
    if options is None:
        options = {"cli_path": str(SimulatedCLI(steps, directory=directory / "cli").path)}
    order = HubOrder(
        directory=str(directory / "hub"),
        port=free_port(),
        token_file=str(directory / "token"),
        options={"include_partial_messages": True, **options},
        log=str(directory / "hub.log"),
    )
    with nursery() as born:
        async with TelegramServer(**of_telegram) as telegram:
            ann = telegram.user(id=1001, first_name="Ann")
            made = Chain(telegram, born, directory, ann, ann.private_chat(), order)
            await made.start_hub()
            try:
                yield made
            finally:
                for pid in (made.bridge_pid, made.hub_pid):
                    if pid:
                        born.kill(pid)
                await asyncio.sleep(0)

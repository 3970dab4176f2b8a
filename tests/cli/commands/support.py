"""What tests of the commands share: a home of Handrail's own, sessions in it, and commands run on it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from handrail.events.model import AskOpened, Completed, Event
from handrail.places import Places
from handrail.protocol.asks import Allow
from handrail.protocol.options import Options
from handrail.sessions.asks import Actor, AnyAnswer
from handrail.sessions.manager import Manager
from handrail.sessions.session import Session
from handrail.testing import simulated as sim
from handrail.testing.simulated import SimulatedCLI

from ..support import (  # there is no absolute name for it
    DEADLINE,
    Done,
    OnTerminal,
    child_env,
    handrail,
    handrail_process,
)

__all__ = [
    "DEADLINE",
    "LOOK",
    "MARIA",
    "Home",
    "OnTerminal",
    "answered",
    "child_env",
    "until",
]

MARIA = Actor("maria", "terminal")
LOOK = sim.turn("I'll look.", sim.tool("Bash", {"command": "ls -l"}, output="a\nb", ask=True), "You said: $text")
"""A turn that asks for a tool."""


@dataclass(frozen=True)
class Home:
    """Directories of Handrail's own, and a project."""

    directory: Path

    @property
    def project(self) -> Path:
        return self.directory / "project"

    @property
    def env(self) -> dict[str, str]:
        """The environment in which commands use this home."""
        names = {"HANDRAIL_STATE_DIR": "state", "HANDRAIL_CONFIG_DIR": "config", "HANDRAIL_CACHE_DIR": "cache"}
        return {name: str(self.directory / part) for name, part in names.items()} | {
            "HANDRAIL_RUNTIME_DIR": str(self.directory / "r"),
            "HOME": str(self.directory / "home"),
        }

    def make(self) -> Home:
        self.project.mkdir(parents=True)
        (self.directory / "home").mkdir()
        return self

    def manager(self) -> Manager:
        """A manager over this home."""
        return Manager.local(Places.of_user(self.env), env={"HOME": self.env["HOME"]})

    # ------------------------------------------------------------ commands

    def run(self, *arguments: str, stdin: str = "") -> Done:
        """A command in this process."""
        return handrail(*arguments, stdin=stdin, **self.env)

    def json(self, *arguments: str) -> Any:
        """What a command says with --json."""
        done = self.run(*arguments, "--json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    async def process(self, *arguments: str, stdin: str = "", reader: str = "cat", **env: str) -> Done:
        """A command in a process of its own, beside what runs in this one."""
        return await asyncio.to_thread(handrail_process, *arguments, stdin=stdin, reader=reader, **self.env, **env)

    def on_terminal(self, *arguments: str, **settings: Any) -> OnTerminal:
        """A command with a terminal of its own."""
        return OnTerminal(*arguments, **settings, **self.env)

    # ------------------------------------------------------------ sessions

    def cli(self, *steps: sim.Step, **settings: Any) -> SimulatedCLI:
        """A simulated CLI that does this."""
        return SimulatedCLI(steps or [LOOK], directory=self.directory, **settings)

    @asynccontextmanager
    async def live(self, *steps: sim.Step, **settings: Any) -> AsyncIterator[Session]:
        """A session that this process owns."""
        async with self.manager() as manager:
            yield await manager.start(Options(cwd=self.project, cli_path=str(self.cli(*steps).path)), **settings)

    def past(self, *steps: sim.Step, prompt: str = "hello there", answer: AnyAnswer | None = None) -> str:
        """The id of a session that ran one turn and was stopped; `answer` is given to whatever it asked."""

        async def run() -> str:
            async with self.live(*steps) as session:
                await session.send(prompt, actor=MARIA)
                await answered(session, answer or Allow())
                return session.id

        return asyncio.run(run())


async def until(session: Session, kind: type[Event]) -> Event:
    """The first event of this kind."""
    async with asyncio.timeout(DEADLINE):
        async for item in session.subscribe(deltas=False):
            if isinstance(item, kind):
                return item
    raise AssertionError(f"the session ended without {kind.__name__}")


async def answered(session: Session, answer: AnyAnswer) -> Completed:
    """Answer whatever the session asks; returns the end of its run."""
    async with asyncio.timeout(DEADLINE):
        async for item in session.subscribe(deltas=False):
            if isinstance(item, AskOpened):
                await session.decide(item.ask_id, answer, actor=MARIA)
            if isinstance(item, Completed):
                return item
    raise AssertionError("the session ended within its run")

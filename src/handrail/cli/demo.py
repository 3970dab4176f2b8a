"""The demo: a small session that anybody can try, with a question, an edit and a command to approve.

It plays on the real CLI if there is one, against a scripted model on loopback, and else on the simulated CLI. Either
way it has a home and a project of its own in a temporary directory: no account, and nothing of the user's is touched.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from handrail.cli.demo_story import PROMPT, DemoStory, prepare
from handrail.cli.opening import Opened
from handrail.errors import CLINotFound, HandrailError
from handrail.places import Places
from handrail.protocol.options import Options
from handrail.sessions.manager import Manager
from handrail.sessions.session import Session
from handrail.testing.cli_sandbox import isolated_env
from handrail.testing.model import ScriptedModel
from handrail.testing.simulated import SimulatedCLI
from handrail.transports.discovery import find_cli

__all__ = ["PROMPT", "Demo"]

STORY = DemoStory(
    lesson="You just saw all three ways in which a session can **need you**:\n\n"
    "- a *question*, answered in your words or by a number;\n"
    "- an *edit*, shown as the difference it makes;\n"
    "- a *command*, shown whole before it runs."
)
PACE = 0.02

_SOURCES = {"PATH": "the one on PATH", "claude-agent-sdk": "the one in claude-agent-sdk"}


@dataclass(frozen=True, kw_only=True)
class Demo:
    """How to play it. `say` tells what is going on; `paced` lets text appear as a model writes it."""

    say: Callable[[str], None]
    cli_path: str | None = None
    record: Path | None = None
    paced: bool = False

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Opened]:
        """The demo's session, live, with a journal of its own. What it needs is gone afterwards."""
        with TemporaryDirectory(prefix="handrail-demo-", ignore_cleanup_errors=True) as name:
            directory, project = prepare(name)
            async with AsyncExitStack() as stack:
                manager = await stack.enter_async_context(Manager.local(_places(directory)))
                yield Opened(await self._start(stack, manager, directory, project))

    @property
    def _story(self) -> DemoStory:
        return replace(STORY, pace=PACE) if self.paced else STORY

    async def _start(self, stack: AsyncExitStack, manager: Manager, directory: Path, project: Path) -> Session:
        try:
            cli = find_cli(self.cli_path)
        except CLINotFound:
            if self.cli_path is not None:
                raise
            self.say("Demo: there is no Claude Code on this machine, so Handrail's simulated one plays it.")
            return await self._simulated(manager, directory, project)
        try:
            async with AsyncExitStack() as attempt:
                session = await self._real(attempt, manager, cli.argv[-1], directory, project)
                stack.push_async_exit(attempt.pop_all())
        except HandrailError as error:
            self.say(f"Demo: {cli.argv[-1]} did not start ({error}), so Handrail's simulated one plays it.")
            return await self._simulated(manager, directory, project)
        self.say(
            f"Demo: your Claude Code ({_SOURCES.get(cli.source, cli.argv[-1])}) runs in a temporary directory, with a "
            "scripted model on this machine. It needs no account and no network, and touches nothing of yours."
        )
        return session

    async def _real(
        self, stack: AsyncExitStack, manager: Manager, cli_path: str, directory: Path, project: Path
    ) -> Session:
        model = await stack.enter_async_context(ScriptedModel(self._story.script(project)))
        # Whatever else is in the environment is emptied: nothing of the user's may reach the demo.
        env = {**dict.fromkeys(os.environ, ""), **isolated_env(directory / "home", model)}
        return await manager.start(Options(cwd=project, cli_path=cli_path, env=env), record=self.record)

    async def _simulated(self, manager: Manager, directory: Path, project: Path) -> Session:
        cli = SimulatedCLI(self._story.simulation(project), directory=directory)
        return await manager.start(Options(cwd=project, cli_path=str(cli.path)), record=self.record)


def _places(directory: Path) -> Places:
    """Handrail's own directories, inside the demo's."""
    return Places(*(str(directory / "handrail" / name) for name in ("config", "state", "cache", "run")))

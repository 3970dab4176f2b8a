"""The demo in the hub: a scripted session that shows a question, a plan, an edit and a command to approve.

It plays on the real CLI if there is one, with a scripted model on loopback, and else on the simulated one; in a
directory of its own, with an empty environment. When the hub ends, the demo's sessions are removed with it: what they
were played on is gone. What a hub that was killed left of them is removed by the next one.
"""

from __future__ import annotations

import asyncio
import os
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from types import TracebackType
from typing import Self

from handrail.cli.demo_story import PROMPT, DemoStory, prepare
from handrail.errors import CLINotFound, HandrailError
from handrail.protocol.options import Options
from handrail.sessions.asks import Actor
from handrail.sessions.manager import Manager
from handrail.sessions.session import Session
from handrail.store.base import SessionFilter
from handrail.testing.cli_sandbox import isolated_env
from handrail.testing.model import ScriptedModel
from handrail.testing.simulated import SimulatedCLI
from handrail.transports.discovery import find_cli

__all__ = ["HubDemo"]

TITLE = "Demo: make greet.sh friendlier"
ACTOR = Actor("demo", "python")

LESSON = """You just saw the ways in which a session can **need you**:

- a *question*, answered with a click or in your own words;
- a *plan*, to approve, comment on or edit;
- an *edit*, shown as the difference it makes;
- a *command*, shown whole before it runs.

Now start one of your own: **New session**.
"""


class HubDemo:
    """Starts demos, and removes what they left. Used with `async with`, inside of its manager."""

    def __init__(self, manager: Manager, *, cli_path: str | None = None, pace: float = 0.02) -> None:
        self._manager = manager
        self._cli_path = cli_path
        self._story = DemoStory(lesson=LESSON, pace=pace, with_plan=True)
        self._directory = os.path.join(manager.places.state, "demos")
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        await self._remove_all()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._remove_all()
        await self._stack.aclose()

    async def _remove_all(self) -> None:
        """End and delete every demo's session, and the files that they had."""
        for row in await self._manager.list(SessionFilter(archived=None, text=self._directory), limit=1_000):
            if row.cwd.startswith(self._directory + os.sep):
                session = self._manager.session(row.id)
                with suppress(HandrailError):
                    await session.stop()
                    await session.delete()
        await asyncio.to_thread(rmtree, self._directory, ignore_errors=True)

    async def start(self) -> Session:
        """Start a demo, and send it its first message."""
        directory, project = prepare(await asyncio.to_thread(self._new_directory))
        session = await self._begun(directory, project)
        await session.send(PROMPT, actor=ACTOR)
        return session

    def _new_directory(self) -> str:
        os.makedirs(self._directory, mode=0o700, exist_ok=True)
        return mkdtemp(dir=self._directory)

    async def _begun(self, directory: Path, project: Path) -> Session:
        try:
            cli = find_cli(self._cli_path).argv[-1]
        except CLINotFound:
            return await self._simulated(directory, project)
        try:
            return await self._real(cli, directory, project)
        except HandrailError:  # a Claude Code that does not start must not keep anybody from the demo
            return await self._simulated(directory, project)

    async def _real(self, cli: str, directory: Path, project: Path) -> Session:
        async with AsyncExitStack() as attempt:
            model = await attempt.enter_async_context(ScriptedModel(self._story.script(project)))
            # Whatever else is in the environment is emptied: nothing of the user's may reach the demo.
            env = {**dict.fromkeys(os.environ, ""), **isolated_env(directory / "home", model)}
            options = Options(
                cwd=project,
                cli_path=cli,
                env=env,
                permission_mode="plan",
                include_partial_messages=True,
                enable_file_checkpointing=True,
            )
            session = await self._manager.start(options, title=TITLE)
            self._stack.push_async_exit(attempt.pop_all())
        return session

    async def _simulated(self, directory: Path, project: Path) -> Session:
        cli = SimulatedCLI(self._story.simulation(project), directory=directory)
        options = Options(cwd=project, cli_path=str(cli.path), permission_mode="plan")
        return await self._manager.start(options, title=f"{TITLE} (simulated)")

"""The demo: a small session that anybody can try, with a question, an edit and a command to approve.

It plays on the real CLI if there is one, against a scripted model on loopback, and else on the simulated CLI. Either
way it has a home and a project of its own in a temporary directory: no account, and nothing of the user's is touched.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from handrail.cli.opening import Opened
from handrail.errors import CLINotFound, HandrailError
from handrail.places import Places
from handrail.protocol.options import Options
from handrail.sessions.manager import Manager
from handrail.sessions.session import Session
from handrail.testing import simulated as sim
from handrail.testing.cli_sandbox import isolated_env
from handrail.testing.model import ScriptedModel
from handrail.testing.model_request import ModelRequest
from handrail.testing.replies import Reply, ReplyLike, ScriptEntry, Text, Thinking, ToolUse
from handrail.testing.simulated import SimulatedCLI
from handrail.transports.discovery import find_cli

__all__ = ["PROMPT", "Demo", "prepare"]

PROMPT = "Make greet.sh friendlier, and show me that it works."

SCRIPT_NAME = "greet.sh"
SCRIPT = '#!/bin/sh\n# Greets whoever is named.\necho "Hello, $1."\n'
OLD_LINE = 'echo "Hello, $1."'
WARM_LINE = 'echo "Hello, $1! Good to see you."'
BRIEF_LINE = 'echo "Hi, $1!"'
TRY_IT = {"command": f"sh {SCRIPT_NAME} World", "description": "Try the new greeting"}

THOUGHT = "A greeting can be friendly in more than one way. I should look at the script, then ask which."
FIRST = "I'll look at the script first."
THEN = "It is short and rather formal. Which way shall I take it?"
NOW_EDIT = "Good. One line changes:"
NOW_TRY = "Now let me run it."
DECLINED = "All right, I leave it there. Nothing was changed that you did not allow."
QUESTION: dict[str, Any] = {
    "questions": [
        {
            "question": "How should it greet?",
            "header": "Tone",
            "options": [
                {"label": "Warmly", "description": "Hello, World! Good to see you."},
                {"label": "Briefly", "description": "Hi, World!"},
            ],
            "multiSelect": False,
        }
    ]
}
SUMMARY = (
    "`greet.sh` has its new greeting, and it runs.\n\n"
    "You just saw all three ways in which a session can **need you**:\n\n"
    "- a *question*, answered in your words or by a number;\n"
    "- an *edit*, shown as the difference it makes;\n"
    "- a *command*, shown whole before it runs."
)
SIMULATED_EDIT = "Good. One line changes (a simulation takes the warm one, whatever you chose):"
SIMULATED_SUMMARY = SUMMARY.replace("has its new greeting, and it runs", "has its new greeting, in this simulation")


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
        model = await stack.enter_async_context(ScriptedModel(_script(project, self.paced)))
        # Whatever else is in the environment is emptied: nothing of the user's may reach the demo.
        env = {**dict.fromkeys(os.environ, ""), **isolated_env(directory / "home", model)}
        return await manager.start(Options(cwd=project, cli_path=cli_path, env=env), record=self.record)

    async def _simulated(self, manager: Manager, directory: Path, project: Path) -> Session:
        cli = SimulatedCLI(_simulation(project, self.paced), directory=directory)
        return await manager.start(Options(cwd=project, cli_path=str(cli.path)), record=self.record)


def _places(directory: Path) -> Places:
    """Handrail's own directories, inside the demo's."""
    return Places(*(str(directory / "handrail" / name) for name in ("config", "state", "cache", "run")))


def prepare(name: str) -> tuple[Path, Path]:
    """The demo's directory, and the project inside it."""
    directory = Path(name).resolve()
    project = directory / "project"
    project.mkdir()
    (project / SCRIPT_NAME).write_text(SCRIPT)
    return directory, project


# ---------------------------------------------------------------- for the real CLI


def _script(project: Path, paced: bool) -> list[ScriptEntry]:
    """What the model says. It sees what became of each call, and stops where something was denied."""
    path = str(project / SCRIPT_NAME)

    def reply(*blocks: Text | Thinking | ToolUse) -> Reply:
        return Reply(*blocks, deltas=30, delta_delay=0.02) if paced else Reply(*blocks)

    def unless_denied(make: Callable[[ModelRequest], Reply]) -> Callable[[ModelRequest], ReplyLike]:
        return lambda request: reply(Text(DECLINED)) if _denied(request) else make(request)

    def edit(request: ModelRequest) -> Reply:
        line = BRIEF_LINE if "Briefly" in str(request.tool_results) else WARM_LINE
        change = {"file_path": path, "old_string": OLD_LINE, "new_string": line}
        return reply(Text(NOW_EDIT), ToolUse("Edit", change))

    return [
        reply(Thinking(THOUGHT), Text(FIRST), ToolUse("Read", {"file_path": path})),
        reply(Text(THEN), ToolUse("AskUserQuestion", QUESTION)),
        unless_denied(edit),
        unless_denied(lambda request: reply(Text(NOW_TRY), ToolUse("Bash", TRY_IT))),
        unless_denied(lambda request: reply(Text(SUMMARY))),
    ]


def _denied(request: ModelRequest) -> bool:
    return any(result.get("is_error") for result in request.tool_results.values())


# ---------------------------------------------------------------- for the simulated CLI


def _simulation(project: Path, paced: bool) -> list[sim.Step]:
    """The same session. A simulation runs nothing, so it cannot take notice of the answers."""
    path = str(project / SCRIPT_NAME)
    numbered = "\n".join(f"{number}\t{line}" for number, line in enumerate(SCRIPT.splitlines(), start=1))
    change = {"file_path": path, "old_string": OLD_LINE, "new_string": WARM_LINE}

    def say(text: str) -> sim.Step:
        return sim.say(text, pause=0.03 if paced else 0.0)

    return [
        sim.turn(
            say(FIRST),
            sim.tool("Read", {"file_path": path}, output=numbered, ask=False),
            say(THEN),
            sim.tool("AskUserQuestion", QUESTION, output="The questions were answered.", suggestions=[]),
            say(SIMULATED_EDIT),
            sim.tool("Edit", change, output=f"{path} was changed.", suggestions=[_accept_edits()]),
            say(NOW_TRY),
            sim.tool("Bash", TRY_IT, output="Hello, World! Good to see you.", suggestions=[_allow_command()]),
            say(SIMULATED_SUMMARY),
        )
    ]


def _accept_edits() -> dict[str, Any]:
    return {"type": "setMode", "mode": "acceptEdits", "destination": "session"}


def _allow_command() -> dict[str, Any]:
    rule = {"toolName": "Bash", "ruleContent": TRY_IT["command"]}
    return {"type": "addRules", "rules": [rule], "behavior": "allow", "destination": "localSettings"}

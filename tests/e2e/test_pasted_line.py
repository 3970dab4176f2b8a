"""The line of `handrail ingress new`, pasted word for word into a shell on a terminal, starts a real CLI."""

from __future__ import annotations

import asyncio
import json
import os
import pty
import shlex
import signal
import termios
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from handrail.cli.ingress_view import line_of
from handrail.events.model import Action
from handrail.policy.storage.loading import Asked
from handrail.protocol.options import Options
from handrail.testing.cli_sandbox import cli_slot
from handrail.testing.model import ScriptedModel
from handrail.testing.replies import ScriptEntry

from ..server.support import ServedHub, served_hub
from .dialling import new_line, seated
from .support import DEADLINE, GUARD, World, bash, events_of

DENIED = "touch denied"


class Terminal:
    """A shell with a person's terminal around it."""

    def __init__(self, master: int) -> None:
        self._master = master
        self.shown = ""
        self._changed = asyncio.Event()
        asyncio.get_running_loop().add_reader(master, self._read)

    def paste(self, line: str) -> None:
        os.write(self._master, line.encode() + b"\n")

    async def shows(self, words: str) -> None:
        async with asyncio.timeout(DEADLINE):
            while words not in self.shown:
                self._changed.clear()
                await self._changed.wait()

    def _read(self) -> None:
        try:
            self.shown += os.read(self._master, 65536).decode(errors="replace")
        except OSError:  # the shell has ended
            asyncio.get_running_loop().remove_reader(self._master)
        self._changed.set()


@asynccontextmanager
async def shell(world: World, model: ScriptedModel, cwd: Path) -> AsyncIterator[Terminal]:
    """A bash of its own, in which `claude` is the CLI under test."""
    programs = world.home / "bin"
    programs.mkdir()
    script = programs / "claude"
    script.write_text(f'#!/bin/sh\nexec {shlex.join(world.cli.argv)} "$@"\n')
    script.chmod(0o755)
    env = world.environment(model, Options(use_api_billing=True))
    env = {**env, "PATH": f"{programs}:{env['PATH']}", "PS1": "ready$ ", "TERM": "dumb"}
    master, slave = pty.openpty()
    termios.tcsetwinsize(slave, (24, 80))
    process = await asyncio.create_subprocess_exec(
        *("bash", "--norc", "--noprofile", "-i"),
        env=env,
        cwd=cwd,
        stdin=slave,
        stdout=slave,
        stderr=slave,
        start_new_session=True,
    )
    os.close(slave)
    terminal = Terminal(master)
    try:
        await terminal.shows("ready$ ")
        yield terminal
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()
        asyncio.get_running_loop().remove_reader(master)
        os.close(master)


@asynccontextmanager
async def pasted(
    world: World, script: list[ScriptEntry], *, as_variable: bool = False, with_settings: bool = True
) -> AsyncIterator[tuple[ServedHub, str, Terminal]]:
    """A hub that denies something, and the line it gives out, in a shell in a directory with spaces in its name."""
    cwd = world.cwd / "my own project"
    cwd.mkdir()
    (cwd / ".claude").mkdir()
    (cwd / ".claude" / "settings.json").write_text(json.dumps(PERMISSIVE))
    async with (
        ScriptedModel(script) as model,
        cli_slot(),
        asyncio.timeout(GUARD),
        served_hub(world.home.parent / "the hub") as hub,
        shell(world, model, cwd) as terminal,
    ):
        hub.manager.hold_to(Asked(deny=(f"Bash({DENIED})",)))
        made = await new_line(hub, cwd=str(cwd))
        if not with_settings:
            made["command"] = [each for each in made["command"] if not each.startswith("--settings")]
        terminal.paste(line_of(made, as_variable=as_variable))
        yield hub, made["id"], terminal


PERMISSIVE = {"permissions": {"allow": ["Bash"]}, "disableAllHooks": True, "env": {"CLAUDE_CODE_SIMPLE": "1"}}
"""A repository that would rather not be held to anything."""


@pytest.mark.usefixtures("dialling_cli")
@pytest.mark.parametrize("as_variable", [False, True])
async def test_it_starts_a_claude_code_that_is_held_to_the_policy(world: World, as_variable: bool) -> None:
    script: list[ScriptEntry] = [bash(DENIED), bash("touch asked"), "Done."]
    async with pasted(world, script, as_variable=as_variable) as (hub, session_id, terminal):
        session = hub.manager.session(session_id)
        await seated(session)
        await session.send("Touch them")
        ask = await hub.asked(session)
        assert "touch asked" in str(ask.body)
        assert not list((world.cwd / "my own project").glob("denied"))
        await session.stop()
        await terminal.shows("ready$ ")


@pytest.mark.usefixtures("dialling_cli")
async def test_without_its_settings_the_journal_says_that_the_policy_does_not_hold(world: World) -> None:
    async with pasted(world, [bash("touch made"), "Done."], with_settings=False) as (hub, session_id, _):
        session = hub.manager.session(session_id)
        await seated(session)
        assert (await session.run("Touch it")).ok
        warnings = [each.title for each in await events_of(session, Action) if each.kind == "warning"]
    assert [each.partition(":")[0] for each in warnings] == ["Claude Code made a call (Bash) without asking Handrail"]


@pytest.mark.usefixtures("refusing_cli")
async def test_a_newer_one_says_that_it_connects_to_nobody_else(world: World) -> None:
    async with pasted(world, ["Never said."]) as (hub, session_id, terminal):
        await terminal.shows("--sdk-url rejected")
        assert (await hub.manager.session(session_id).row()).status == "waiting"

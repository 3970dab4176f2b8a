"""Puts a run together: which consoles, who answers, what is opened; and turns what goes wrong into a message."""

from __future__ import annotations

import asyncio
import getpass
import os
import shlex
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from io import TextIOWrapper
from itertools import count
from pathlib import Path

from rich.console import Console

from handrail.cli.desk import Answerer, AskDesk
from handrail.cli.driver import ExitCode, Opening, Run
from handrail.cli.facts import Facts
from handrail.cli.prompts import Asker
from handrail.cli.render import notice
from handrail.cli.settings import RunSettings
from handrail.cli.style import FAILED, NEEDS_YOU, QUIET, OutputConsole, make_console
from handrail.cli.terminal import Terminal
from handrail.cli.unattended import Automatic, Nobody
from handrail.cli.view import JsonView, TerminalView, View
from handrail.errors import HandrailError
from handrail.places import Places
from handrail.policy.storage.loading import Asked, PolicySource
from handrail.protocol.launch import Options
from handrail.sessions.asks import Actor
from handrail.sessions.client import connect

__all__ = ["start"]


def start(settings: RunSettings) -> int:
    """Run what the command line asks for; returns the exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")  # a locale without some sign must not end the run
    errors = make_console(sys.stderr)
    try:
        return asyncio.run(_Wiring(settings, errors).run())
    except HandrailError as error:
        errors.print(notice(FAILED, str(error)))
        return ExitCode.USAGE
    except OSError as error:
        errors.print(notice(FAILED, f"the system refused something that is needed: {error}"))
        return ExitCode.ERROR
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED  # before or after the run, which handles Ctrl-C itself


@dataclass(frozen=True)
class _Wiring:
    settings: RunSettings
    errors: Console

    async def run(self) -> int:
        facts = Facts()
        output = make_console(sys.stdout)
        view = self._view(output, facts)
        terminal, console = self._person(output)
        run = Run(
            prompt=self._prompt(),
            view=view,
            facts=facts,
            desk=AskDesk(self._answerer(terminal, console), view=view, facts=facts, terminal=terminal),
            terminal=terminal,
            fail=lambda message: self.errors.print(notice(FAILED, message)),
            resume=self._resume,
        )
        output.when_broken = run.output_gone
        code = await run.go(self._opening(view, terminal))
        if self.settings.demo and code == ExitCode.OK:
            view.notice(QUIET, 'That was the demo. In your own project: handrail run "what you want done"')
        return code

    def _prompt(self) -> str:
        if not self.settings.demo:
            return self.settings.prompt
        from handrail.cli.demo import PROMPT

        return PROMPT

    def _view(self, output: OutputConsole, facts: Facts) -> View:
        if self.settings.json:
            return JsonView(sys.stdout.buffer, self.errors, on_broken_pipe=output.on_broken_pipe)
        return TerminalView(output, facts, verbose=self.settings.verbose)

    def _person(self, output: Console) -> tuple[Terminal | None, Console]:
        """The terminal where somebody can be asked, if there is one, and the console for the asks."""
        usual = self.errors if self.settings.json else output
        for console in (usual, self.errors):
            if sys.stdin is not None and sys.stdin.isatty() and console.is_terminal:
                return Terminal(sys.stdin.fileno()), console
        return None, usual

    def _answerer(self, terminal: Terminal | None, console: Console) -> Answerer:
        if self.settings.demo and self.settings.yes:
            return Automatic(console, "you said --yes")
        if terminal is not None:
            return Asker(console, terminal)
        if self.settings.demo:
            return Automatic(console, "there is no terminal to ask you on")
        return Nobody(console)

    def _opening(self, view: View, terminal: Terminal | None) -> Opening:
        if self.settings.demo:
            return self._demo(view, paced=terminal is not None)
        options = self._options()
        policy = self._policy(view, options)
        recordings = _recordings(self.settings.record)
        return lambda on_ask, other: connect(
            other or options,
            on_ask=on_ask,
            actor=Actor(_user_name(), "terminal"),
            policy=policy,
            budget=self.settings.budget,
            record=next(recordings),
        )

    def _policy(self, view: View, options: Options) -> PolicySource:
        source = PolicySource(
            os.path.abspath(options.cwd or os.getcwd()),
            Places.of_user(os.environ),
            Asked(profile=self.settings.policy, allow=self.settings.allowed_tools),
            on_error=lambda error: view.notice(FAILED, f"the policy cannot be reloaded, the last one holds: {error}"),
            on_change=lambda loaded: view.notice(QUIET, "the policy has changed, and holds from now on"),
        )
        if held_back := source.loaded.held_back:
            view.notice(NEEDS_YOU, str(held_back))
        return source

    def _demo(self, view: View, *, paced: bool) -> Opening:
        from handrail.cli.demo import Demo  # brings the whole test kit, which only the demo needs

        return Demo(
            say=lambda text: view.notice(QUIET, text),
            cli_path=self.settings.cli,
            record=self.settings.record,
            paced=paced,
        ).open

    def _options(self) -> Options:
        chosen = self.settings
        return Options(
            cwd=chosen.cwd,
            cli_path=chosen.cli,
            model=chosen.model,
            permission_mode=chosen.permission_mode,  # type: ignore[arg-type]  # Options checks it
            max_turns=chosen.max_turns,
            resume=chosen.resume,
            continue_conversation=chosen.continue_conversation,
            use_api_billing=chosen.use_api_billing,
            include_partial_messages=True,
        )

    def _resume(self, session_id: str) -> str:
        """The command that goes on with a session. A demo's is gone with its directory."""
        if self.settings.demo or not session_id:
            return ""
        where = f" --cwd {shlex.quote(str(self.settings.cwd))}" if self.settings.cwd else ""
        return f'handrail run{where} --resume {session_id} "…"'


def _recordings(first: Path | None) -> Iterator[Path | None]:
    """A file for each session of the run: `name.jsonl`, then `name-2.jsonl` for the one that follows."""
    yield first
    for number in count(2):
        yield first.with_stem(f"{first.stem}-{number}") if first is not None else None


def _user_name() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a user that the system has no name for
        return f"user {os.getuid()}"

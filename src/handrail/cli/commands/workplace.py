"""What a command works with: where it writes, who is there to be asked, and the sessions of this machine."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import time
from collections.abc import Callable, Coroutine, Iterable
from contextlib import AbstractAsyncContextManager
from io import TextIOWrapper
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec
import typer
from rich.console import RenderableType

from handrail.cli.commands.failures import ExitCode
from handrail.cli.commands.references import find_session
from handrail.cli.showing.remarks import notice
from handrail.cli.showing.style import DONE, QUIET, OutputConsole, make_console
from handrail.cli.user import user_name
from handrail.config import Config, load_config
from handrail.config import Terminal as TerminalConfig
from handrail.errors import ConfigError, HandrailError
from handrail.places import Places
from handrail.remote.host import HubHost
from handrail.sessions.asks import Actor

if TYPE_CHECKING:
    from handrail.cli.hosting.names import HostNames
    from handrail.cli.managing import AnyManager
    from handrail.sessions.manager import Manager
    from handrail.sessions.session import Session
    from handrail.store.base import AskRow, SessionRow

__all__ = ["Work", "Workplace", "at_work"]


class Workplace:
    """One command's surroundings. Its manager is open while the command works."""

    manager: AnyManager

    def __init__(
        self,
        open_manager: Callable[[], AbstractAsyncContextManager[AnyManager]],
        *,
        cwd: str,
        looks: TerminalConfig | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, TextIOWrapper):
                stream.reconfigure(errors="replace")  # a locale without some sign must not end the command
        self.looks = looks or TerminalConfig()
        self.out: OutputConsole = make_console(sys.stdout, colour=self.looks.colour)
        self.out.when_broken = _reader_gone
        self.errors: OutputConsole = make_console(sys.stderr, colour=self.looks.colour)
        self.cwd = cwd
        self._open_manager = open_manager
        self._clock = clock

    async def do(self, work: Work, *, with_sessions: bool = True) -> int:
        """Open the manager, work, close; returns the exit code. A signal that ends the process closes first."""
        doing = asyncio.create_task(self._do(work, with_sessions))
        ended_by: list[int] = []

        def end(number: int) -> None:
            ended_by.append(number)
            doing.cancel()

        for number in (signal.SIGTERM, signal.SIGHUP):
            asyncio.get_running_loop().add_signal_handler(number, end, number)
        try:
            return await doing
        except asyncio.CancelledError:
            if not ended_by:
                raise
            return 128 + ended_by[0]

    async def _do(self, work: Work, with_sessions: bool) -> int:
        if not with_sessions:
            return await work(self) or ExitCode.OK
        async with self._open_manager() as self.manager:
            return await work(self) or ExitCode.OK

    # ------------------------------------------------------------ what is there

    @property
    def now(self) -> float:
        """Seconds since the epoch."""
        return self._clock()

    @property
    def own(self) -> Manager:
        """The sessions of this machine. Raises `ConfigError` if those of a hub are meant."""
        from handrail.sessions.manager import Manager

        if not isinstance(self.manager, Manager):
            raise ConfigError("this is about the files of one machine: run it there")
        return self.manager

    @property
    def actor(self) -> Actor:
        """Whoever typed the command, towards a session of another process."""
        return Actor(user_name(), "attach", os.getpid())

    async def actor_in(self, session: Session) -> Actor:
        """Whoever typed the command, towards this session: in this process, they sit at its terminal."""
        return Actor(user_name(), "terminal") if await session.is_mine() else self.actor

    @property
    def has_person(self) -> bool:
        """Whether somebody can be asked: there is a terminal to read from, and one to write to."""
        return sys.stdin is not None and sys.stdin.isatty() and (self.out.is_terminal or self.errors.is_terminal)

    async def session(self, reference: str) -> Session:
        """The session that is meant. Raises `SessionNotFound` or `AmbiguousSession`."""
        return await find_session(self.manager, reference, cwd=self.cwd)

    async def ask(self, reference: str) -> AskRow:
        """The ask that is meant. Raises `AskClosed`."""
        from handrail.cli.commands.answering import the_one_ask

        return the_one_ask(await self.manager.store.find_asks(reference), reference)

    async def rows(self, ids: Iterable[str]) -> dict[str, SessionRow]:
        """The rows of these sessions, by id; without those that somebody deleted meanwhile."""
        found = [await self.manager.store.get_session(each) for each in set(ids)]
        return {row.id: row for row in found if row is not None}

    async def hosts(self) -> HostNames:
        """The machines that sessions may be on."""
        from handrail.cli.hosting.names import host_names

        return await host_names(self)

    async def hosts_of(self, rows: Iterable[SessionRow]) -> HostNames | None:
        """The same, if any of these sessions is on another machine than the one whose store they are in."""
        return await self.hosts() if any(row.host for row in rows) else None

    # ------------------------------------------------------------ what is written

    def print(self, page: RenderableType) -> None:
        """Write something for a person; in a pipe, a long line stays one line."""
        self.out.print(page, crop=self.out.is_terminal)

    def json(self, value: Any) -> None:
        """Write one document for a program."""
        self._write(json.dumps(msgspec.to_builtins(value), ensure_ascii=False, indent=2))

    def json_line(self, value: Any) -> None:
        """Write one line for a program."""
        self.line(msgspec.json.encode(value).decode())

    def line(self, text: str) -> None:
        """Write a line exactly as it is."""
        self._write(text)

    def done(self, text: str) -> None:
        """Say that something was done."""
        self.print(notice(DONE, text))

    def remark(self, text: str, colour: str = QUIET) -> None:
        """Say something that is not what was asked for, where it is not taken for it."""
        self.errors.print(notice(colour, text))

    def confirmed(self, question: str, *, yes: bool = False) -> bool:
        """Whether the person agrees. Raises if there is nobody to ask."""
        if yes:
            return True
        if not self.has_person:
            raise HandrailError("there is nobody to ask: run this on a terminal, or say --yes")
        console = self.out if self.out.is_terminal else self.errors
        console.print(f"{question} [y/N] ", end="")
        return sys.stdin.readline().strip().lower() in ("y", "yes")

    @staticmethod
    def _write(text: str) -> None:
        sys.stdout.write(text + "\n")
        sys.stdout.flush()


Work: TypeAlias = Callable[[Workplace], Coroutine[Any, Any, int | None]]
"""What a command does; nothing or an exit code comes of it."""


def at_work(ctx: typer.Context, work: Work, *, with_sessions: bool = True, may_start: bool = False) -> None:
    """Do a command's work at the workplace that the context carries, or else at this process' own, and end.

    A command that `may_start` a CLI needs a configuration that is right: its limits hold.
    """
    place = ctx.find_object(Workplace) or _own_workplace(strict=may_start)
    raise typer.Exit(asyncio.run(place.do(work, with_sessions=with_sessions)))


def _own_workplace(*, strict: bool) -> Workplace:
    from handrail.cli.managing import the_manager

    places = Places.of_user(os.environ)
    config = load_config(places, os.environ) if strict else _configured(places)
    host = HubHost(places)
    return Workplace(lambda: the_manager(places, config, host=host), cwd=os.getcwd(), looks=config.terminal)


def _configured(places: Places) -> Config:
    """Wrong settings are no reason not to list or stop sessions: others complain of them."""
    try:
        return load_config(places, os.environ)
    except ConfigError:
        return Config()


def _reader_gone() -> None:
    """Whoever read the output has left: end, as programs do that a closed pipe kills."""
    raise BrokenPipeError

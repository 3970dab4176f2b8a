"""Puts a run together: which surface, which session, what is sent; and turns what goes wrong into a message."""

from __future__ import annotations

import asyncio
import os
import shlex
import sys
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from io import TextIOWrapper
from typing import Any
from uuid import uuid4

from handrail.cli.attachment import Attachment, ExitCode
from handrail.cli.defaults import standing_policy
from handrail.cli.endings import Answered
from handrail.cli.images import content_with_images
from handrail.cli.managing import the_manager
from handrail.cli.named_hub import is_named
from handrail.cli.opening import Opened, asked_of, open_session
from handrail.cli.settings import RunSettings
from handrail.cli.showing.remarks import notice
from handrail.cli.showing.style import FAILED, NEEDS_YOU, QUIET, make_console
from handrail.cli.surface import Surface, Without, make_surface
from handrail.cli.user import user_name
from handrail.config import Config, danger_notice, load_config
from handrail.errors import HandrailError
from handrail.places import Places
from handrail.policy.storage.loading import load_policy
from handrail.remote.host import HubHost
from handrail.sessions.asks import Actor
from handrail.store.base import SessionRow

__all__ = ["start"]

HINTS = "type to steer · Ctrl-C interrupts"


def start(settings: RunSettings) -> int:
    """Run what the command line asks for; returns the exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")  # a locale without some sign must not end the run
    errors = make_console(sys.stderr)
    try:
        places = Places.of_user(os.environ)
        return asyncio.run(_Wiring(settings, load_config(places, os.environ), places).run())
    except HandrailError as error:
        errors.print(notice(FAILED, str(error)))
        return ExitCode.USAGE
    except OSError as error:
        errors.print(notice(FAILED, f"the system refused something that is needed: {error}"))
        return ExitCode.FAILED
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED  # before or after the run, which handles Ctrl-C itself


class _Wiring:
    def __init__(self, settings: RunSettings, config: Config, places: Places) -> None:
        self._settings = settings
        self._config = config
        self._places = places
        self._surface = self._make_surface()
        self._attachment = Attachment(self._surface, Actor(user_name(), "terminal"))

    async def run(self) -> int:
        code = await self._attachment.run(self._work())
        if self._settings.demo and code == ExitCode.OK:
            self._say(QUIET, 'That was the demo. In your own project: handrail run "what you want done"')
        return code

    async def _work(self) -> int:
        content = self._content()
        async with self._opened() as opened:
            uuid = str(uuid4())
            self._surface.view.hide_prompt(uuid)
            actor = await self._actor(opened)
            return await self._attachment.follow(
                opened.session,
                until=Answered(uuid),
                after=opened.after,
                actor=actor,
                detaches=not await opened.session.is_mine(),
                pending=await opened.session.asks() if opened.after else (),
                begin=lambda: opened.session.send(content, actor=actor, uuid=uuid),
                go_on=self._go_on,
            )

    # ------------------------------------------------------------ the surface

    def _make_surface(self) -> Surface:
        terminal = self._config.terminal
        return make_surface(
            json=self._settings.json,
            deltas=self._settings.deltas,
            verbose=self._settings.verbose or terminal.verbose,
            hints=HINTS,
            without=self._without(),
            terminal=terminal,
        )

    def _without(self) -> Without:
        if not self._settings.demo:
            return "deny"
        return "yes" if self._settings.yes else "demo"

    def _say(self, colour: str, text: str) -> None:
        self._surface.view.notice(colour, text)

    # ------------------------------------------------------------ the session

    def _content(self) -> Any:
        if self._settings.demo:
            from handrail.cli.demo import PROMPT

            return PROMPT
        return content_with_images(self._settings.prompt, self._settings.images)

    @asynccontextmanager
    async def _opened(self) -> AsyncIterator[Opened]:
        if self._settings.demo:
            async with self._demo() as opened:
                yield opened
            return
        self._warn()
        # Without a terminal nobody is asked, and the rest is denied: a hub would leave it to people.
        host = HubHost(self._places) if self._surface.keyboard is not None else None
        async with the_manager(self._places, self._config, host=host) as manager:
            yield await open_session(self._settings, self._config, manager)

    def _demo(self) -> Any:
        from handrail.cli.demo import Demo  # brings the whole test kit, which only the demo needs

        return Demo(
            say=lambda text: self._say(QUIET, text),
            cli_path=self._settings.cli,
            record=self._settings.record,
            paced=self._surface.keyboard is not None,
        ).open()

    def _warn(self) -> None:
        """Say what should be known before anything runs."""
        if self._runs_elsewhere:
            return  # settings and policies are those of that machine
        if danger := danger_notice(self._config):
            self._say(FAILED, danger)
        if not self._settings.goes_on:
            cwd = self._settings.directory
            asked = asked_of(self._settings).beside(standing_policy(self._config))
            held_back = load_policy(cwd, self._places, asked).held_back
            if held_back is not None:
                self._say(NEEDS_YOU, str(held_back))

    @property
    def _runs_elsewhere(self) -> bool:
        return is_named() or self._settings.host is not None

    async def _actor(self, opened: Opened) -> Actor:
        """Whoever answers here: for a session that lives in another process, somebody elsewhere."""
        if await opened.session.is_mine():
            return Actor(user_name(), "terminal")
        where = "on another machine" if self._runs_elsewhere else "in another process"
        self._say(QUIET, f"this session lives {where}: Ctrl-D leaves it running there")
        return Actor(user_name(), "attach", os.getpid())

    def _go_on(self, row: SessionRow) -> Collection[str]:
        """The commands that go on with a session. A demo's is gone with its directory."""
        if self._settings.demo:
            return ()
        own = f'handrail resume {row.id[:8]} "…"'
        if row.cli_session_id is None or self._runs_elsewhere or row.host:
            return (own,)
        elsewhere = row.cwd != os.getcwd()
        there = f"cd {shlex.quote(row.cwd)} && " if elsewhere else ""
        return (own, f"{there}claude --resume {row.cli_session_id}")

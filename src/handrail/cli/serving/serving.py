"""Puts the hub together from the configuration and the command line, and runs it."""

from __future__ import annotations

import asyncio
import os
import sys
from contextlib import AsyncExitStack

from handrail.cli.checkup.probing.news import probes_watched
from handrail.cli.checkup.surroundings import Surroundings as Around
from handrail.cli.managing import configured_manager, configured_notify
from handrail.cli.serving.announcing import announce, has_browser, open_page
from handrail.cli.serving.demo import HubDemo
from handrail.cli.serving.hosting import Hosting, drained, hosted, the_only_hub, until_told_to_stop
from handrail.cli.serving.settings import ServeSettings, hub_settings
from handrail.cli.serving.surroundings import Surroundings
from handrail.cli.showing.amounts import count
from handrail.cli.showing.remarks import notice
from handrail.cli.showing.style import QUIET, RUNNING, make_console
from handrail.cli.telegramming.running import bridged
from handrail.cli.user import user_name
from handrail.config import Config, danger_notice, load_config
from handrail.places import Places
from handrail.server.auth.binding import check_binding
from handrail.server.logs import set_up_logs

__all__ = ["start"]


def start(given: ServeSettings) -> int:
    """Serve until somebody ends it; returns the exit code. Raises `HandrailError`."""
    places = Places.of_user(os.environ)
    config = load_config(places, os.environ)
    set_up_logs(stream=sys.stderr)
    return asyncio.run(_Serving(given, config, places).run())


class _Serving:
    def __init__(self, given: ServeSettings, config: Config, places: Places) -> None:
        self._given = given
        self._config = config
        self._places = places
        self._console = make_console(sys.stdout, colour=config.terminal.colour)

    async def run(self) -> int:
        settings = hub_settings(self._given, self._config)
        if warning := danger_notice(self._config):
            self._console.print(notice(RUNNING, warning))
        check_binding(settings)
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(the_only_hub(self._places))
            manager = await stack.enter_async_context(
                configured_manager(self._places, self._config, idle_minutes=self._config.hub.idle_minutes)
            )
            demo = await stack.enter_async_context(HubDemo(manager, cli_path=self._config.claude.cli_path))
            around = Around(self._places, os.environ, os.getcwd())
            hosting = await stack.enter_async_context(
                hosted(manager, settings, Surroundings(around, demo), self._places)
            )
            await stack.enter_async_context(
                probes_watched(around, hours=self._config.hub.probe_hours, notify=configured_notify(self._config))
            )
            self._announce(hosting)
            await stack.enter_async_context(bridged(self._places, os.environ, self._tell))
            signals = await until_told_to_stop()
            hosting.hub.stopping = True
            left = await drained(
                manager, self._config.hub.drain_seconds, hurried=lambda: signals() > 1, say=self._wait_for
            )
            interrupted = f"; {count(left, 'session')} interrupted" if left else ""
            self._say(f"stopping{interrupted}: nothing is lost")
        return 0

    def _announce(self, hosting: Hosting) -> None:
        link = hosting.hub.login_link(created_by=user_name())
        announce(self._console, hosting.settings, link)
        wanted = self._given.open_browser if self._given.open_browser is not None else self._config.hub.open_browser
        if wanted and has_browser():
            open_page(link)

    def _wait_for(self, running: int) -> None:
        self._say(f"waiting for {count(running, 'session')} to finish; Ctrl-C again stops at once")

    def _say(self, text: str) -> None:
        self._tell(QUIET, text)

    def _tell(self, colour: str, text: str) -> None:
        self._console.print(notice(colour, text))

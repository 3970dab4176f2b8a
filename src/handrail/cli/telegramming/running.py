"""Runs the bridge: alone, for a hub that is somewhere, or as a part of the hub's own process."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Final

from handrail.cli.commands.failures import ExitCode
from handrail.cli.hosting.telling import Say, Telling
from handrail.cli.inside_session import refuse_inside_session
from handrail.cli.named_hub import is_named, named_hub
from handrail.cli.serving.hosting import until_told_to_stop
from handrail.cli.showing.style import QUIET, make_console
from handrail.cli.telegramming.service import OpenHub, TelegramService
from handrail.cli.telegramming.settings import telegram_settings
from handrail.cli.telegramming.wanted import WantedBridge
from handrail.config import load_config
from handrail.errors import ConfigError, HandrailError
from handrail.places import Places
from handrail.remote.errors import HubError
from handrail.remote.hub import Hub
from handrail.server.logs import set_up_logs
from handrail.telegram.bot_errors import TokenInvalid
from handrail.telegram.lease import BotInUse

__all__ = ["bridged", "start"]

REFUSALS: Final = frozenset({"not_authenticated", "role_needed", "no_hub", "wrong_host"})
"""What a hub says that does not want us."""


def start() -> int:
    """Run the bridge alone until somebody ends it; returns the exit code. Raises `HandrailError`."""
    refuse_inside_session()
    places = Places.of_user(os.environ)
    config = load_config(places, os.environ)
    telegram_settings(config, places, os.environ)  # what is wrong is said before anything runs
    if not config.telegram.enabled:
        raise ConfigError("telegram.enabled is false: handrail config set telegram.enabled true")
    set_up_logs(stream=sys.stderr)
    say = Telling(make_console(sys.stdout, colour=config.terminal.colour)).say
    return asyncio.run(_alone(places, say))


async def _alone(places: Places, say: Say) -> int:
    service = TelegramService(
        WantedBridge(places, os.environ),
        _way_to_the_hub(places),
        places,
        say,
        is_fatal=_needs_a_person,
    )
    loop = asyncio.get_running_loop()
    serving = loop.create_task(service.run())
    stopped = loop.create_task(until_told_to_stop())
    try:
        await asyncio.wait((serving, stopped), return_when=asyncio.FIRST_COMPLETED)
        if serving.done():
            serving.result()
        say(QUIET, "stopping: what comes meanwhile waits at Telegram")
        return ExitCode.OK
    finally:
        for task in (serving, stopped):
            task.cancel()
        await asyncio.gather(serving, stopped, return_exceptions=True)


def _needs_a_person(error: HandrailError) -> bool:
    """Whether trying again is no use."""
    match error:
        case TokenInvalid() | BotInUse():
            return True
        case HubError(code=code):
            return code in REFUSALS
    return False


def _way_to_the_hub(places: Places) -> OpenHub:
    if not is_named():
        return lambda: Hub.local(places)
    url, token = named_hub()
    return lambda: Hub(url, token)


@asynccontextmanager
async def bridged(places: Places, environ: Mapping[str, str], say: Say) -> AsyncGenerator[None, None]:
    """Run the bridge beside the hub of this process, whenever the settings want one. It uses the hub's own socket."""
    service = TelegramService(WantedBridge(places, environ), lambda: Hub.local(places), places, say)
    serving = asyncio.get_running_loop().create_task(service.run(), name="handrail telegram")
    try:
        yield
    finally:
        serving.cancel()
        with suppress(asyncio.CancelledError):
            await serving

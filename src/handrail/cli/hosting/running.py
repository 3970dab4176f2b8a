"""Runs the agent of this machine until somebody ends it, and then ends it gently: what runs may finish first."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Final

from handrail.cli.checkup.probing.kept import probe_facts
from handrail.cli.checkup.probing.news import probes_watched
from handrail.cli.checkup.surroundings import Surroundings as Around
from handrail.cli.commands.failures import ExitCode
from handrail.cli.commands.wording import from_home
from handrail.cli.defaults import options_for, standing_policy
from handrail.cli.hosting.enrolled import enrolled
from handrail.cli.hosting.machine import machine_commands
from handrail.cli.hosting.remembered import remember, with_remembered
from handrail.cli.hosting.settings import GivenHost, HostSettings, host_settings
from handrail.cli.hosting.shift import Shift
from handrail.cli.hosting.telling import HubTold, SessionsTold, Telling
from handrail.cli.managing import configured_manager, configured_notify
from handrail.cli.settings import RunSettings
from handrail.cli.showing.amounts import count
from handrail.cli.showing.style import FAILED, QUIET, make_console
from handrail.config import Config, danger_notice, load_config
from handrail.errors import HandrailError, SessionBusy
from handrail.host.agent import HostAgent
from handrail.host.facts import FactsSource
from handrail.host.identity import HostIdentity
from handrail.host.limits import HostLimits
from handrail.places import Places
from handrail.server.logs import set_up_logs
from handrail.sessions.exchange import PRIVATE
from handrail.sessions.manager import Manager
from handrail.sessions.owning.locks import SessionLock, holder_of
from handrail.sessions.owning.private_files import private_directory

__all__ = ["start", "the_only_agent"]

AGENT: Final = "agent"


def start(given: GivenHost) -> int:
    """Work for a hub until somebody ends it; returns the exit code. Raises `HandrailError`."""
    places = Places.of_user(os.environ)
    config = load_config(places, os.environ)
    own = places.of_host()
    given = with_remembered(given, config.host, own.state)
    settings = host_settings(given, config)
    _set_up_logs()
    return asyncio.run(_Hosting(given, settings, config, own).run())


def _set_up_logs() -> None:
    set_up_logs(stream=sys.stderr)
    logging.getLogger("httpx2").setLevel(logging.WARNING)  # each request is nothing that anybody asked about
    if sys.stderr.isatty():
        # A person is told once that the hub is away, and not at each try: errors remain.
        logging.getLogger("handrail.host").setLevel(logging.ERROR)


class _Hosting:
    def __init__(self, given: GivenHost, settings: HostSettings, config: Config, places: Places) -> None:
        self._given = given
        self._settings = settings
        self._config = config
        self._places = places
        self._say = Telling(make_console(sys.stdout, colour=config.terminal.colour)).say

    async def run(self) -> int:
        if warning := danger_notice(self._config):
            self._say(FAILED, warning)
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(the_only_agent(self._places))
            identity = await enrolled(self._places.state, self._given, self._settings, self._say)
            if self._given.code is not None:
                remember(self._places.state, self._given)
            manager = await stack.enter_async_context(
                configured_manager(
                    self._places, self._config, durable=True, idle_minutes=self._config.host.idle_minutes
                )
            )
            await stack.enter_async_context(SessionsTold(manager.store, self._say))
            around, told = Around.here(), HubTold(self._say)
            agent = self._agent(manager, identity, around, told)
            self._introduce(identity)
            await stack.enter_async_context(
                probes_watched(around, hours=self._settings.probe_hours, notify=configured_notify(self._config))
            )
            await stack.enter_async_context(agent)
            shift = Shift(agent, manager, told, self._say, drain_seconds=self._settings.drain_seconds)
            return ExitCode.OK if await shift.work() else ExitCode.FAILED

    def _agent(self, manager: Manager, identity: HostIdentity, around: Around, told: HubTold) -> HostAgent:
        limits = self._limits()
        facts = FactsSource(
            self._places.state,
            limits,
            labels=self._settings.labels,
            env=self._config.claude.env,
            probe=lambda version: probe_facts(around.places, version),
        )
        return HostAgent(
            manager,
            identity=identity,
            limits=limits,
            facts=facts,
            on_news=told.hear,
            further=machine_commands(around),
        )

    def _limits(self) -> HostLimits:
        settings = self._settings
        return HostLimits(
            roots=settings.roots,
            profiles=settings.profiles,
            allow_bypass=settings.allow_bypass,
            capacity=settings.capacity,
            defaults=options_for(RunSettings(), self._config),
            policy=standing_policy(self._config),
            file_exchange=self._config.host.file_exchange,
            private_files=(*PRIVATE, *self._config.host.private_files),
            own=self._places.all,
        )

    def _introduce(self, identity: HostIdentity) -> None:
        roots = " and ".join(from_home(root) for root in self._settings.roots)
        most = f", at most {count(self._settings.capacity, 'session')}" if self._settings.capacity else ""
        self._say(
            QUIET, f"{identity.name} works for {identity.hub}: it may start sessions in {roots}{most}. Ctrl-C stops."
        )


@asynccontextmanager
async def the_only_agent(places: Places) -> AsyncGenerator[None, None]:
    """Let no other agent use this state meanwhile. Raises `HandrailError` if one does."""
    directory = os.path.join(private_directory(places.state), "locks")
    try:
        lock = await SessionLock.take(directory, [AGENT])
    except SessionBusy:
        holder = holder_of(directory, AGENT)
        who = f"process {holder.pid}" if holder is not None else "it has just been started"
        raise HandrailError(
            f"this machine is a host already ({who}): end that one first, or give this one a HANDRAIL_STATE_DIR of its "
            "own"
        ) from None
    try:
        yield
    finally:
        lock.release()

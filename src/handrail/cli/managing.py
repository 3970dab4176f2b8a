"""The manager that commands work with: of this user's sessions, or of a hub's that the environment names."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, TypeAlias

from handrail.cli.commands.retention import retention_of
from handrail.cli.defaults import adopted_as, standing_policy
from handrail.cli.named_hub import is_named, named_hub
from handrail.config import Config
from handrail.places import Places
from handrail.sessions.guards.activity import StallLimits
from handrail.sessions.guards.notifications import Notify
from handrail.sessions.guards.restarts import RestartLimit
from handrail.sessions.guards.watch import Limits
from handrail.sessions.household import Host
from handrail.sessions.manager import Manager
from handrail.store.place import store_path
from handrail.store.sqlite import SqliteStore

if TYPE_CHECKING:
    from handrail.remote.hub import Hub

__all__ = ["AnyManager", "configured_limits", "configured_manager", "configured_notify", "the_manager"]

AnyManager: TypeAlias = "Manager | Hub"
"""What a command works with: the sessions of this machine, or those of a hub."""


@asynccontextmanager
async def the_manager(places: Places, config: Config, *, host: Host | None = None) -> AsyncGenerator[AnyManager, None]:
    """The manager of the sessions that a command is about, open: those of this machine, or of the hub that is named.

    Sessions of this machine that are resumed live with `host`, if there is one; those of other machines are reached
    through the hub.
    """
    if is_named():
        from handrail.remote.hub import Hub  # slow to import, and only needed here

        url, token = named_hub()
        async with Hub(url, token) as hub:
            yield hub
        return
    from handrail.cli.through_hub import ThroughHub

    async with ThroughHub(places) as abroad, configured_manager(places, config, host=host) as manager:
        manager.with_abroad(abroad)
        yield manager


def configured_manager(
    places: Places, config: Config, *, host: Host | None = None, durable: bool = False, idle_minutes: float = 0
) -> Manager:
    """A manager over this user's store. With `host`, sessions that are resumed live there; those that nobody has used
    for so many minutes end, and a message resumes them.

    With `durable`, not even a power cut takes back what was stored: others may have a copy of it by then.
    """
    manager = Manager(
        SqliteStore(store_path(places), durable=durable),
        places,
        # Sessions keep no secrets: whoever resumes one brings the variables again.
        env=config.claude.env,
        limits=configured_limits(config, idle_minutes=idle_minutes),
        notify=configured_notify(config),
        retention=retention_of(config.storage),
        host=host,
    )
    manager.hold_to(standing_policy(config))
    manager.adopted_as = adopted_as(config)
    return manager


def configured_notify(config: Config) -> list[Notify]:
    """Whom the configuration wants told."""
    return [Notify(kinds=each.on, command=each.command, webhook=each.webhook) for each in config.notify]


def configured_limits(config: Config, *, idle_minutes: float = 0) -> Limits:
    """The limits of the configuration."""
    limits = config.limits
    return Limits(
        session_budget=limits.session_budget_usd,
        daily_budget=limits.daily_budget_usd,
        concurrent_sessions=limits.concurrent_sessions,
        restarts=RestartLimit(restarts=limits.restarts, window=limits.restart_window_minutes * 60),
        stall=StallLimits(
            silence=_seconds(limits.stall_minutes),
            tool=_seconds(limits.tool_stall_minutes),
            idle=_seconds(idle_minutes),
        ),
        on_stall=limits.on_stall,
    )


def _seconds(minutes: float) -> float | None:
    """Never, if it is 0."""
    return minutes * 60 or None

"""The manager of this user's sessions, with the limits and notifications that the configuration asks for."""

from __future__ import annotations

from handrail.cli.commands.retention import retention_of
from handrail.config import Config
from handrail.places import Places
from handrail.sessions.guards.activity import StallLimits
from handrail.sessions.guards.notifications import Notify
from handrail.sessions.guards.restarts import RestartLimit
from handrail.sessions.guards.watch import Limits
from handrail.sessions.household import Host
from handrail.sessions.manager import Manager

__all__ = ["configured_limits", "configured_manager"]


def configured_manager(places: Places, config: Config, *, host: Host | None = None) -> Manager:
    """A manager over this user's store. With `host`, sessions that are resumed live there."""
    notify = [Notify(kinds=each.on, command=each.command, webhook=each.webhook) for each in config.notify]
    return Manager.local(
        places,
        # Sessions keep no secrets: whoever resumes one brings the variables again.
        env=config.claude.env,
        limits=configured_limits(config),
        notify=notify,
        retention=retention_of(config.storage),
        host=host,
    )


def configured_limits(config: Config) -> Limits:
    """The limits of the configuration."""
    limits = config.limits
    return Limits(
        session_budget=limits.session_budget_usd,
        daily_budget=limits.daily_budget_usd,
        concurrent_sessions=limits.concurrent_sessions,
        restarts=RestartLimit(restarts=limits.restarts, window=limits.restart_window_minutes * 60),
        stall=StallLimits(silence=_seconds(limits.stall_minutes), tool=_seconds(limits.tool_stall_minutes)),
        on_stall=limits.on_stall,
    )


def _seconds(minutes: float) -> float | None:
    """Never, if it is 0."""
    return minutes * 60 or None

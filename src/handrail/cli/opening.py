"""Opens the session that a command line asks for: a new one, one that goes on, or a copy of one."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from handrail.cli.commands.references import find_session
from handrail.cli.defaults import options_for
from handrail.cli.managing import AnyManager
from handrail.cli.named_hub import URL
from handrail.cli.settings import RunSettings
from handrail.config import Config
from handrail.errors import HandrailError, InvalidOptions, SessionBusy, SessionNotFound
from handrail.policy.storage.loading import Asked
from handrail.protocol.launch import child_environment, command_line
from handrail.protocol.options import Options
from handrail.sessions.launching import decode_settings
from handrail.sessions.manager import Manager
from handrail.sessions.session import Session
from handrail.store.base import SessionRow
from handrail.transports.discovery import find_cli
from handrail.transports.versions import check_dials

__all__ = ["Opened", "asked_of", "open_session"]


@dataclass(frozen=True)
class Opened:
    """A session that is live, and the event behind which it is of interest."""

    session: Session
    after: int = 0


async def open_session(settings: RunSettings, config: Config, manager: AnyManager) -> Opened:
    """The session, live: in this process, or where it lives already."""
    if not settings.goes_on:
        return Opened(await _new(settings, config, manager))
    found = await _found(settings, manager)
    if settings.fork:
        return await _forked(settings, manager, found)
    row = await found.row()
    changes = _changes(settings, row)
    if "policy" in changes:
        await _check_not_live(found)
    await manager.resume(found.id, record=settings.record, **changes)
    if settings.title:
        await found.rename(settings.title)
    return Opened(found, row.last_seq)


async def _check_not_live(session: Session) -> None:
    """Raise `SessionBusy` for a session that would go on as it is, whatever was asked of its policy."""
    if await session.is_live():
        raise SessionBusy(
            f"session {session.id[:8]} runs already, and is held to what it was started with: leave --policy and "
            f"--allowed-tools out, or end it first with handrail stop {session.id[:8]}"
        )


async def _new(settings: RunSettings, config: Config, manager: AnyManager) -> Session:
    if settings.host is not None or not isinstance(manager, Manager):
        return await _new_elsewhere(settings, manager)
    if settings.in_hub:
        return await _new_in_hub(settings, manager)
    options = options_for(settings, config)
    _check_start(options, settings.directory)
    await _check_transport(options)
    return await manager.start(
        options,
        title=settings.title or "",
        policy=asked_of(settings),
        budget=settings.max_budget or config.limits.session_budget_usd,
        worktree=settings.worktree,
        record=settings.record,
    )


async def _new_elsewhere(settings: RunSettings, manager: AnyManager) -> Session:
    """One on another machine: what is not said here is as that machine's settings say."""
    if settings.needs_this_machine:
        raise InvalidOptions(
            f"{URL} is set, and the hub has a Claude Code of its own: leave out --cli, --transport, --record and "
            f"--use-api-billing, or unset {URL}"
        )
    if not settings.names_a_whole_path:
        raise InvalidOptions("say the directory on that machine by its whole path, beginning with / or ~, with --cwd")
    try:
        return await _started_elsewhere(settings, manager)
    except HandrailError as error:
        if settings.cwd is None and os.getcwd() in str(error):
            raise InvalidOptions(f"{error}; --cwd names a directory of the machine that runs it") from None
        raise


async def _started_elsewhere(settings: RunSettings, manager: AnyManager) -> Session:
    mode: Any = settings.mode or "default"
    options = Options(
        cwd=settings.directory_elsewhere, model=settings.model, permission_mode=mode, max_turns=settings.max_turns
    )
    return await manager.start(
        options,
        host=settings.host or "",
        title=settings.title or "",
        policy=asked_of(settings),
        budget=settings.max_budget,
        worktree=settings.worktree,
    )


async def _new_in_hub(settings: RunSettings, manager: Manager) -> Session:
    from handrail.remote.host import HubHost

    wanted = {
        "cwd": settings.directory,
        "title": settings.title,
        "model": settings.model,
        "mode": settings.mode,
        "policy": settings.policy,
        "budget": settings.max_budget,
        "worktree": settings.worktree,
    }
    return manager.session(await HubHost(manager.places).start(wanted))


def _check_start(options: Options, directory: str) -> None:
    """Raise what would keep Claude Code from starting, before there is a session that never ran."""
    if not os.path.isdir(directory):
        raise InvalidOptions(f"there is no directory {directory!r}: create it, or name another one with --cwd")
    command_line(options, find_cli(options.cli_path).argv)


async def _check_transport(options: Options) -> None:
    if options.transport != "stdio":
        await check_dials(find_cli(options.cli_path).argv, child_environment(options, os.environ))


async def _found(settings: RunSettings, manager: AnyManager) -> Session:
    cwd = settings.directory
    if settings.resume is not None:
        try:
            return await find_session(manager, settings.resume, cwd=cwd)
        except SessionNotFound:
            return await manager.adopt(settings.resume)
    latest = await manager.latest(cwd)
    if latest is None:
        raise SessionNotFound(f"there is no session of {cwd} yet to go on with: leave --continue out")
    return latest


async def _forked(settings: RunSettings, manager: AnyManager, found: Session) -> Opened:
    if settings.record is not None:
        raise InvalidOptions("a fork cannot be recorded from its start: leave --record out")
    changes = _changes(settings, await found.row())
    fork = await manager.fork(found.id, title=settings.title or "", **changes)
    return Opened(fork)


def _changes(settings: RunSettings, row: SessionRow) -> dict[str, Any]:
    """What the command line wants otherwise than it was: the rest stays as the session remembers it."""
    given = {
        "model": settings.model,
        "permission_mode": settings.mode,
        "max_turns": settings.max_turns,
        "cli_path": settings.cli,
        "transport": settings.transport,
        "use_api_billing": settings.use_api_billing or None,
        "budget": settings.max_budget,
    }
    changes: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    if settings.policy is not None or settings.allowed_tools:
        changes["policy"] = asked_of(settings).beside(decode_settings(row.settings).policy or Asked())
    return changes


def asked_of(settings: RunSettings) -> Asked:
    """What the command line asks of the policy, beside the files and the configuration."""
    return Asked(profile=settings.policy, allow=settings.allowed_tools)

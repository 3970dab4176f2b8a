"""`handrail telegram status`: the bot, who may use it, and whether it runs."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace

import typer

from handrail.cli.checkup.finding import Finding, attention, good
from handrail.cli.checkup.report import lines
from handrail.cli.checkup.surroundings import Surroundings
from handrail.cli.checkup.telegram import check_telegram
from handrail.cli.commands.failures import ExitCode
from handrail.cli.showing.style import make_console
from handrail.cli.telegramming.places import bridge_lease
from handrail.config.bot_token import find_token
from handrail.remote.hub_file import running_hub
from handrail.telegram.lease import BotInUse

__all__ = ["start"]


def start(*, offline: bool, as_json: bool) -> int:
    """Show it; returns the exit code. Raises `ConfigError` if the settings cannot be read."""
    around = replace(Surroundings.here(), online=not offline)
    if around.config_error is not None:
        raise around.config_error
    found = [*check_telegram(around)]
    runs = _holder(around) if all(finding.status != "broken" for finding in found) else None
    found += _running(around, runs)
    if as_json:
        _print_json(found, runs)
    else:
        _print(found)
    return ExitCode.OK if runs is not None else ExitCode.FAILED


def _holder(around: Surroundings) -> int | None:
    """The process that runs the bridge of the bot, if one does; 0 if it did not say which it is."""
    token = find_token(around.places, around.config.telegram, around.environ)
    if token is None:
        return None
    try:
        with bridge_lease(around.places, token.bot_id):
            return None
    except BotInUse as error:
        return error.pid or 0


def _running(around: Surroundings, pid: int | None) -> Iterator[Finding]:
    if not around.config.telegram.users:  # a hub would not run it either, and what mends that is said already
        return
    hub = running_hub(around.places)
    if pid is None:
        if hub is None:
            yield attention("bridge", "it does not run", "handrail serve")
        else:
            yield attention("bridge", f"it does not run, although the hub does (process {hub.pid}): its log says why")
    elif hub is not None and hub.pid == pid:
        yield good("bridge", f"it runs in the hub, process {pid}")
    else:
        yield good("bridge", f"it runs in process {pid or 'unknown'}")


def _print(found: list[Finding]) -> None:
    console = make_console(sys.stdout)
    for line in lines(found):
        console.print(line)


def _print_json(found: list[Finding], pid: int | None) -> None:
    import json

    import msgspec

    document = {"runs": pid is not None, "pid": pid or None, "findings": msgspec.to_builtins(found)}
    typer.echo(json.dumps(document, ensure_ascii=False, indent=2))

"""Who this machine is to its hub: the key that it was given, or a code that it is given one for."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final

from handrail.cli.hosting.settings import GivenHost, HostSettings, default_name
from handrail.cli.hosting.telling import Say
from handrail.cli.hub_address import hub_address
from handrail.cli.showing.style import DONE, NEEDS_YOU
from handrail.errors import ConfigError, HandrailError, HostAway, HostRefused
from handrail.host.enrolling import enrol
from handrail.host.identity import HostIdentity, load_identity, save_identity

__all__ = ["enrolled"]

HOW: Final = "run `handrail host enrol` where the hub runs, and the command that it prints here"
SHORTEST_PAUSE: Final = 1.0
LONGEST_PAUSE: Final = 30.0

Enrol = Callable[[str, str, str], Awaitable[HostIdentity]]


async def enrolled(
    directory: str,
    given: GivenHost,
    settings: HostSettings,
    say: Say,
    *,
    ask: Enrol = enrol,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> HostIdentity:
    """The identity that is kept in `directory`; with a code, the one that the hub gives for it.

    Raises `HandrailError`.
    """
    known = load_identity(directory)
    if given.code is None:
        return _known(known, settings)
    hub = settings.hub or (known.hub if known is not None else None)
    if hub is None:
        raise ConfigError("say which hub the code is for: --hub wss://…")
    name = settings.name or (known.name if known is not None else default_name())
    try:
        identity = await _asked(partial(ask, hub, given.code.strip(), name), say, sleep)
    except HostRefused as error:
        if known is None or _address(known) != hub:
            raise
        say(NEEDS_YOU, f"the code was not taken ({error}): going on with the key that this machine has already")
        return _known(known, settings)
    save_identity(directory, identity)
    say(DONE, f"this machine is enrolled as {identity.name}: from now on, `handrail host` is enough")
    return identity


def _known(known: HostIdentity | None, settings: HostSettings) -> HostIdentity:
    if known is None:
        raise HandrailError(f"this machine is not enrolled at a hub yet: {HOW}")
    if settings.hub is not None and settings.hub != _address(known):
        raise ConfigError(f"this machine is enrolled at {known.hub}, not at {settings.hub}: to change that, {HOW}")
    if settings.name is not None and settings.name != known.name:
        raise ConfigError(
            f"this machine is enrolled as {known.name}, not as {settings.name}: leave the name out, or for another one "
            f"{HOW}"
        )
    return known


def _address(identity: HostIdentity) -> str:
    return hub_address(identity.hub, "the hub")


async def _asked(
    ask: Callable[[], Awaitable[HostIdentity]], say: Say, sleep: Callable[[float], Awaitable[None]]
) -> HostIdentity:
    """Show the hub the code, however long it takes to reach it."""
    pause = SHORTEST_PAUSE
    while True:
        try:
            return await ask()
        except HostAway as error:
            if pause == SHORTEST_PAUSE:
                say(NEEDS_YOU, f"{error}; trying again until it answers. Ctrl-C ends that.")
            await sleep(pause)
            pause = min(pause * 2, LONGEST_PAUSE)

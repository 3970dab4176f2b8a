"""Keeps the bridge running as the settings want it: takes changes over, and starts it again when it fails.

Whatever goes wrong with Telegram is said, and ends nothing else: the hub works on without it.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from handrail.cli.hosting.telling import Say
from handrail.cli.showing.style import DONE, FAILED, NEEDS_YOU, QUIET
from handrail.cli.telegramming.places import bridge_database, bridge_lease
from handrail.cli.telegramming.wanted import UnreadableConfig, WantedBridge
from handrail.errors import ConfigError, HandrailError
from handrail.places import Places
from handrail.remote.hub import Hub
from handrail.remote.pauses import Pauses
from handrail.remote.sockets import both
from handrail.telegram.bot_errors import TokenInvalid
from handrail.telegram.lease import BotInUse
from handrail.telegram.settings import TelegramSettings

if TYPE_CHECKING:
    from handrail.telegram.bot import BotUser
    from handrail.telegram.bridge import Bridge

__all__ = ["OpenHub", "TelegramService"]

logger = logging.getLogger("handrail.telegram")

LONGEST_PAUSE: Final = 60.0
BOT_IN_USE: Final = 15.0
TOKEN_UNKNOWN: Final = 300.0
"""It is for a person to mend, as a rule; but what stands between us and Telegram may have said so in its place."""
HELD: Final = 60.0
"""How long it must have worked before a failure counts as a first one."""
NOISY: Final = ("httpx", "httpx2", "telegram")
"""Who logs each request, which nobody asked about."""

OpenHub = Callable[[], AbstractAsyncContextManager[Hub]]


@dataclass
class TelegramService:
    """The bridge of one machine. Errors that are fatal are raised; all others are said, and it is tried again."""

    wanted: WantedBridge
    open_hub: OpenHub
    places: Places
    say: Say
    is_fatal: Callable[[HandrailError], bool] = lambda error: False
    _pauses: Pauses = field(default_factory=lambda: Pauses(first=1.0, longest=LONGEST_PAUSE))
    _said: str = ""
    _is_on: bool = False
    _on_since: float = 0.0

    async def run(self) -> None:
        """Until cancelled. Raises what is fatal."""
        for name in NOISY:
            logging.getLogger(name).setLevel(logging.WARNING)
        while True:
            settings = self._read()
            if settings is None:
                self._say_why_it_is_off()
                await self.wanted.changed()
                continue
            within = await self._served(settings)
            if within is not None:
                await self.wanted.changed(within=within)

    def _read(self) -> TelegramSettings | None:
        """What is wanted now, if that can be done."""
        try:
            return self.wanted.read()
        except ConfigError as error:
            self._complain(FAILED, f"Telegram is off: {error}")
            return None

    def _say_why_it_is_off(self) -> None:
        if self._is_on:
            rests = "rests while somebody is let in" if self.wanted.is_paused else "is off: the settings say so"
            self.say(QUIET, f"Telegram {rests}")
        self._is_on = False

    async def _served(self, settings: TelegramSettings) -> float | None:
        """Serve until the settings are others, or until it fails: then how long to wait before it is tried again."""
        try:
            await self._serve(settings)
        except HandrailError as error:
            if self.is_fatal(error):
                raise
            return self._until_tried_again(error)
        except Exception as error:  # a mistake in the bridge must not end the hub, nor itself for good
            logger.exception("the Telegram bridge failed")
            pause = self._next_pause()
            self._complain(FAILED, f"the Telegram bridge failed ({_in_words(error)}): trying again; the log says more")
            return pause
        return None

    def _until_tried_again(self, error: HandrailError) -> float:
        """Say what is wrong; returns how long to wait, unless the settings change before."""
        pause = self._next_pause()
        match error:
            case TokenInvalid():
                self._complain(FAILED, f"Telegram is off: {error}")
                return TOKEN_UNKNOWN
            case BotInUse():
                self._complain(NEEDS_YOU, f"Telegram is off for now: {error}")
                return BOT_IN_USE
        self._complain(NEEDS_YOU, f"Telegram is off for now: {error}; trying again")
        return pause

    def _next_pause(self) -> float:
        """Ever longer, if it does not even hold for a while."""
        if self._is_on and time.monotonic() - self._on_since > HELD:
            self._pauses.begin_anew()
        return self._pauses.next()

    async def _serve(self, settings: TelegramSettings) -> None:
        # Slow to import, and only needed where Telegram is on.
        from handrail.telegram.bot import TelegramBot
        from handrail.telegram.bridge import Bridge
        from handrail.telegram.state import BridgeState

        async with AsyncExitStack() as stack:
            bot = await stack.enter_async_context(TelegramBot(settings.token, api_url=settings.api_url))
            me = await bot.me()
            with bridge_lease(self.places, me.id):
                pass  # who holds it is asked before its database is opened
            hub = await stack.enter_async_context(self.open_hub())
            await _check_acting(hub)
            state = await stack.enter_async_context(BridgeState(bridge_database(self.places, me.id)))
            bridge = Bridge(hub, bot, state, settings, on_ready=lambda current: self._announce(me, current))
            await both(bridge.run(), self._keep_up(bridge, settings))

    def _announce(self, me: BotUser, settings: TelegramSettings) -> None:
        self._said, self._is_on, self._on_since = "", True, time.monotonic()
        self.say(DONE, f"Telegram is on: @{me.username}, for {_people(settings)}")

    async def _keep_up(self, bridge: Bridge, settings: TelegramSettings) -> None:
        """Take changes of the settings over, until there is one that needs another bridge, or none."""
        while True:
            await self.wanted.changed()
            try:
                wanted = self.wanted.read()
            except UnreadableConfig as error:
                self.say(FAILED, f"Telegram goes on as before: {error}")
                continue
            except ConfigError:  # nobody may use it any more, say: then nobody does
                return
            if wanted is None or not bridge.take(wanted):
                return
            if wanted != settings:
                self.say(DONE, f"Telegram goes on with the new settings, for {_people(wanted)}")
            settings = wanted

    def _complain(self, colour: str, words: str) -> None:
        """Say it, unless it was the last thing that was said."""
        if words != self._said:
            self.say(colour, words)
        self._said, self._is_on = words, False


async def _check_acting(hub: Hub) -> None:
    """See at once whether the hub lets the bridge act for people. Raises `HubError`."""
    async with hub.acting_for("Telegram", role="viewer"):
        pass


def _people(settings: TelegramSettings) -> str:
    return ", ".join(f"{user.name} ({user.role})" for user in settings.users)


def _all_of(error: BaseException) -> Iterator[BaseException]:
    """The errors in a group, and in those in it."""
    if not isinstance(error, BaseExceptionGroup):
        yield error
        return
    for each in error.exceptions:
        yield from _all_of(each)


def _in_words(error: Exception) -> str:
    return "; ".join(dict.fromkeys(str(each) or type(each).__name__ for each in _all_of(error)))

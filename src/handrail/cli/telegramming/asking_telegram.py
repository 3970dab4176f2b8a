"""What setting up asks of Telegram: whose token it is, and who sends the code."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Collection
from contextlib import suppress
from typing import Any, Final, TypeAlias

import msgspec

from handrail.cli.telegramming.pairing import Pairing, Person
from handrail.errors import HandrailError
from handrail.remote.pauses import Pauses
from handrail.telegram.bot import BotUser, TelegramBot
from handrail.telegram.bot_errors import BotError, Conflict, Unreachable
from handrail.telegram.incoming import Update
from handrail.telegram.model import Content, Place
from handrail.telegram.text.rich import RichText

__all__ = ["NobodyCame", "bot_of", "paired", "tell"]

POLL: Final = 20.0
"""How long Telegram may wait for news before it says that there is none."""

Say: TypeAlias = Callable[[str], None]
Keep: TypeAlias = Callable[[dict[str, Any]], Awaitable[None]]


class NobodyCame(HandrailError):
    """The code was not sent in time."""


async def bot_of(token: str, api_url: str) -> BotUser:
    """The bot of a token. Raises `TokenInvalid` or `Unreachable`."""
    async with TelegramBot(token, api_url=api_url) as bot:
        return await bot.me()


async def tell(token: str, api_url: str, person: int, text: str) -> None:
    """Write to somebody. Raises `BotError`."""
    async with TelegramBot(token, api_url=api_url) as bot:
        await bot.send(Place(person), Content(text=RichText(text)))


async def paired(
    token: str,
    api_url: str,
    pairing: Pairing,
    *,
    seconds: float,
    warn: Say,
    keep: Keep,
    known: Collection[int],
    own_webhook: str | None,
) -> Person:
    """Whoever sends the code. Raises `NobodyCame`, or `Conflict` if somebody else reads the bot's messages.

    What those who are `known` write meanwhile is kept for the bridge: Telegram gives it out once. A webhook of the
    bridge's own is taken back; it sets that again when it starts.
    """
    deadline = time.monotonic() + seconds
    async with TelegramBot(token, api_url=api_url) as bot:
        await _make_readable(bot, own_webhook)
        waiting = _Waiting(bot, pairing, warn, keep, known)
        while (left := deadline - time.monotonic()) > 0:
            person = await waiting.look(min(POLL, left))
            if person is not None:
                return person
    raise NobodyCame("nobody sent the code in time: run `handrail telegram setup` again for a new one")


async def _make_readable(bot: TelegramBot, own_webhook: str | None) -> None:
    """A bot whose messages are sent somewhere cannot be asked for them."""
    address = await bot.webhook_address()
    if not address:
        return
    if address != own_webhook:
        raise Conflict(f"they are sent to {address}")
    await bot.delete_webhook()


class _Waiting:
    def __init__(self, bot: TelegramBot, pairing: Pairing, warn: Say, keep: Keep, known: Collection[int]) -> None:
        self._bot = bot
        self._pairing = pairing
        self._warn = warn
        self._keep = keep
        self._known = known
        self._offset = 0
        self._complained = False
        self._pauses = Pauses(first=0.5, longest=5.0)

    async def look(self, seconds: float) -> Person | None:
        """Who sent the code meanwhile, if anybody did."""
        try:
            found = await self._bot.updates(self._offset, seconds)
        except Unreachable as error:
            if not self._complained:
                self._warn(f"{error}; trying again")
            self._complained = True
            await asyncio.sleep(self._pauses.next())
            return None
        self._complained = False
        self._pauses.begin_anew()
        people = [await self._seen(raw) for raw in found]
        came = next((person for person in people if person is not None), None)
        if came is not None:
            await self._bot.updates(self._offset, 0)  # or the bridge would take the code for a message
        return came

    async def _seen(self, raw: dict[str, Any]) -> Person | None:
        """Whoever sent the code with this update."""
        self._offset = max(self._offset, int(raw["update_id"]) + 1)
        try:
            update = msgspec.convert(raw, Update)
        except msgspec.ValidationError:
            return None
        tried = self._pairing.look_at(update)
        if tried is not None and tried.right:
            return tried.person
        if update.sender is not None and update.sender.id in self._known:
            await self._keep(raw)
        elif tried is not None:
            self._warn(f"{tried.person} wrote to the bot, but not the code")
            await self._answer(tried.person, "That is not the code that is shown on the terminal.")
        return None

    async def _answer(self, person: Person, text: str) -> None:
        with suppress(BotError):  # they may have blocked the bot: it was politeness
            await self._bot.send(Place(person.id), Content(text=RichText(text)))

"""Asks Telegram for what is new, again and again, for as long as nobody else does.

Telegram gives the updates of a bot to one who asks: if another one asks, too, both lose some. So whoever is told of
another one waits, says so, and tries again later and later; it never takes the bot away from the other.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

import msgspec

from handrail.errors import StoreError
from handrail.remote.pauses import Pauses
from handrail.telegram.bot import TelegramBot
from handrail.telegram.bot_errors import BotError, Conflict, FloodWait, TokenInvalid
from handrail.telegram.incoming import ALLOWED_UPDATES
from handrail.telegram.state import BridgeState, Tables

__all__ = ["Polling"]

logger = logging.getLogger("handrail.telegram")

LONG_POLL: Final = 50
"""For how many seconds Telegram may hold a request back until something is new."""
LONGEST_PAUSE: Final = 30.0
FIRST_CONFLICT: Final = 5.0
LONGEST_CONFLICT: Final = 120.0

OURS_NOTE: Final = "webhook:url"
"""Under which name it is noted which webhook we have set."""


class Polling:
    """Takes updates from Telegram. What it gives to `keep` is stored before Telegram hears that we have it.

    `on_ready` is told once that Telegram has answered.
    """

    def __init__(
        self,
        bot: TelegramBot,
        state: BridgeState,
        keep: Callable[[Sequence[bytes]], Awaitable[None]],
        on_trouble: Callable[[str], None],
        *,
        on_ready: Callable[[], None] = lambda: None,
        timeout: int = LONG_POLL,
        first_conflict: float = FIRST_CONFLICT,
    ) -> None:
        self._bot = bot
        self._state = state
        self._keep = keep
        self._on_trouble = on_trouble
        self._on_ready = on_ready
        self._is_ready = False
        self._timeout = timeout
        self._pauses = Pauses(first=0.5, longest=LONGEST_PAUSE)
        self._conflicts = Pauses(first=first_conflict, longest=LONGEST_CONFLICT)

    async def run(self) -> None:
        """Until cancelled. Raises `TokenInvalid`."""
        await self._take_back_webhook()
        while True:
            try:
                await self._once()
            except TokenInvalid:
                raise
            except Conflict as error:
                await self._give_way(error)
            except FloodWait as error:
                await asyncio.sleep(error.retry_after)
            except BotError as error:
                self._on_trouble(f"Telegram cannot be asked for messages: {error}")
                await asyncio.sleep(self._pauses.next())
            except StoreError as error:  # Telegram keeps them until they are stored here
                self._on_trouble(f"messages cannot be stored: {error}")
                await asyncio.sleep(self._pauses.next())

    async def _once(self) -> None:
        offset = await self._state.read(lambda tables: tables.offset())
        # Telegram answers the first question at once: only then is it known that it answers us at all.
        timeout = self._timeout if self._is_ready else 0
        updates = await self._bot.updates(offset, timeout, allowed=ALLOWED_UPDATES)
        if updates:
            await self._keep([msgspec.json.encode(update) for update in updates])
        self._pauses.begin_anew()
        self._conflicts.begin_anew()
        self._on_trouble("")
        if not self._is_ready:
            self._is_ready = True
            self._on_ready()

    async def _give_way(self, error: Conflict) -> None:
        """Somebody else has the bot's updates."""
        address = await self._webhook_address()
        who = f"they go to the webhook {address}" if address else "another program asks for them with the same token"
        self._on_trouble(
            f"Telegram gives the messages of this bot to somebody else: {who}. End that, or use another bot ({error})"
        )
        await asyncio.sleep(self._conflicts.next())

    async def _webhook_address(self) -> str:
        try:
            return await self._bot.webhook_address()
        except BotError:
            return ""

    async def _take_back_webhook(self) -> None:
        """Remove a webhook of ours from before; one of others is not ours to remove."""
        ours = await self._state.read(lambda tables: tables.noted(OURS_NOTE))
        if not ours:
            return
        try:
            if await self._bot.webhook_address() == ours:
                await self._bot.delete_webhook()
        except TokenInvalid:
            raise
        except BotError as error:
            self._on_trouble(f"the webhook {ours} could not be removed: {error}")
            return
        await self._state.write(_forget_webhook)


def _forget_webhook(tables: Tables) -> None:
    tables.note(OURS_NOTE, None)

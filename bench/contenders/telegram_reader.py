"""The least that shows sessions in Telegram: reads them from the hub and sends at once. It keeps nothing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager

from bench.telegram_staging import Staged
from handrail.events.model import AskOpened, Completed, Delta
from handrail.remote.hub import Hub
from telegram import Bot, InlineKeyboardButton, InlineKeyboardMarkup

BUTTONS = InlineKeyboardMarkup([[InlineKeyboardButton("Allow", callback_data="allow")]])


@asynccontextmanager
async def serving(stage: Staged, look: str) -> AsyncIterator[Readers]:
    """`silent` ones only read."""
    facts = stage.facts
    async with (
        Hub(facts["hub"], facts["hub_token"]) as hub,
        Bot(facts["bot_token"], base_url=f"{facts['api']}/bot") as bot,
    ):
        readers = Readers(hub, None if look == "silent" else bot)
        work = [asyncio.ensure_future(readers.read(each["session"], each["chat"])) for each in facts["followed"]]
        try:
            yield readers
        finally:
            for task in work:
                task.cancel()
            await asyncio.gather(*work, return_exceptions=True)


class Readers:
    def __init__(self, hub: Hub, bot: Bot | None) -> None:
        self._hub = hub
        self._bot = bot
        self._seen: dict[str, int] = {}

    async def read(self, session_id: str, chat: int) -> None:
        async with aclosing(self._hub.session(session_id).subscribe()) as items:
            async for item in items:
                if isinstance(item, Delta):
                    continue
                self._seen[session_id] = item.seq
                if self._bot is None:
                    continue
                if isinstance(item, AskOpened):
                    await self._bot.send_message(chat, f"{item.title}\n{item.ask_id}", reply_markup=BUTTONS)
                elif isinstance(item, Completed):
                    await self._bot.send_message(chat, item.answer)

    async def caught_up(self, ends: dict[str, int]) -> None:
        async with asyncio.timeout(60):
            while any(self._seen.get(session_id, 0) < end for session_id, end in ends.items()):
                await asyncio.sleep(0.1)

    async def sent(self, count: int) -> list[float]:
        raise NotImplementedError("a reader sends what happens in sessions")

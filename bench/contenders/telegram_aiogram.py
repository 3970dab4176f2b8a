"""aiogram alone: a dispatcher that only answers buttons, and a bot that only sends."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiogram import Bot, Dispatcher
from aiogram.client.session.aiohttp import AiohttpSession
from aiogram.client.telegram import TelegramAPIServer
from aiogram.types import CallbackQuery, InlineKeyboardButton, InlineKeyboardMarkup

from bench.telegram_staging import Staged

BUTTONS = InlineKeyboardMarkup(inline_keyboard=[[InlineKeyboardButton(text="Allow", callback_data="allow")]])


@asynccontextmanager
async def serving(stage: Staged, look: str) -> AsyncIterator[PlainBot]:
    facts = stage.facts
    session = AiohttpSession(api=TelegramAPIServer.from_base(facts["api"]))
    dispatcher = Dispatcher()
    dispatcher.callback_query.register(answer)
    async with Bot(facts["bot_token"], session=session) as bot:
        polling = dispatcher.start_polling(bot, handle_signals=False, close_bot_session=False)
        work = asyncio.ensure_future(polling)
        try:
            yield PlainBot(bot, facts["people"][0])
        finally:
            work.cancel()
            await asyncio.gather(work, return_exceptions=True)


async def answer(query: CallbackQuery) -> None:
    await query.answer("Approved")


class PlainBot:
    def __init__(self, bot: Bot, chat: int) -> None:
        self._bot = bot
        self._chat = chat

    async def caught_up(self, ends: dict[str, int]) -> None:
        """It follows nothing."""

    async def sent(self, count: int) -> list[float]:
        begun = []
        for number in range(count):
            begun.append(time.monotonic())
            await self._bot.send_message(self._chat, f"Message {number}", reply_markup=BUTTONS)
        return begun

"""python-telegram-bot alone: an application that only answers buttons, and a bot that only sends."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from telegram.ext import Application, CallbackQueryHandler

from bench.telegram_staging import Staged
from telegram import InlineKeyboardButton, InlineKeyboardMarkup, Update

BUTTONS = InlineKeyboardMarkup([[InlineKeyboardButton("Allow", callback_data="allow")]])


@asynccontextmanager
async def serving(stage: Staged, look: str) -> AsyncIterator[PlainBot]:
    facts = stage.facts
    application = Application.builder().token(facts["bot_token"]).base_url(f"{facts['api']}/bot").build()
    application.add_handler(CallbackQueryHandler(answer))
    async with application:
        assert application.updater is not None
        await application.start()
        await application.updater.start_polling()
        try:
            yield PlainBot(application.bot, facts["people"][0])
        finally:
            await application.updater.stop()
            await application.stop()


async def answer(update: Update, context: Any) -> None:
    assert update.callback_query is not None
    await update.callback_query.answer("Approved")


class PlainBot:
    def __init__(self, bot: Any, chat: int) -> None:
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

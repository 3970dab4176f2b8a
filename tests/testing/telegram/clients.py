"""The same bot, written twice: with python-telegram-bot and with aiogram."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Protocol

from handrail.testing.telegram import TelegramServer


class Refused(Exception):
    """What either library makes of a refusal: the kind of it, and the words."""


class BotClient(Protocol):
    """What the scenario needs of a client library."""

    async def me(self) -> str: ...
    async def poll(self, offset: int) -> list[dict[str, Any]]: ...
    async def send(self, chat: int, text: str, *, thread: int = 0, reply_to: int = 0) -> int: ...
    async def ask(self, chat: int, text: str, buttons: dict[str, str]) -> int: ...
    async def edit(self, chat: int, message: int, text: str) -> None: ...
    async def delete(self, chat: int, message: int) -> None: ...
    async def answer(self, query: str, text: str) -> None: ...
    async def document(self, chat: int, name: str, data: bytes) -> str: ...
    async def download(self, file_id: str) -> bytes: ...
    async def album(self, chat: int, pictures: list[bytes]) -> list[int]: ...
    async def draft(self, chat: int, text: str) -> None: ...
    async def typing(self, chat: int) -> None: ...
    async def commands(self, commands: dict[str, str]) -> dict[str, str]: ...
    async def topic(self, chat: int, name: str) -> int: ...


class PTBClient:
    def __init__(self, bot: Any) -> None:
        self.bot = bot

    async def me(self) -> str:
        return str((await self.bot.get_me()).username)

    async def poll(self, offset: int) -> list[dict[str, Any]]:
        return [update.to_dict() for update in await self.bot.get_updates(offset=offset, timeout=5)]

    async def send(self, chat: int, text: str, *, thread: int = 0, reply_to: int = 0) -> int:
        from telegram import ReplyParameters

        reply = ReplyParameters(reply_to) if reply_to else None
        sent = await self.bot.send_message(chat, text, message_thread_id=thread or None, reply_parameters=reply)
        return int(sent.message_id)

    async def ask(self, chat: int, text: str, buttons: dict[str, str]) -> int:
        from telegram import InlineKeyboardButton, InlineKeyboardMarkup

        row = [InlineKeyboardButton(words, callback_data=data) for words, data in buttons.items()]
        return int((await self.bot.send_message(chat, text, reply_markup=InlineKeyboardMarkup([row]))).message_id)

    async def edit(self, chat: int, message: int, text: str) -> None:
        from telegram.error import TelegramError

        try:
            await self.bot.edit_message_text(text, chat_id=chat, message_id=message)
        except TelegramError as error:
            raise Refused(f"{type(error).__name__}: {error.message.lower()}") from error

    async def delete(self, chat: int, message: int) -> None:
        await self.bot.delete_message(chat, message)

    async def answer(self, query: str, text: str) -> None:
        await self.bot.answer_callback_query(query, text)

    async def document(self, chat: int, name: str, data: bytes) -> str:
        return str((await self.bot.send_document(chat, data, filename=name, caption="here")).document.file_id)

    async def download(self, file_id: str) -> bytes:
        return bytes(await (await self.bot.get_file(file_id)).download_as_bytearray())

    async def album(self, chat: int, pictures: list[bytes]) -> list[int]:
        from telegram import InputMediaPhoto

        media = [InputMediaPhoto(picture, filename=f"{number}.png") for number, picture in enumerate(pictures)]
        return [sent.message_id for sent in await self.bot.send_media_group(chat, media, caption="all of it")]

    async def draft(self, chat: int, text: str) -> None:
        await self.bot.send_message_draft(chat, 7, text)

    async def typing(self, chat: int) -> None:
        await self.bot.send_chat_action(chat, "typing")

    async def commands(self, commands: dict[str, str]) -> dict[str, str]:
        await self.bot.set_my_commands(list(commands.items()))
        return {command.command: command.description for command in await self.bot.get_my_commands()}

    async def topic(self, chat: int, name: str) -> int:
        return int((await self.bot.create_forum_topic(chat, name)).message_thread_id)


class AiogramClient:
    def __init__(self, bot: Any) -> None:
        self.bot = bot

    async def me(self) -> str:
        return str((await self.bot.get_me()).username)

    async def poll(self, offset: int) -> list[dict[str, Any]]:
        updates = await self.bot.get_updates(offset=offset, timeout=5)
        return [update.model_dump(mode="json", by_alias=True, exclude_none=True) for update in updates]

    async def send(self, chat: int, text: str, *, thread: int = 0, reply_to: int = 0) -> int:
        from aiogram.types import ReplyParameters

        reply = ReplyParameters(message_id=reply_to) if reply_to else None
        sent = await self.bot.send_message(chat, text, message_thread_id=thread or None, reply_parameters=reply)
        return int(sent.message_id)

    async def ask(self, chat: int, text: str, buttons: dict[str, str]) -> int:
        from aiogram.types import InlineKeyboardButton, InlineKeyboardMarkup

        row = [InlineKeyboardButton(text=words, callback_data=data) for words, data in buttons.items()]
        markup = InlineKeyboardMarkup(inline_keyboard=[row])
        return int((await self.bot.send_message(chat, text, reply_markup=markup)).message_id)

    async def edit(self, chat: int, message: int, text: str) -> None:
        from aiogram.exceptions import TelegramAPIError

        try:
            await self.bot.edit_message_text(text, chat_id=chat, message_id=message)
        except TelegramAPIError as error:
            kind = type(error).__name__.removeprefix("Telegram")
            raise Refused(f"{kind}: {error.message.removeprefix('Bad Request: ').lower()}") from error

    async def delete(self, chat: int, message: int) -> None:
        await self.bot.delete_message(chat, message)

    async def answer(self, query: str, text: str) -> None:
        await self.bot.answer_callback_query(query, text)

    async def document(self, chat: int, name: str, data: bytes) -> str:
        from aiogram.types import BufferedInputFile

        sent = await self.bot.send_document(chat, BufferedInputFile(data, name), caption="here")
        return str(sent.document.file_id)

    async def download(self, file_id: str) -> bytes:
        return bytes((await self.bot.download(file_id)).read())

    async def album(self, chat: int, pictures: list[bytes]) -> list[int]:
        from aiogram.types import BufferedInputFile, InputMediaPhoto

        files = [BufferedInputFile(picture, f"{number}.png") for number, picture in enumerate(pictures)]
        first = InputMediaPhoto(media=files[0], caption="all of it")
        media = [first, *(InputMediaPhoto(media=file) for file in files[1:])]
        return [sent.message_id for sent in await self.bot.send_media_group(chat, media)]

    async def draft(self, chat: int, text: str) -> None:
        await self.bot.send_message_draft(chat_id=chat, draft_id=7, text=text)

    async def typing(self, chat: int) -> None:
        await self.bot.send_chat_action(chat, "typing")

    async def commands(self, commands: dict[str, str]) -> dict[str, str]:
        from aiogram.types import BotCommand

        await self.bot.set_my_commands(
            [BotCommand(command=name, description=words) for name, words in commands.items()]
        )
        return {command.command: command.description for command in await self.bot.get_my_commands()}

    async def topic(self, chat: int, name: str) -> int:
        return int((await self.bot.create_forum_topic(chat, name)).message_thread_id)


@asynccontextmanager
async def ptb_client(server: TelegramServer) -> AsyncIterator[BotClient]:
    """A bot of python-telegram-bot."""
    from telegram import Bot

    async with Bot(server.token, base_url=f"{server.url}/bot", base_file_url=f"{server.url}/file/bot") as bot:
        yield PTBClient(bot)


@asynccontextmanager
async def aiogram_client(server: TelegramServer) -> AsyncIterator[BotClient]:
    """A bot of aiogram."""
    from aiogram import Bot
    from aiogram.client.session.aiohttp import AiohttpSession
    from aiogram.client.telegram import TelegramAPIServer

    async with Bot(server.token, session=AiohttpSession(api=TelegramAPIServer.from_base(server.url))) as bot:
        yield AiogramClient(bot)

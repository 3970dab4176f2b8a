"""One scenario, played by two client libraries that know nothing of each other and check what they are answered."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import TypeAlias

import pytest

from handrail.testing import TelegramServer

from .clients import BotClient, Refused, aiogram_client, ptb_client
from .support import png

OpenClient: TypeAlias = Callable[[TelegramServer], AbstractAsyncContextManager[BotClient]]

pytestmark = pytest.mark.parametrize(
    "open_client",
    [
        pytest.param(ptb_client, id="python-telegram-bot"),
        pytest.param(aiogram_client, id="aiogram", marks=pytest.mark.slow),
    ],
)


@pytest.mark.slow
async def test_a_conversation_with_buttons(open_client: OpenClient) -> None:
    async with TelegramServer() as server, open_client(server) as bot:
        ann = server.user(id=1001, first_name="Ann")
        chat = ann.private_chat()
        assert await bot.me() == server.bot.username
        assert await bot.commands({"new": "Start a session"}) == {"new": "Start a session"}

        await chat.send("/new fix the test")
        [update] = await bot.poll(0)
        assert update["message"]["text"] == "/new fix the test"
        assert update["message"]["entities"][0]["type"] == "bot_command"

        asked = await bot.ask(chat.id, "Run pytest?", {"Allow": "token-1", "Deny": "token-2"})
        pressing = asyncio.create_task(chat.messages[-1].press("Allow", by=ann))
        [update] = await bot.poll(update["update_id"] + 1)
        assert update["callback_query"]["data"] == "token-1"
        assert update["callback_query"]["message"]["message_id"] == asked
        await bot.answer(update["callback_query"]["id"], "Approved")
        assert (await pressing).text == "Approved"

        await bot.edit(chat.id, asked, "Run pytest? Approved by Ann.")
        [message] = chat.bot_messages
        assert (message.text, message.is_edited, message.buttons) == ("Run pytest? Approved by Ann.", True, [])
        with pytest.raises(Refused, match=r"^BadRequest: message is not modified"):
            await bot.edit(chat.id, asked, "Run pytest? Approved by Ann.")

        answered = await bot.send(chat.id, "All green.", reply_to=chat.messages[0].id)
        assert chat.messages[-1].reply_to is chat.messages[0]
        await bot.delete(chat.id, asked)
        assert [message.id for message in chat.bot_messages] == [answered]


@pytest.mark.slow
async def test_files_albums_drafts_and_topics(open_client: OpenClient) -> None:
    async with TelegramServer() as server, open_client(server) as bot:
        ann = server.user(id=1001, first_name="Ann")
        chat = ann.private_chat()
        sent = await chat.send_document(b"\x00\xff\r\n--", "naïve.bin", caption="look")
        [update] = await bot.poll(0)
        assert update["message"]["document"]["file_name"] == "naïve.bin"
        assert await bot.download(update["message"]["document"]["file_id"]) == sent.document

        file_id = await bot.document(chat.id, "répørt.md", b"# Done\r\n--\r\n")
        assert (chat.messages[-1].file_name, chat.messages[-1].caption) == ("répørt.md", "here")
        assert await bot.download(file_id) == b"# Done\r\n--\r\n" == chat.messages[-1].document

        ids = await bot.album(chat.id, [png(4, 3), png(5, 3)])
        album = [message for message in chat.messages if message.id in ids]
        assert len({message.album for message in album}) == 1
        assert [(message.photo, message.caption) for message in album] == [(png(4, 3), "all of it"), (png(5, 3), "")]

        await bot.draft(chat.id, "I am loo")
        await bot.typing(chat.id)
        assert chat.draft is not None
        assert (chat.draft.text, chat.actions) == ("I am loo", ["typing"])
        await bot.send(chat.id, "I am looking.")
        assert chat.draft is None

        group = server.group(id=-1001, title="Team", members=[ann], is_forum=True, bot_is_admin=True)
        topic = await bot.topic(group.id, "build")
        await bot.send(group.id, "Here.", thread=topic)
        assert [message.text for message in group.topic("build").bot_messages if not message.service] == ["Here."]

"""What goes wrong on demand."""

from __future__ import annotations

import time

import httpx2
import pytest

from .support import raw_bot


async def test_a_dropped_connection_does_nothing() -> None:
    async with raw_bot() as (bot, _, chat):
        bot.server.faults.drop_connections(2, methods=["sendMessage"])
        for _ in range(2):
            with pytest.raises(httpx2.TransportError):
                await bot.say(chat, "hello")
        assert chat.messages == []
        await bot.say(chat, "hello")
        assert [call.status for call in bot.server.calls_of("sendMessage")] == [0, 0, 200]


async def test_a_lost_answer_was_carried_out() -> None:
    async with raw_bot() as (bot, _, chat):
        bot.server.faults.accept_then_drop("sendMessage")
        with pytest.raises(httpx2.TransportError):
            await bot.say(chat, "hello")
        assert [message.text for message in chat.messages] == ["hello"]


async def test_a_refusal_of_ones_own() -> None:
    async with raw_bot() as (bot, _, chat):
        bot.server.faults.fail("sendMessage", 429, "Too Many Requests: retry after 7", retry_after=7)
        bot.server.faults.fail("editMessageText", 502, "Bad Gateway")
        refused = await bot.answer("sendMessage", chat_id=chat.id, text="hello")
        assert refused["parameters"] == {"retry_after": 7}
        await bot.say(chat, "hello")
        assert await bot.refusal("editMessageText", chat_id=chat.id, message_id=1, text="x") == "Bad Gateway"


async def test_a_delay_and_no_more_faults() -> None:
    async with raw_bot() as (bot, _, _):
        bot.server.faults.delay("getMe", 0.05)
        before = time.monotonic()
        await bot.call("getMe")
        assert time.monotonic() - before >= 0.05
        bot.server.faults.drop_connections(100)
        bot.server.faults.clear()
        await bot.call("getMe")


async def test_a_server_that_is_away_for_a_while() -> None:
    async with raw_bot() as (bot, _, chat):
        async with bot.server.unreachable():
            with pytest.raises(httpx2.ConnectError):
                await bot.say(chat, "hello")
            await chat.send("meanwhile")
        [update] = await bot.call("getUpdates")
        assert update["message"]["text"] == "meanwhile"


async def test_a_download_that_breaks() -> None:
    async with raw_bot() as (bot, _, chat):
        sent = await chat.send_document(b"data")
        assert sent.media is not None
        address = f"{bot.server.url}/file/bot{bot.server.token}/{sent.media.file.path}"
        bot.server.faults.drop_connections(methods=["file"])
        with pytest.raises(httpx2.TransportError):
            await bot.client.get(address)
        assert (await bot.client.get(address)).content == b"data"

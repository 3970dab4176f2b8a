"""How a bot hears of things: polls, offsets, two pollers, webhooks, and updates that come twice."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest

from handrail.testing._http import HTTPRequest, HTTPResponse, HTTPServer

from .support import raw_bot

TWO_POLLERS = "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running"
WEBHOOK_IS_SET = (
    "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first"
)


def texts(updates: list[dict[str, Any]]) -> list[str]:
    return [update["message"]["text"] for update in updates]


async def test_updates_wait_until_they_are_confirmed() -> None:
    async with raw_bot() as (bot, _, chat):
        for text in ("one", "two", "three"):
            await chat.send(text)
        first = await bot.call("getUpdates", limit=2)
        assert texts(first) == ["one", "two"]
        assert texts(await bot.call("getUpdates")) == ["one", "two", "three"]
        assert texts(await bot.call("getUpdates", offset=first[1]["update_id"])) == ["two", "three"]
        assert texts(await bot.call("getUpdates", offset=-1)) == ["three"]
        assert texts(await bot.call("getUpdates")) == ["three"]
        assert bot.server.pending_updates == 1


async def test_a_poll_waits_for_the_next_update() -> None:
    async with raw_bot() as (bot, _, chat):
        polling = asyncio.create_task(bot.call("getUpdates", timeout=30))
        await bot.call("getMe")
        await chat.send("hello")
        assert texts(await polling) == ["hello"]
        assert await bot.call("getUpdates", offset=-1, timeout=0)


async def test_a_second_poller_ends_the_first() -> None:
    async with raw_bot() as (bot, _, chat):
        first = asyncio.create_task(bot.refusal("getUpdates", timeout=30))
        while not bot.server.is_polled:
            await asyncio.sleep(0)
        second = asyncio.create_task(bot.call("getUpdates", timeout=30))
        assert await first == TWO_POLLERS
        await chat.send("hello")
        assert texts(await second) == ["hello"]


async def test_a_poller_that_leaves_is_forgotten() -> None:
    async with raw_bot() as (bot, _, _):
        polling = asyncio.create_task(bot.call("getUpdates", timeout=30))
        while not bot.server.is_polled:
            await asyncio.sleep(0)
        polling.cancel()
        while bot.server.is_polled:
            await asyncio.sleep(0)


async def test_only_what_is_asked_for_is_kept() -> None:
    async with raw_bot() as (bot, ann, chat):
        assert await bot.call("getUpdates", allowed_updates=["callback_query"]) == []
        await chat.send("unheard")
        await bot.say(chat, "Go?", reply_markup={"inline_keyboard": [[{"text": "Go", "callback_data": "x"}]]})
        pressing = asyncio.create_task(chat.messages[-1].press("Go", by=ann))
        [update] = await bot.call("getUpdates", timeout=10)
        await bot.call("answerCallbackQuery", callback_query_id=update["callback_query"]["id"], show_alert=True)
        assert (await pressing).show_alert
        again = await bot.refusal("answerCallbackQuery", callback_query_id=update["callback_query"]["id"])
        assert again == "Bad Request: query is too old and response timeout expired or query ID is invalid"


async def test_updates_can_come_twice() -> None:
    async with raw_bot() as (bot, _, chat):
        await chat.send("hello")
        [update] = await bot.call("getUpdates")
        bot.server.faults.repeat_updates()
        assert await bot.call("getUpdates", offset=update["update_id"] + 1) == [update]
        assert await bot.call("getUpdates", offset=update["update_id"] + 1) == []


class Listener:
    """A bot that is told of updates; `status` is what it answers next."""

    def __init__(self) -> None:
        self.received: asyncio.Queue[tuple[dict[str, Any], str]] = asyncio.Queue()
        self.statuses: list[int] = []
        self.reply: dict[str, Any] = {}
        self.url = ""

    async def handle(self, request: HTTPRequest, response: HTTPResponse) -> None:
        update = msgspec.json.decode(request.body)
        self.received.put_nowait((update, request.headers.get("x-telegram-bot-api-secret-token", "")))
        await response.send(self.statuses.pop(0) if self.statuses else 200, msgspec.json.encode(self.reply))

    async def next_text(self) -> str:
        update, _ = await asyncio.wait_for(self.received.get(), 10)
        return str(update["message"]["text"])


@asynccontextmanager
async def listener() -> AsyncIterator[Listener]:
    told = Listener()
    server = HTTPServer(told.handle)
    told.url = f"http://127.0.0.1:{await server.start('127.0.0.1', 0)}/hook"
    try:
        yield told
    finally:
        await server.close()


@pytest.mark.slow
async def test_a_webhook_is_sent_updates_until_it_takes_them() -> None:
    async with listener() as told, raw_bot() as (bot, _, chat):
        await chat.send("before")
        told.statuses = [500]
        answer = await bot.answer("setWebhook", url=told.url, secret_token="s3cret-token")
        assert answer["description"] == "Webhook was set"
        update, secret = await asyncio.wait_for(told.received.get(), 10)
        assert (update["message"]["text"], secret) == ("before", "s3cret-token")
        assert await told.next_text() == "before"
        about = await bot.call("getWebhookInfo")
        assert about["url"] == told.url
        assert about["last_error_message"] == "Wrong response from the webhook: 500 Internal Server Error"

        bot.server.faults.repeat_updates()
        told.reply = {"method": "sendMessage", "chat_id": chat.id, "text": "from the hook"}
        await chat.send("after")
        assert [await told.next_text(), await told.next_text()] == ["after", "after"]
        await chat.wait_for_text("from the hook")

        assert await bot.refusal("getUpdates") == WEBHOOK_IS_SET
        assert (await bot.answer("deleteWebhook"))["description"] == "Webhook was deleted"
        assert (await bot.answer("deleteWebhook"))["description"] == "Webhook is already deleted"
        await chat.send("polled")
        assert texts(await bot.call("getUpdates"))[-1:] == ["polled"]


async def test_a_webhook_ends_a_poll() -> None:
    async with listener() as told, raw_bot() as (bot, _, _):
        polling = asyncio.create_task(bot.refusal("getUpdates", timeout=30))
        while not bot.server.is_polled:
            await asyncio.sleep(0)
        await bot.call("setWebhook", url=told.url)
        assert await polling == "Conflict: terminated by setWebhook request"


async def test_webhooks_that_are_refused() -> None:
    async with raw_bot() as (bot, _, _):
        for parameters, words in [
            ({"url": "http://example.org/"}, "bad webhook: An HTTPS URL must be provided for webhook"),
            (
                {"url": "https://example.org:9000/"},
                "bad webhook: Webhook can be set up only on ports 80, 88, 443 or 8443",
            ),
            ({"url": "https://example.org/", "secret_token": "a b"}, "secret token contains unallowed characters"),
            ({"url": "https://example.org/", "secret_token": "a" * 257}, "secret token is too long"),
            ({"url": "https://example.org:x/"}, "invalid webhook URL specified"),
        ]:
            assert await bot.refusal("setWebhook", **parameters) == f"Bad Request: {words}"

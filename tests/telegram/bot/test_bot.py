"""The bridge's bot against a Bot API server."""

from __future__ import annotations

import asyncio
import logging
import traceback
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import suppress
from typing import Any

import pytest

from handrail.telegram.bot import TelegramBot
from handrail.telegram.bot_errors import (
    BadEntities,
    Blocked,
    BotError,
    ChatMoved,
    Conflict,
    FloodWait,
    MessageGone,
    NoFiles,
    NotEditable,
    NotModified,
    Refused,
    TokenInvalid,
    TooLong,
    TopicGone,
    Unreachable,
    error_of,
)
from handrail.telegram.model import Attachment, Button, Content, Place
from handrail.telegram.text.rich import bold, mention, plain
from handrail.testing import TelegramPace, TelegramServer
from handrail.testing.telegram import Chat, User

ANN = Place(1001)
PNG = (
    b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00\x1f\x15\xc4\x89"
    b"\x00\x00\x00\rIDATx\x9cc\xf8\xcf\xc0\xf0\x1f\x00\x05\x00\x01\xff\x89\x99=\x1d\x00\x00\x00\x00IEND\xaeB`\x82"
)


@pytest.fixture
async def server() -> AsyncIterator[TelegramServer]:
    async with TelegramServer(pace=None) as server:
        yield server


@pytest.fixture
def ann(server: TelegramServer) -> User:
    return server.user(id=1001, first_name="Ann")


@pytest.fixture
def chat(ann: User) -> Chat:
    return ann.private_chat()


@pytest.fixture
async def bot(server: TelegramServer) -> AsyncIterator[TelegramBot]:
    async with TelegramBot(server.token, api_url=server.url) as bot:
        yield bot


async def test_who_the_bot_is(server: TelegramServer, bot: TelegramBot) -> None:
    me = await bot.me()
    assert (me.id, me.username) == (server.bot.id, server.bot.username)


async def test_a_prompt_opens_the_input_of_whoever_is_meant(
    server: TelegramServer, bot: TelegramBot, ann: User
) -> None:
    chat, bea = ann.private_chat(), server.user(id=1002, first_name="Bea")
    group = server.group(id=-1001, title="Team", members=[ann, bea])
    for place in (ANN, Place(group.id)):
        asked = await bot.send(place, Content(plain("May I?")))
        words = plain("Why not?") if place.is_private else mention("Bea", bea.id) + ": why not?"
        await bot.send(place, Content(words, reply_to=asked, placeholder="Why not?"))
    assert chat.messages[-1].asks_reply_of(ann)
    assert [person.name for person in (ann, bea) if group.messages[-1].asks_reply_of(person)] == ["Bea"]


async def test_a_wrong_token_is_said_without_saying_it(server: TelegramServer) -> None:
    secret = "987654:AAwrong-token-that-nobody-may-see-000"
    async with TelegramBot(secret, api_url=server.url) as bot:
        with pytest.raises(TokenInvalid, match="handrail telegram setup") as caught:
            await bot.me()
    assert secret not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize("token", ["", "secret", "123456:two words", "123456:line\n", "123456:a/../b"])
async def test_what_cannot_be_a_token_is_said_without_saying_it(token: str) -> None:
    with pytest.raises(TokenInvalid, match="@BotFather") as caught:
        async with TelegramBot(token):
            pass
    assert token == "" or token not in str(caught.value)


@pytest.mark.parametrize("address", ["", "no address", "http://[", "ftp://example.org", "http://127.0.0.1:99999"])
async def test_an_address_that_is_none(address: str) -> None:
    secret = "987654:AAtoken-that-nobody-may-see-00000000"
    async with TelegramBot(secret, api_url=address) as bot:
        for call in (bot.me(), bot.updates(0, 0)):
            with pytest.raises(Unreachable) as caught:
                await call
            assert secret not in "".join(traceback.format_exception(caught.value))


async def test_updates_come_as_telegram_wrote_them(server: TelegramServer, bot: TelegramBot, chat: Chat) -> None:
    await chat.send("hello")
    (first,) = await bot.updates(0, 5, allowed=("message", "callback_query"))
    assert first["message"]["text"] == "hello"
    assert await bot.updates(first["update_id"] + 1, 0) == []


async def test_a_long_poll_keeps_nothing_else_waiting(server: TelegramServer, bot: TelegramBot, chat: Chat) -> None:
    polling = asyncio.create_task(bot.updates(0, 30))
    await asyncio.gather(*(bot.send(ANN, Content(plain(str(n)))) for n in range(20)))
    assert len(chat.bot_messages) == 20
    assert not polling.done()
    await chat.send("hello")
    (update,) = await polling
    assert update["message"]["text"] == "hello"


@pytest.mark.slow
async def test_a_second_poller_ends_the_first(server: TelegramServer, bot: TelegramBot) -> None:
    async with TelegramBot(server.token, api_url=server.url) as second, asyncio.timeout(30):
        first = asyncio.create_task(bot.updates(0, 60))
        while not first.done():
            with suppress(Conflict):  # the second came first, and is ended by it
                await second.updates(0, 1)
        with pytest.raises(Conflict, match="getUpdates"):
            await first


async def test_a_message_with_looks_buttons_and_a_reply(server: TelegramServer, bot: TelegramBot, chat: Chat) -> None:
    asked = await chat.send("question")
    buttons = ((Button("Allow", token="t1", style="success"), Button("Docs", url="https://example.org/")),)

    number = await bot.send(ANN, Content(bold("Run?") + plain(" ls"), buttons=buttons, reply_to=asked.id, sound=True))

    (message,) = chat.bot_messages
    assert (message.id, message.text, message.silent) == (number, "Run? ls", False)
    assert [(entity.type, entity.offset, entity.length) for entity in message.entities] == [("bold", 0, 4)]
    (row,) = message.buttons
    assert [(button.text, button.data, button.url) for button in row] == [
        ("Allow", "t1", ""),
        ("Docs", "", "https://example.org/"),
    ]


async def test_a_reply_to_what_is_gone_is_sent_all_the_same(
    server: TelegramServer, bot: TelegramBot, chat: Chat
) -> None:
    await bot.send(ANN, Content(plain("late"), reply_to=4711))
    (message,) = chat.bot_messages
    assert message.silent


async def test_edits_and_deletes(server: TelegramServer, bot: TelegramBot, chat: Chat) -> None:
    keyboard = ((Button("Allow", token="t"),),)
    number = await bot.send(ANN, Content(plain("one"), buttons=keyboard))
    await bot.edit(ANN, number, Content(plain("two")))
    (message,) = chat.bot_messages
    assert (message.text, list(message.buttons), message.is_edited) == ("two", [], True)

    with pytest.raises(NotModified):
        await bot.edit(ANN, number, Content(plain("two")))
    await bot.delete(ANN, number)
    assert chat.bot_messages == []
    with pytest.raises(MessageGone):
        await bot.edit(ANN, number, Content(plain("three")))
    with pytest.raises(MessageGone):
        await bot.delete(ANN, number)


async def test_files_and_their_captions(server: TelegramServer, bot: TelegramBot, chat: Chat) -> None:
    number = await bot.send(ANN, Content(bold("Log"), attachment=Attachment("log.txt", b"all of it")))
    (message,) = chat.bot_messages
    assert (message.file_name, message.document, message.caption) == ("log.txt", b"all of it", "Log")

    await bot.edit(ANN, number, Content(plain("The log"), attachment=Attachment("log.txt", b"")))
    assert chat.bot_messages[0].caption == "The log"
    assert chat.bot_messages[0].document == b"all of it"


async def test_a_photo_that_is_none_is_sent_as_a_file(server: TelegramServer, bot: TelegramBot, chat: Chat) -> None:
    await bot.send(ANN, Content(attachment=Attachment("dot.png", PNG, "photo")))
    assert chat.bot_messages[-1].photo is not None

    server.faults.fail("sendPhoto", 400, "Bad Request: PHOTO_INVALID_DIMENSIONS", times=1)
    await bot.send(ANN, Content(attachment=Attachment("dot.png", PNG, "photo")))
    assert chat.bot_messages[-1].document == PNG


async def test_a_file_that_was_sent_comes_within_its_limit(
    server: TelegramServer, bot: TelegramBot, chat: Chat
) -> None:
    await chat.send_document(b"0123456789", "n.txt", "text/plain")
    (update,) = await bot.updates(0, 5)
    file_id = update["message"]["document"]["file_id"]
    assert await bot.download(file_id, 10) == b"0123456789"
    with pytest.raises(TooLong):
        await bot.download(file_id, 9)


async def test_toasts(server: TelegramServer, bot: TelegramBot, chat: Chat, ann: User) -> None:
    await bot.send(ANN, Content(plain("?"), buttons=((Button("Allow", token="t"),),)))
    pressing = asyncio.ensure_future(chat.bot_messages[0].press("Allow", by=ann))
    (update,) = await bot.updates(0, 5)
    assert update["callback_query"]["data"] == "t"
    assert await bot.answer_callback(update["callback_query"]["id"], "Approved", alert=True)
    toast = await pressing
    assert (toast.text, toast.show_alert) == ("Approved", True)
    assert await bot.answer_callback(update["callback_query"]["id"], "Again") is False


async def test_drafts_actions_and_commands(server: TelegramServer, bot: TelegramBot, chat: Chat) -> None:
    await bot.draft(ANN, 7, bold("thin") + plain("king"))
    await bot.action(ANN)
    await bot.set_commands([("new", "Start a session")])
    assert chat.draft is not None
    assert len(chat.actions) == 1
    (call,) = server.calls_of("setMyCommands")
    assert "Start a session" in str(call.params)


async def test_where_the_bot_may_not_write(server: TelegramServer, bot: TelegramBot, ann: User, chat: Chat) -> None:
    ann.block()
    with pytest.raises(Blocked):
        await bot.send(ANN, Content(plain("hello")))
    with pytest.raises(Blocked):
        await bot.send(Place(5555), Content(plain("hello")))


async def test_what_is_too_long(chat: Chat, bot: TelegramBot) -> None:
    with pytest.raises(TooLong):
        await bot.send(ANN, Content(plain("x" * 5000)))


async def test_a_flood_wait_says_how_long() -> None:
    async with TelegramServer(pace=TelegramPace(chat_burst=1)) as server:
        server.user(id=1001, first_name="Ann").private_chat()
        async with TelegramBot(server.token, api_url=server.url) as bot:
            await bot.send(ANN, Content(plain("1")))
            with pytest.raises(FloodWait) as caught:
                await bot.send(ANN, Content(plain("2")))
    assert caught.value.retry_after >= 1


async def test_no_answer_is_not_a_refusal(server: TelegramServer, bot: TelegramBot, chat: Chat) -> None:
    server.faults.drop_connections(1, methods=["sendMessage"])
    with pytest.raises(Unreachable):
        await bot.send(ANN, Content(plain("x")))
    server.faults.fail("sendMessage", 502, "Bad Gateway", times=1)
    with pytest.raises(Unreachable):
        await bot.send(ANN, Content(plain("x")))
    async with TelegramBot(server.token, api_url="http://127.0.0.1:9") as nowhere:
        with pytest.raises(Unreachable) as caught:
            await nowhere.me()
        assert caught.value.is_away
        with pytest.raises(Unreachable):
            await nowhere.updates(0, 1)


@pytest.mark.parametrize(
    ("code", "description", "parameters", "kind"),
    [
        (400, "Bad Request: message is not modified: specified new message content …", {}, NotModified),
        (400, "Bad Request: message to edit not found", {}, MessageGone),
        (400, "Bad Request: MESSAGE_ID_INVALID", {}, MessageGone),
        (400, "Bad Request: message can't be edited", {}, NotEditable),
        (400, "Bad Request: message can't be deleted for everyone", {}, NotEditable),
        (400, "Bad Request: chat not found", {}, Blocked),
        (400, "Bad Request: not enough rights to send text messages to the chat", {}, Blocked),
        (400, "Bad Request: not enough rights to send documents to the chat", {}, NoFiles),
        (400, "Bad Request: message thread not found", {}, TopicGone),
        (400, "Bad Request: TOPIC_CLOSED", {}, TopicGone),
        (400, "Bad Request: message is too long", {}, TooLong),
        (400, "Bad Request: MEDIA_CAPTION_TOO_LONG", {}, TooLong),
        (400, "Bad Request: can't parse entities: Unsupported start tag", {}, BadEntities),
        (400, "Bad Request: ENTITY_BOUNDS_INVALID", {}, BadEntities),
        (400, "Bad Request: BUTTON_DATA_INVALID", {}, Refused),
        (400, "Bad Request: group chat was upgraded", {"migrate_to_chat_id": -1007}, ChatMoved),
        (401, "Unauthorized", {}, TokenInvalid),
        (403, "Forbidden: bot was kicked from the supergroup chat", {}, Blocked),
        (404, "Not Found", {}, TokenInvalid),
        (404, "Not Found: method not found", {}, Refused),
        (409, "Conflict: terminated by other getUpdates request", {}, Conflict),
        (413, "Request Entity Too Large", {}, TooLong),
        (429, "Too Many Requests: retry after 7", {"retry_after": 7}, FloodWait),
        (429, "Too Many Requests", {}, FloodWait),
        (500, "Internal Server Error", {}, Unreachable),
        (502, "Bad Gateway", {"retry_after": "soon"}, Unreachable),
    ],
)
def test_what_an_answer_means(code: int, description: str, parameters: dict[str, Any], kind: type[BotError]) -> None:
    assert type(error_of(code, description, parameters)) is kind


async def test_the_token_is_in_no_log_and_no_error(server: TelegramServer, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    errors: list[BaseException] = []

    async def attempt(call: Callable[[], Coroutine[Any, Any, Any]]) -> None:
        try:
            await call()
        except BotError as error:
            errors.append(error)

    for api_url in (server.url, "http://127.0.0.1:9", "http://no.such.host.invalid"):
        async with TelegramBot(server.token, api_url=api_url) as bot:
            server.faults.fail("getMe", 400, f"Bad Request: {server.token} is odd", times=1)
            for call in (bot.me, bot.me, lambda bot=bot: bot.updates(0, 0), lambda bot=bot: bot.download("f", 1)):
                await attempt(call)
            assert server.token not in repr(bot)

    assert len(errors) >= 6
    assert server.token not in caplog.text
    for error in errors:
        assert server.token not in "".join(traceback.format_exception(error))

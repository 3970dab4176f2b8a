"""What the server refuses, in the words that clients of the real one tell cases apart by."""

from __future__ import annotations

from typing import Any

import pytest

from handrail.testing.telegram import Chat

from .support import RawBot, png, raw_bot

LONG_DATA = {"inline_keyboard": [[{"text": "Go", "callback_data": "x" * 65}]]}
TEXT_BUTTON = {"inline_keyboard": [[{"text": "Go"}]]}
BAD_URL = {"inline_keyboard": [[{"text": "Go", "url": "http://localhost/x"}]]}
MANY_BUTTONS = {"inline_keyboard": [[{"text": "Go", "callback_data": "x"}]] * 101}
SENT_TEXTS: list[tuple[dict[str, Any], str]] = [
    ({"text": ""}, "Bad Request: message text is empty"),
    ({"text": " \n "}, "Bad Request: text must be non-empty"),
    ({"text": "x" * 4097}, "Bad Request: message is too long"),
    ({"text": "😀" * 2049}, "Bad Request: message is too long"),
    ({"text": "x" * 32769}, "Bad Request: text is too long"),
    ({"chat_id": ""}, "Bad Request: chat_id is empty"),
    ({"chat_id": 999}, "Bad Request: chat not found"),
    ({"chat_id": "@nobody"}, "Bad Request: chat not found"),
    ({"reply_parameters": {"message_id": 77}}, "Bad Request: message to be replied not found"),
    ({"reply_to_message_id": 77}, "Bad Request: message to be replied not found"),
    ({"reply_parameters": "{"}, "Bad Request: can't parse reply parameters JSON object"),
    ({"message_thread_id": 5}, "Bad Request: message thread not found"),
    ({"reply_markup": "{"}, "Bad Request: can't parse reply keyboard markup JSON object"),
    ({"reply_markup": "[]"}, "Bad Request: object expected as reply markup"),
    ({"reply_markup": LONG_DATA}, "Bad Request: BUTTON_DATA_INVALID"),
    ({"reply_markup": MANY_BUTTONS}, "Bad Request: REPLY_MARKUP_TOO_LONG"),
    (
        {"reply_markup": TEXT_BUTTON},
        "Bad Request: can't parse inline keyboard button: Text buttons are unallowed in the inline keyboard",
    ),
    (
        {"reply_markup": BAD_URL},
        "Bad Request: inline keyboard button URL 'http://localhost/x' is invalid: Wrong HTTP URL",
    ),
    (
        {"entities": [{"type": "bold", "offset": 0, "length": 9}]},
        "Bad Request: entity beginning at UTF-16 offset 0 ends after the end of the text at UTF-16 offset 9",
    ),
    (
        {"entities": [{"type": "bold", "offset": 9, "length": 1}]},
        "Bad Request: entity begins after the end of the text at UTF-16 offset 9",
    ),
    (
        {"text": "a😀b", "entities": [{"type": "bold", "offset": 2, "length": 2}]},
        "Bad Request: entity begins in a middle of a UTF-16 symbol at byte offset 5",
    ),
    (
        {"text": "a😀b", "entities": [{"type": "bold", "offset": 0, "length": 2}]},
        "Bad Request: entity beginning at UTF-16 offset 0 ends in a middle of a UTF-16 symbol at byte offset 5",
    ),
    (
        {"entities": [{"type": "loud", "offset": 0, "length": 1}]},
        "Bad Request: can't parse MessageEntity: Unsupported type specified",
    ),
    (
        {"entities": [{"type": "bold", "offset": 0}]},
        "Bad Request: can't parse MessageEntity: Can't find field \"length\"",
    ),
    (
        {"entities": [{"type": "text_link", "offset": 0, "length": 1, "url": "ftp://example.org"}]},
        "Bad Request: entity URL 'ftp://example.org' is invalid: Unsupported URL protocol",
    ),
    (
        {"entities": [{"type": "text_link", "offset": 0, "length": 1, "url": f"https://example.org/{'x' * 9600}"}]},
        "Bad Request: ENTITIES_TOO_LONG",
    ),
    ({"parse_mode": "rtf"}, "Bad Request: unsupported parse_mode"),
]


async def test_texts(subtests: pytest.Subtests) -> None:
    async with raw_bot() as (bot, _, chat):
        for parameters, words in SENT_TEXTS:
            with subtests.test(words[13:60]):
                assert await bot.refusal("sendMessage", **{"chat_id": chat.id, "text": "hello", **parameters}) == words
                assert chat.messages == []


async def test_what_is_at_a_limit_is_taken() -> None:
    async with raw_bot() as (bot, _, chat):
        await bot.say(chat, "😀" * 2048)
        keyboard = {"inline_keyboard": [[{"text": "Go", "callback_data": "é" * 32}]]}
        await bot.say(chat, "hello", reply_markup=keyboard)
        assert chat.messages[-1].buttons[0][0].data == "é" * 32
        await bot.say(chat, "hello", reply_parameters={"message_id": 77, "allow_sending_without_reply": True})


async def test_edits_and_deletions() -> None:
    async with raw_bot() as (bot, ann, chat):
        theirs = await chat.send("mine")
        sent = await bot.say(chat, "hello")
        edit = {"chat_id": chat.id, "message_id": sent["message_id"]}
        assert (await bot.refusal("editMessageText", **edit, text="hello")).startswith(
            "Bad Request: message is not modified: specified new message content and reply markup are exactly the same"
        )
        assert await bot.refusal("editMessageText", chat_id=chat.id, message_id=77, text="x") == (
            "Bad Request: message to edit not found"
        )
        assert await bot.refusal("editMessageText", chat_id=chat.id, message_id=theirs.id, text="x") == (
            "Bad Request: message can't be edited"
        )
        assert await bot.refusal("editMessageText", text="x") == "Bad Request: message identifier is not specified"
        assert await bot.refusal("editMessageCaption", **edit, caption="x") == (
            "Bad Request: there is no caption in the message to edit"
        )
        assert await bot.refusal("editMessageText", **edit, text="x", reply_markup={"force_reply": True}) == (
            "Bad Request: inline keyboard expected"
        )
        prompt = await bot.say(chat, "Why?", reply_markup={"force_reply": True})
        assert await bot.refusal("editMessageText", chat_id=chat.id, message_id=prompt["message_id"], text="x") == (
            "Bad Request: message can't be edited"
        )
        assert await bot.refusal("deleteMessage", chat_id=chat.id, message_id=77) == (
            "Bad Request: message to delete not found"
        )
        group = bot.server.group(id=-1001, title="Team", members=[ann])
        foreign = await group.send("hi", by=ann)
        assert await bot.refusal("deleteMessage", chat_id=group.id, message_id=foreign.id) == (
            "Bad Request: message can't be deleted for everyone"
        )


async def upload(bot: RawBot, chat: Chat, kind: str, data: bytes, caption: str = "") -> dict[str, Any]:
    form = {"chat_id": str(chat.id), "caption": caption}
    response = await bot.client.post(f"{bot.base}/send{kind}", data=form, files={kind.lower(): ("a.bin", data)})
    body: dict[str, Any] = response.json()
    return body


async def test_files() -> None:
    async with raw_bot() as (bot, _, chat):
        assert (await upload(bot, chat, "Document", b""))["description"] == "Bad Request: file must be non-empty"
        assert (await upload(bot, chat, "Photo", b"no picture"))["description"] == "Bad Request: IMAGE_PROCESS_FAILED"
        stretched = (await upload(bot, chat, "Photo", png(100, 1)))["description"]
        assert stretched == "Bad Request: PHOTO_INVALID_DIMENSIONS"
        too_long = (await upload(bot, chat, "Document", b"x", caption="x" * 1025))["description"]
        assert too_long == "Bad Request: message caption is too long"
        assert await bot.refusal("sendDocument", chat_id=chat.id) == "Bad Request: there is no document in the request"
        assert await bot.refusal("sendDocument", chat_id=chat.id, document="AgAD") == (
            "Bad Request: wrong file identifier/HTTP URL specified"
        )
        assert await bot.refusal("getFile", file_id="AgAD") == "Bad Request: invalid file_id"
        large = await chat.send_document(bytes((20 << 20) + 1), "large.bin")
        assert large.media is not None
        assert await bot.refusal("getFile", file_id=large.media.file.file_id) == "Bad Request: file is too big"
        sent = (await upload(bot, chat, "Photo", png(40, 30)))["result"]
        assert [(size["width"], size["height"]) for size in sent["photo"]] == [(1, 1), (40, 30)]
        assert await bot.refusal(
            "sendMediaGroup", chat_id=chat.id, media=[{"type": "photo", "media": "attach://x"}]
        ) == ("Bad Request: can't parse InputMedia: media not found")


COMMANDS: list[tuple[Any, str]] = [
    ([{"command": "New", "description": "x"}], "Bad Request: BOT_COMMAND_INVALID"),
    ([{"command": "x" * 33, "description": "x"}], "Bad Request: BOT_COMMAND_INVALID"),
    ([{"command": "new", "description": "x" * 257}], "Bad Request: BOT_COMMAND_DESCRIPTION_INVALID"),
    ([{"command": "new"}], "Bad Request: can't parse BotCommand: Can't find field \"description\""),
    ({}, "Bad Request: expected an Array of BotCommand"),
    ([{"command": f"c{n}", "description": "x"} for n in range(101)], "Bad Request: BOT_COMMANDS_TOO_MUCH"),
]


async def test_commands(subtests: pytest.Subtests) -> None:
    async with raw_bot() as (bot, _, _):
        for commands, words in COMMANDS:
            with subtests.test(words):
                assert await bot.refusal("setMyCommands", commands=commands) == words


async def test_who_may_not() -> None:
    async with raw_bot() as (bot, ann, chat):
        ann.block()
        assert await bot.refusal("sendMessage", chat_id=chat.id, text="x") == "Forbidden: bot was blocked by the user"
        ann.unblock()
        await bot.say(chat, "x")
        bob = bot.server.user(id=1002, first_name="Bob").private_chat(started=False)
        unstarted = await bot.refusal("sendMessage", chat_id=bob.id, text="x")
        assert unstarted == "Forbidden: bot can't initiate conversation with a user"
        await bob.send("hello")
        await bot.say(bob, "hello")
        group = bot.server.group(id=-1001, title="Team", members=[ann])
        group.remove_bot()
        kicked = await bot.refusal("sendMessage", chat_id=group.id, text="x")
        assert kicked == "Forbidden: bot was kicked from the supergroup chat"
        drafting = bot.server.group(id=-1002, title="Other", members=[ann])
        assert await bot.refusal("sendMessageDraft", chat_id=drafting.id, draft_id=1, text="x") == (
            "Bad Request: TEXTDRAFT_PEER_INVALID"
        )
        changes = [update["my_chat_member"]["new_chat_member"]["status"] for update in await updates(bot)]
        assert changes == ["kicked", "member", "kicked"]


async def updates(bot: RawBot) -> list[dict[str, Any]]:
    return [update for update in await bot.call("getUpdates") if "my_chat_member" in update]


async def test_tokens_and_methods() -> None:
    async with raw_bot() as (bot, _, _):
        for token, code, words in [("123456:other", 401, "Unauthorized"), ("secret", 404, "Not Found")]:
            body = (await bot.client.get(f"{bot.server.url}/bot{token}/getMe")).json()
            assert (body["error_code"], body["description"]) == (code, words)
        assert await bot.refusal("makeCoffee") == "Not Found: method not found"
        assert (await bot.call("GETME"))["username"] == bot.server.bot.username
        assert (await bot.client.get(f"{bot.server.url}/file/bot{bot.server.token}/nothing")).status_code == 404

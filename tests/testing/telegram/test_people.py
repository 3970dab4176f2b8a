"""The people's side: groups with privacy, topics, replies, waiting, and what a test can see."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from handrail.testing.telegram import Button, Entity

from .support import RawBot, png, raw_bot

GO = {
    "inline_keyboard": [[{"text": "Go", "callback_data": "go", "style": "success"}, {"text": "Docs", "url": "e.org"}]]
}


async def heard(bot: RawBot) -> list[dict[str, Any]]:
    return [update["message"] for update in await bot.call("getUpdates") if "message" in update]


async def test_in_groups_a_bot_hears_what_is_meant_for_it() -> None:
    async with raw_bot() as (bot, ann, _):
        group = bot.server.group(id=-1001, title="Team", members=[ann])
        own = await bot.say(group, "I am here.")
        said = group.message(own["message_id"])
        await group.send("just talking", by=ann)
        await group.send("/new fix it", by=ann)
        await group.send("/new@another_bot fix it", by=ann)
        await group.send("/stop@handrail_test_bot", by=ann)
        await group.send("hey @handrail_test_bot, look", by=ann)
        await group.send("indeed", by=ann, reply_to=said)
        assert [message["text"] for message in await heard(bot)] == [
            "/new fix it",
            "/stop@handrail_test_bot",
            "indeed",
        ]
        admin = bot.server.group(id=-1002, title="Ops", members=[ann], bot_is_admin=True)
        await admin.send("just talking", by=ann)
        assert (await heard(bot))[-1]["chat"]["id"] == admin.id


async def test_a_command_without_a_name_is_heard_by_the_bot_that_wrote_last() -> None:
    async with raw_bot() as (bot, ann, _):
        other = bot.server.other_bot(id=99, first_name="Other", username="other_bot")
        group = bot.server.group(id=-1001, title="Team", members=[ann, other])
        await group.send("/one", by=ann)
        await bot.say(group, "I am here.")
        await group.send("/two", by=ann)
        theirs = await group.send("So am I.", by=other)
        await group.send("/three", by=ann)
        await group.send("/four@handrail_test_bot", by=ann)
        await group.send("/five@handrail_test_bot", by=other)
        assert [message["text"] for message in await heard(bot)] == ["/two", "/four@handrail_test_bot"]
        assert theirs.as_json()["from"]["is_bot"] is True


async def test_a_bot_without_privacy_hears_everything() -> None:
    async with raw_bot(reads_all_groups=True) as (bot, ann, _):
        group = bot.server.group(id=-1001, title="Team", members=[ann])
        await group.send("just talking", by=ann)
        assert len(await heard(bot)) == 1
        assert (await bot.call("getMe"))["can_read_all_group_messages"] is True


async def test_topics_look_as_they_do_in_telegram() -> None:
    async with raw_bot() as (bot, ann, _):
        forum = bot.server.group(id=-1001, title="Team", members=[ann], is_forum=True, bot_is_admin=True)
        topic = forum.topic("build")
        await topic.send("hello", by=ann)
        await forum.send("in general", by=ann)
        created, hello, general = await heard(bot)
        assert created["forum_topic_created"]["name"] == "build"
        assert (hello["message_thread_id"], hello["is_topic_message"]) == (topic.id, True)
        assert hello["reply_to_message"]["message_id"] == topic.id
        assert "message_thread_id" not in general
        sent = await bot.say(forum, "working", message_thread_id=topic.id)
        assert sent["reply_to_message"]["forum_topic_created"]["name"] == "build"
        assert [message.text for message in topic.bot_messages] == ["working"]
        assert forum.topic("build") is topic

        refused = await bot.refusal("sendMessage", chat_id=forum.id, text="x", message_thread_id=1)
        assert refused == "Bad Request: message thread not found"
        about = {"chat_id": forum.id, "message_thread_id": topic.id}
        await bot.call("editForumTopic", **about, name="tests")
        assert await bot.refusal("editForumTopic", **about, name="tests") == "Bad Request: TOPIC_NOT_MODIFIED"
        await bot.call("closeForumTopic", **about)
        assert topic.is_closed
        await bot.call("deleteForumTopic", **about)
        assert topic.messages == []
        plain = bot.server.group(id=-1002, title="Plain", members=[ann])
        assert (
            await bot.refusal("createForumTopic", chat_id=plain.id, name="x") == "Bad Request: the chat is not a forum"
        )


async def test_message_ids_are_counted_as_in_telegram() -> None:
    async with raw_bot() as (bot, ann, chat):
        bob = bot.server.user(id=1002, first_name="Bob").private_chat()
        group = bot.server.group(id=-1001, title="Team", members=[ann])
        ids = [(await place.send("x", by=ann)).id for place in (chat, bob, group, chat, group)]
        assert ids == [1, 2, 2, 3, 3]


async def test_buttons() -> None:
    async with raw_bot() as (bot, ann, chat):
        await bot.say(chat, "Go?", reply_markup=GO)
        [message] = chat.messages
        go, docs = message.buttons[0]
        assert (go.text, go.data, go.style, docs.url) == ("Go", "go", "success", "http://e.org/")
        with pytest.raises(LookupError, match="has no button 'Stop'; it has \\['Go', 'Docs'\\]"):
            await message.press("Stop", by=ann)
        with pytest.raises(LookupError, match="opens an address"):
            await message.press("Docs", by=ann)
        with pytest.raises(TimeoutError, match="did not answer the button 'Go'"):
            await message.press("Go", by=ann, timeout=0.01)
        await bot.call("editMessageText", chat_id=chat.id, message_id=message.id, text="Gone.")
        late = asyncio.create_task(message.press(go, by=ann))
        update = (await bot.call("getUpdates", timeout=10, offset=-1))[-1]
        assert "reply_markup" not in update["callback_query"]["message"]
        await bot.call("answerCallbackQuery", callback_query_id=update["callback_query"]["id"], text="Too late")
        assert (await late).text == "Too late"


async def test_a_button_of_a_message_that_is_gone() -> None:
    async with raw_bot() as (bot, ann, chat):
        await bot.say(chat, "Go?", reply_markup=GO)
        [message] = chat.messages
        await chat.delete(message)
        pressing = asyncio.create_task(message.press(Button("Go", "go"), by=ann))
        update = (await bot.call("getUpdates", timeout=10))[-1]
        assert update["callback_query"]["message"]["date"] == 0
        await bot.call("answerCallbackQuery", callback_query_id=update["callback_query"]["id"])
        await pressing


async def test_people_edit_reply_quote_and_send_albums() -> None:
    async with raw_bot() as (bot, _, chat):
        await bot.say(chat, "a long answer", entities=[{"type": "bold", "offset": 2, "length": 4}])
        sent = await chat.send("why?", reply_to=chat.messages[0], quote="long")
        await chat.edit(sent, "why so?")
        await chat.send_album([png(), ("notes.txt", b"notes")], caption="both")
        replied, edited, photo, document = await bot.call("getUpdates")
        assert replied["message"]["reply_to_message"]["entities"][0]["type"] == "bold"
        assert replied["message"]["quote"] == {"text": "long", "position": 2}
        assert edited["edited_message"]["text"] == "why so?"
        assert (photo["message"]["caption"], document["message"]["document"]["file_name"]) == ("both", "notes.txt")
        assert photo["message"]["media_group_id"] == document["message"]["media_group_id"]
        await chat.send("plain", entities=[Entity("code", 0, 5)])
        assert chat.messages[-1].entities == [Entity("code", 0, 5)]


async def test_other_things_a_bot_does() -> None:
    async with raw_bot() as (bot, ann, chat):
        sent = await bot.say(chat, "hello", disable_notification=True, reply_markup={"force_reply": True})
        [message] = chat.messages
        assert message.silent
        assert message.reply_markup == {"force_reply": True}
        where = {"chat_id": chat.id, "message_id": sent["message_id"]}
        await bot.call("pinChatMessage", **where)
        await bot.call("setMessageReaction", **where, reaction=[{"type": "emoji", "emoji": "👍"}])
        assert (message.is_pinned, message.reactions) == (True, ["👍"])
        copied = await bot.call("copyMessage", chat_id=chat.id, from_chat_id=chat.id, message_id=message.id)
        forwarded = await bot.call("forwardMessage", chat_id=chat.id, from_chat_id=chat.id, message_id=message.id)
        assert forwarded["forward_origin"]["sender_user"]["id"] == bot.server.bot.id
        await bot.call("deleteMessages", chat_id=chat.id, message_ids=[copied["message_id"], 99])
        assert [message.text for message in chat.messages] == ["hello", "hello"]
        member = await bot.call("getChatMember", chat_id=chat.id, user_id=ann.id)
        assert member["status"] == "member"
        await bot.call("setMyName", name="Rail")
        assert (await bot.call("getMyName"))["name"] == "Rail"


async def test_waiting_says_what_is_there_instead() -> None:
    async with raw_bot() as (bot, _, chat):
        await bot.say(chat, "hello")
        with pytest.raises(TimeoutError, match="hello"):
            await chat.wait_for_text("goodbye", timeout=0.01)
        with pytest.raises(TimeoutError, match="sendMessage 200"):
            await bot.server.wait(lambda server: server.counts_429, timeout=0.01)


async def test_a_selective_prompt_asks_only_whom_it_names_or_answers() -> None:
    async with raw_bot() as (bot, ann, _):
        group = bot.server.group(id=-1001, title="Team", members=[ann])
        bea = bot.server.user(id=1002, first_name="Bea", username="bea")
        theirs = await group.send("hello", by=ann)
        own = await bot.say(group, "hello")
        selective = {"force_reply": True, "selective": True}

        async def asked(text: str, **how: Any) -> list[str]:
            await bot.say(group, text, **how)
            return [person.name for person in (ann, bea) if group.messages[-1].asks_reply_of(person)]

        assert await asked("all", reply_markup={"force_reply": True}) == ["Ann", "Bea"]
        assert await asked("nobody", reply_markup=selective) == []
        assert await asked("own", reply_markup=selective, reply_parameters={"message_id": own["message_id"]}) == []
        assert await asked("ann", reply_markup=selective, reply_parameters={"message_id": theirs.id}) == ["Ann"]
        assert await asked("@bea why?", reply_markup=selective) == ["Bea"]
        named = {"type": "text_mention", "offset": 0, "length": 3, "user": {"id": ann.id}}
        assert await asked("Ann, why?", reply_markup=selective, entities=[named]) == ["Ann"]
        assert await asked("no prompt") == []


async def test_a_group_that_becomes_a_supergroup_has_another_id() -> None:
    async with raw_bot() as (bot, ann, _):
        group = bot.server.group(id=-4001, title="Team", members=[ann])
        new = group.upgrade(-1004001)
        left, come = await bot.call("getUpdates")
        assert (left["message"]["chat"]["id"], left["message"]["migrate_to_chat_id"]) == (-4001, -1004001)
        assert (come["message"]["chat"]["id"], come["message"]["migrate_from_chat_id"]) == (-1004001, -4001)
        assert await bot.refusal("sendMessage", chat_id=group.id, text="hello") == (
            "Bad Request: group chat was upgraded to a supergroup chat"
        )
        await bot.say(new, "hello")
        assert [message.text for message in new.bot_messages] == ["hello"]


async def test_a_message_that_says_what_somebody_did_is_heard_by_the_bot() -> None:
    async with raw_bot() as (bot, ann, chat):
        await bot.say(chat, "hello")
        await chat.pin(chat.messages[0])
        assert chat.messages[0].is_pinned
        [update] = await bot.call("getUpdates")
        assert update["message"]["from"]["id"] == ann.id
        assert update["message"]["pinned_message"]["text"] == "hello"

"""Whatever a bot calls with whatever parameters, the server answers: with a result, or with a refusal."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from handrail.testing.telegram.api import BotApi
from handrail.testing.telegram.api_errors import ApiError
from handrail.testing.telegram.chats import Chat
from handrail.testing.telegram.faults import Faults
from handrail.testing.telegram.methods import METHODS
from handrail.testing.telegram.people import BotAccount, User
from handrail.testing.telegram.requests import Parameters, Upload
from handrail.testing.telegram.world import World

from .support import png

NAMES = (
    *("text", "caption", "parse_mode", "entities", "caption_entities", "reply_markup", "reply_parameters", "media"),
    *("message_id", "message_ids", "message_thread_id", "from_chat_id", "user_id", "draft_id", "action", "name"),
    *("photo", "document", "file_id", "commands", "scope", "menu_button", "reaction", "link_preview_options"),
    *("callback_query_id", "reply_to_message_id"),
)
KEYS = (
    *("type", "offset", "length", "url", "text", "callback_data", "inline_keyboard", "message_id", "quote"),
    *("media", "caption", "command", "description", "chat_id", "style"),
)
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-2, 9)
    | st.sampled_from(["", "bold", "photo", "x", "attach://photo", "{", "hi"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=3),
    max_leaves=6,
)
calls = st.tuples(
    st.sampled_from(sorted(METHODS)),
    st.sampled_from([1001, -1001]),
    st.dictionaries(st.sampled_from(NAMES), values, max_size=4),
)


def filled_world() -> World:
    world = World(BotAccount("1:x", first_name="Bot", username="a_bot", reads_all_groups=False), Faults())
    ann = world.add_user(User(world, 1001, "Ann"))
    forum = Chat(world, -1001, "supergroup", title="Team", members=[ann], is_forum=True, bot_is_admin=True)
    forum = world.add_group(forum)
    for chat in (ann.private_chat(), forum):
        for text in ("one", "two"):
            world.add_message(chat, world.bot, text=text)
    return world


async def answers(given_calls: list[tuple[str, int, dict[str, Any]]]) -> None:
    world = filled_world()
    api = BotApi(world, Faults(), None)
    files = {"photo": Upload("a.png", "image/png", png()), "document": Upload("a.md", "", b"x")}
    for method, chat, parameters in given_calls:
        with suppress(ApiError):
            result = await api.call(method, Parameters({"chat_id": chat, "text": "hello", **parameters}, files))
            msgspec.json.encode(result)
    for chat_there in world.chats.values():
        msgspec.json.encode([message.as_json() for message in chat_there.messages])


@settings(max_examples=30)
@given(st.lists(calls, max_size=5))
def test_every_call_is_answered(given_calls: list[tuple[str, int, dict[str, Any]]]) -> None:
    asyncio.run(answers(given_calls))

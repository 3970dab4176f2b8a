"""Methods about chats, who is in them, what is pinned, and the topics of forums."""

from __future__ import annotations

from typing import Any

from handrail.testing.telegram.api_errors import bad_request
from handrail.testing.telegram.chats import Chat, Topic
from handrail.testing.telegram.methods.calling import Call, Method, chat_of, message_of
from handrail.testing.telegram.people import BotAccount, User

__all__ = ["METHODS"]

_MOST_TOPIC_NAME = 128
_GIFTS = ("unlimited_gifts", "limited_gifts", "unique_gifts", "premium_subscription", "gifts_from_channels")
_RIGHTS = (
    *("can_be_edited", "is_anonymous", "can_manage_chat", "can_delete_messages", "can_manage_video_chats"),
    *("can_restrict_members", "can_promote_members", "can_change_info", "can_invite_users"),
    *("can_post_stories", "can_edit_stories", "can_delete_stories", "can_pin_messages", "can_manage_topics"),
)


def get_chat(call: Call) -> dict[str, Any]:
    """All about a chat."""
    gifts = dict.fromkeys(_GIFTS, False)
    about = {"accent_color_id": 0, "max_reaction_count": 11, "accepted_gift_types": gifts}
    return {**chat_of(call).as_json(), **about}


def get_chat_member(call: Call) -> dict[str, Any]:
    """What somebody is in a chat."""
    chat = chat_of(call)
    wanted = call.parameters.number("user_id")
    if wanted == 0:
        raise bad_request("invalid user_id specified")
    if wanted == call.world.bot.id:
        return _membership(chat, call.world.bot)
    member = next((member for member in chat.members if member.id == wanted), None)
    if member is None:
        raise bad_request("PARTICIPANT_ID_INVALID" if wanted not in call.world.users else "member not found")
    return _membership(chat, member)


def get_chat_administrators(call: Call) -> list[dict[str, Any]]:
    """Who runs a group."""
    chat = chat_of(call)
    if chat.is_private:
        raise bad_request("there are no administrators in the private chat")
    everybody: list[User | BotAccount] = [*chat.members, call.world.bot]
    found = [_membership(chat, member) for member in everybody]
    return [member for member in found if member["status"] != "member"]


def get_chat_member_count(call: Call) -> int:
    """How many are in a chat, the bot included."""
    return len(chat_of(call).members) + 1


def leave_chat(call: Call) -> bool:
    """The bot goes."""
    chat = chat_of(call)
    if chat.is_private:
        raise bad_request("chat member status can't be changed in private chats")
    chat.bot_is_member = False
    return True


def pin_message(call: Call) -> bool:
    """A message that stays above the others."""
    chat = chat_of(call)
    message = message_of(call, chat, "message to pin")
    _need_rights(chat, "manage pinned messages in the chat")
    message.is_pinned = True
    call.world.notify()
    return True


def unpin_message(call: Call) -> bool:
    """The named one, or the one that was pinned last."""
    chat = chat_of(call)
    _need_rights(chat, "manage pinned messages in the chat")
    pinned = [message for message in chat.messages if message.is_pinned]
    id = call.parameters.number("message_id")
    found = chat.message(id) if id else (pinned[-1] if pinned else None)
    if found is None:
        raise bad_request("message to unpin not found")
    found.is_pinned = False
    return True


def unpin_all_messages(call: Call) -> bool:
    """All of them."""
    for message in chat_of(call).messages:
        message.is_pinned = False
    return True


def create_topic(call: Call) -> dict[str, Any]:
    """A topic in a forum."""
    chat = _forum(call)
    name = _topic_name(call)
    if not name:
        raise bad_request("TOPIC_TITLE_EMPTY")
    _need_rights(chat, "create a topic")
    topic = call.world.make_topic(chat, name, by=call.world.bot)
    return {"message_thread_id": topic.id, "name": name, "icon_color": 7322096}


def edit_topic(call: Call) -> bool:
    """Another name for it."""
    chat, topic = _topic(call)
    name = _topic_name(call)
    _need_rights(chat, "edit the topic")
    if name == topic.name:
        raise bad_request("TOPIC_NOT_MODIFIED")
    topic.name = name or topic.name
    call.world.add_message(chat, call.world.bot, thread=topic.id, service={"forum_topic_edited": {"name": topic.name}})
    return True


def close_topic(call: Call) -> bool:
    """Nobody but administrators writes in it any more."""
    return _set_closed(call, True)


def reopen_topic(call: Call) -> bool:
    """Everybody may write in it again."""
    return _set_closed(call, False)


def delete_topic(call: Call) -> bool:
    """Away with it and all that was written in it."""
    chat, topic = _topic(call)
    _need_rights(chat, "delete the topic")
    for message in topic.messages:
        call.world.remove(message)
    del chat.topics[topic.id]
    return True


def _set_closed(call: Call, closed: bool) -> bool:
    chat, topic = _topic(call)
    _need_rights(chat, "close or reopen the topic")
    if topic.is_closed == closed:
        raise bad_request("TOPIC_NOT_MODIFIED")
    topic.is_closed = closed
    what = "forum_topic_closed" if closed else "forum_topic_reopened"
    call.world.add_message(chat, call.world.bot, thread=topic.id, service={what: {}})
    return True


def _forum(call: Call) -> Chat:
    chat = chat_of(call)
    if not chat.is_forum:
        raise bad_request("the chat is not a forum")
    return chat


def _topic(call: Call) -> tuple[Chat, Topic]:
    chat = _forum(call)
    thread = call.parameters.number("message_thread_id")
    if thread <= 0:
        raise bad_request("invalid message thread identifier specified")
    if thread not in chat.topics:
        raise bad_request("TOPIC_ID_INVALID")
    return chat, chat.topics[thread]


def _topic_name(call: Call) -> str:
    name = call.parameters.text("name")
    if len(name) > _MOST_TOPIC_NAME:
        raise bad_request("TOPIC_TITLE_TOO_LONG")
    return name


def _need_rights(chat: Chat, what: str) -> None:
    if not chat.is_private and not chat.bot_is_admin:
        raise bad_request(f"not enough rights to {what}")


def _membership(chat: Chat, member: User | BotAccount) -> dict[str, Any]:
    user = member.as_json()
    if isinstance(member, BotAccount):
        if not chat.bot_is_admin:
            return {"status": "member", "user": user}
        return {"status": "administrator", "user": user, **dict.fromkeys(_RIGHTS, True)}
    if chat.members.index(member) == 0 and not chat.is_private:
        return {"status": "creator", "user": user, "is_anonymous": False}
    return {"status": "member", "user": user}


METHODS: dict[str, Method] = {
    "getChat": get_chat,
    "getChatMember": get_chat_member,
    "getChatAdministrators": get_chat_administrators,
    "getChatMemberCount": get_chat_member_count,
    "leaveChat": leave_chat,
    "pinChatMessage": pin_message,
    "unpinChatMessage": unpin_message,
    "unpinAllChatMessages": unpin_all_messages,
    "createForumTopic": create_topic,
    "editForumTopic": edit_topic,
    "closeForumTopic": close_topic,
    "reopenForumTopic": reopen_topic,
    "deleteForumTopic": delete_topic,
}

"""The chats of a server as the playground's page needs them: everything that is to be seen, and nothing else."""

from __future__ import annotations

import time
from typing import Any

from handrail.testing.telegram.chats import Chat, Draft, Topic
from handrail.testing.telegram.files import image_size
from handrail.testing.telegram.markup import Button
from handrail.testing.telegram.messages import Media, Message
from handrail.testing.telegram.people import BotAccount, User
from handrail.testing.telegram.world import World

__all__ = ["picture"]

_ACTION_SECONDS = 5.0
"""How long “is typing” is shown."""
_SERVICE = {
    "forum_topic_created": "created the topic",
    "forum_topic_edited": "renamed the topic",
    "forum_topic_closed": "closed the topic",
    "forum_topic_reopened": "reopened the topic",
    "pinned_message": "pinned a message",
    "migrate_to_chat_id": "made a supergroup of this group, which goes on elsewhere",
    "migrate_from_chat_id": "made a supergroup of the group",
}


def picture(world: World) -> dict[str, Any]:
    """Everything there is to draw."""
    commands = next(iter(world.bot.commands.values()), [])
    return {
        "version": world.version,
        "bot": {"id": world.bot.id, "name": world.bot.name, "username": world.bot.username},
        "commands": commands,
        "chats": [_chat(chat) for chat in world.chats.values()],
    }


def _chat(chat: Chat) -> dict[str, Any]:
    acting = chat.actions and time.monotonic() - chat.acted_at < _ACTION_SECONDS and not chat.draft
    return {
        "id": chat.id,
        "name": _name(chat),
        "private": chat.is_private,
        "members": [_person(member) for member in chat.members],
        "topics": [_topic(topic) for topic in chat.topics.values()],
        "messages": [_message(message) for message in chat.messages],
        "draft": _draft(chat.draft) if chat.draft else None,
        "action": chat.actions[-1] if acting else "",
        "inputs": {str(member.id): _input(chat, member) for member in chat.members},
        "blocked": chat.is_private and chat.person.has_blocked,
    }


def _input(chat: Chat, member: User) -> dict[str, Any]:
    """How somebody's input looks, and the message that made it so; others may be asked something that they are not."""
    last = next((message for message in reversed(chat.messages) if _is_for(message, member)), None)
    return {**last.reply_markup, "message": last.id} if last else {}


def _is_for(message: Message, member: User) -> bool:
    if not message.reply_markup.get("force_reply"):
        return bool(message.reply_markup)
    return message.asks_reply_of(member)


def _name(chat: Chat) -> str:
    """What stands above a chat: a person sees the bot's name above their own."""
    return chat.world.bot.name if chat.is_private else chat.name


def _person(person: User | BotAccount) -> dict[str, Any]:
    return {"id": person.id, "name": person.name, "bot": isinstance(person, BotAccount)}


def _topic(topic: Topic) -> dict[str, Any]:
    return {"id": topic.id, "name": topic.name, "closed": topic.is_closed}


def _draft(draft: Draft) -> dict[str, Any]:
    return {
        "text": draft.text,
        "entities": [entity.as_json() for entity in draft.entities],
        "thread": draft.thread,
    }


def _message(message: Message) -> dict[str, Any]:
    return {
        "id": message.id,
        "sender": _person(message.sender),
        "date": message.date,
        "text": message.text,
        "entities": [entity.as_json() for entity in message.entities],
        "buttons": [[_button(button) for button in row] for row in message.buttons],
        "reply": _reply(message),
        "thread": message.thread,
        "album": message.album,
        "edited": message.is_edited,
        "silent": message.silent,
        "pinned": message.is_pinned,
        "reactions": message.reactions,
        "media": _media(message.media) if message.media else None,
        "service": _service(message),
        "forwarded": message.forwarded_from.get("sender_user", {}).get("first_name", ""),
    }


def _button(button: Button) -> dict[str, str]:
    return {"text": button.text, "data": button.data, "url": button.url, "style": button.style}


def _reply(message: Message) -> dict[str, Any] | None:
    """What is replied to; that a topic's messages reply to its first one is not shown."""
    replied = message.reply_to
    if replied is None or replied.service:
        return None
    text = message.quote or replied.text or replied.file_name
    return {"id": replied.id, "name": replied.sender.name, "text": text[:200], "gone": replied.is_deleted}


def _media(media: Media) -> dict[str, Any]:
    size = image_size(media.file.data)
    return {
        "kind": media.kind,
        "file": media.file.file_id,
        "name": media.file.name,
        "bytes": len(media.file.data),
        "width": size[0] if size else 0,
        "height": size[1] if size else 0,
    }


def _service(message: Message) -> str:
    for kind, words in _SERVICE.items():
        if kind in message.service:
            about = message.service[kind]
            name = about.get("name", "") if isinstance(about, dict) else ""
            return f"{message.sender.name} {words} {f'“{name}”' if name else ''}".strip()
    return ""

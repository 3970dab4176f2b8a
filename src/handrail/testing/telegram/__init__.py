"""A strict Telegram Bot API server on loopback, with people who write to the bot and press its buttons."""

from __future__ import annotations

from handrail.testing.telegram.chats import Chat, Draft, Topic
from handrail.testing.telegram.entities import Entity
from handrail.testing.telegram.faults import Faults
from handrail.testing.telegram.markup import Button
from handrail.testing.telegram.messages import CallbackAnswer, Message
from handrail.testing.telegram.pace import TelegramPace
from handrail.testing.telegram.people import BotAccount, User
from handrail.testing.telegram.server import ServedCall, TelegramServer

__all__ = [
    "BotAccount",
    "Button",
    "CallbackAnswer",
    "Chat",
    "Draft",
    "Entity",
    "Faults",
    "Message",
    "ServedCall",
    "TelegramPace",
    "TelegramServer",
    "Topic",
    "User",
]

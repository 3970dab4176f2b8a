"""What can go wrong when the bridge speaks to Telegram.

    BotError
    ├── FloodWait         too fast: nothing more there for so many seconds
    ├── Unreachable       no answer, or none that makes sense: whether it was done is not known
    ├── TokenInvalid      Telegram does not know the bot's token
    ├── Conflict          somebody else gets the updates of this bot
    ├── Blocked           the chat takes nothing from the bot
    ├── ChatMoved         the group has another number now
    ├── TopicGone         the chat is there, the topic is not, or is closed
    ├── MessageGone       the message to be changed is not there any more
    ├── NotEditable       it is there, but can be changed or taken away no more
    ├── NotModified       it shows this already
    └── Refused           anything else: `description` is in Telegram's words
        ├── BadEntities   the looks of the text are wrong: it would be taken as plain text
        ├── NoFiles       the chat takes text, but no files of this kind
        └── TooLong       the text, or the file, is too long

None of them says the bot's token.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from handrail.errors import HandrailError

__all__ = [
    "BadEntities",
    "Blocked",
    "BotError",
    "ChatMoved",
    "Conflict",
    "FloodWait",
    "MessageGone",
    "NoFiles",
    "NotEditable",
    "NotModified",
    "Refused",
    "TokenInvalid",
    "TooLong",
    "TopicGone",
    "Unreachable",
    "error_of",
]


class BotError(HandrailError):
    """Something that Telegram was asked to do was not done, or nobody knows; `description` is in its own words."""

    def __init__(self, description: str) -> None:
        super().__init__(description)
        self.description = description


class FloodWait(BotError):
    """Too much in too short a time: wait `retry_after` seconds."""

    def __init__(self, description: str, retry_after: float) -> None:
        super().__init__(description)
        self.retry_after = retry_after


class Unreachable(BotError):
    """Telegram did not answer, or not in a way that makes sense. What was asked may have been done.

    Unless it `is_away`: then there was not even a connection, and nothing can have been done.
    """

    def __init__(self, description: str, *, is_away: bool = False) -> None:
        super().__init__(description)
        self.is_away = is_away


class TokenInvalid(BotError):
    """Telegram knows no bot with this token."""


class Conflict(BotError):
    """Another program gets the updates of this bot, or a webhook does."""


class Blocked(BotError):
    """The bot was blocked, removed, or may not write in the chat."""


class ChatMoved(BotError):
    """The group became a supergroup: from now on it is `chat`."""

    def __init__(self, description: str, chat: int) -> None:
        super().__init__(description)
        self.chat = chat


class TopicGone(BotError):
    """The topic was closed or deleted."""


class MessageGone(BotError):
    """The message is not in the chat any more."""


class NotEditable(BotError):
    """The message can not be changed, or not be taken away, any more."""


class NotModified(BotError):
    """The message shows this already."""


class Refused(BotError):
    """Telegram does not take this as it is."""


class BadEntities(Refused):
    """Telegram does not understand how the text should look."""


class NoFiles(Refused):
    """The group lets the bot write, but send no files of this kind."""


class TooLong(Refused):
    """More than Telegram takes in one message or file."""


_NOT_AGAIN = " To get another one, write to @BotFather; then run `handrail telegram setup`."

_BY_WORDS: tuple[tuple[str, type[BotError]], ...] = (
    ("message is not modified", NotModified),
    ("message to edit not found", MessageGone),
    ("message to delete not found", MessageGone),
    ("message_id_invalid", MessageGone),
    ("message can't be edited", NotEditable),
    ("message can't be deleted", NotEditable),
    ("chat not found", Blocked),
    ("peer_id_invalid", Blocked),
    ("chat_write_forbidden", Blocked),
    ("not enough rights to send text", Blocked),
    ("not enough rights to send", NoFiles),
    ("have no rights to send", Blocked),
    ("message thread not found", TopicGone),
    ("topic_closed", TopicGone),
    ("topic_deleted", TopicGone),
    ("too long", TooLong),
    ("too_long", TooLong),
    ("too big", TooLong),
    ("entit", BadEntities),
)
"""What a refusal means, by words in it. The first that fits counts."""


def error_of(code: int, description: str, parameters: Mapping[str, Any]) -> BotError:
    """What an answer of the Bot API that is not a success means."""
    if isinstance(seconds := parameters.get("retry_after"), int | float):
        return FloodWait(description, float(seconds))
    if isinstance(chat := parameters.get("migrate_to_chat_id"), int):
        return ChatMoved(description, chat)
    match code:
        case 401:
            return TokenInvalid(f"Telegram does not know this bot token ({description}).{_NOT_AGAIN}")
        case 404 if "method not found" not in description.lower():
            return TokenInvalid(f"this is no bot token, or no Bot API server ({description}).{_NOT_AGAIN}")
        case 403:
            return Blocked(description)
        case 409:
            return Conflict(description)
        case 413:
            return TooLong(description)
        case 429:
            return FloodWait(description, 1.0)
        case 400 | 404:
            return _refusal(description)
    return Unreachable(f"Telegram answered with an error of its own ({code} {description})")


def _refusal(description: str) -> BotError:
    words = description.lower()
    for part, kind in _BY_WORDS:
        if part in words:
            return kind(description)
    return Refused(description)

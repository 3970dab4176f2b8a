"""What of a message is meant for the bot: in private everything, in groups only what calls or answers it.

A command that names no bot is for every bot that hears it: whether it is for this one is for others to say.
"""

from __future__ import annotations

import msgspec

from handrail.telegram.incoming import Message, MessageEntity

__all__ = ["Addressed", "addressed", "nameless_command"]


class Addressed(msgspec.Struct, frozen=True):
    """What was said to the bot: its own name, where it only called it, is left out."""

    text: str


def addressed(message: Message, *, bot_id: int, bot_username: str) -> Addressed | None:
    """What the bot is told, or None if it is not spoken to."""
    units = message.words.encode("utf-16-le")
    calls = [mark for mark in message.marks if _names_bot(units, mark, bot_id, bot_username)]
    if message.chat.type == "private":
        return Addressed(message.words.strip())
    replied = message.answers
    is_answer = replied is not None and replied.sender is not None and replied.sender.id == bot_id
    if not calls and not is_answer:
        return None
    return Addressed(_without_call(units, calls))


def nameless_command(message: Message, *, bot_id: int) -> Addressed | None:
    """The command that a message in a group is, without the name of a bot; not as a reply to what another bot wrote."""
    units = message.words.encode("utf-16-le")
    mark = next((mark for mark in message.marks if mark.type == "bot_command" and mark.offset == 0), None)
    if message.chat.type == "private" or mark is None or "@" in _part(units, mark):
        return None
    asker = message.answers.sender if message.answers is not None else None
    is_for_another = asker is not None and asker.is_bot and asker.id != bot_id
    return None if is_for_another else Addressed(message.words.strip())


def _names_bot(units: bytes, mark: MessageEntity, bot_id: int, bot_username: str) -> bool:
    words = _part(units, mark).lower()
    match mark.type:
        case "mention":
            return words == f"@{bot_username}".lower()
        case "text_mention":
            return mark.user is not None and mark.user.id == bot_id
        case "bot_command":
            return words.endswith(f"@{bot_username}".lower())
    return False


def _part(units: bytes, mark: MessageEntity) -> str:
    return units[2 * mark.offset : 2 * (mark.offset + mark.length)].decode("utf-16-le", "replace")


def _without_call(units: bytes, calls: list[MessageEntity]) -> str:
    """The text without the bot's name at its beginning or end, where it says nothing but whom it is for."""
    whole = units.decode("utf-16-le", "replace").strip()
    for mark in calls:
        if mark.type == "bot_command":
            continue
        name = _part(units, mark)
        if whole.startswith(name):
            whole = whole[len(name) :].lstrip(" ,:\n\t")
        elif whole.endswith(name):
            whole = whole[: -len(name)].rstrip(" ,:\n\t")
    return whole

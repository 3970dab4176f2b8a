"""One step towards what a message is to show, and what a refusal of it leaves to try."""

from __future__ import annotations

from typing import TypeAlias

import msgspec
from msgspec.structs import replace

from handrail.telegram.bot_errors import (
    Blocked,
    BotError,
    ChatMoved,
    FloodWait,
    MessageGone,
    NoFiles,
    NotEditable,
    NotModified,
    TokenInvalid,
    TooLong,
    TopicGone,
    Unreachable,
)
from handrail.telegram.model import Content, Place
from handrail.telegram.outbox.port import MessageBot
from handrail.telegram.state import Delivery
from handrail.telegram.text.rich import RichText, plain, utf16_length

__all__ = ["AS_IT_IS", "CONCERNING_ALL", "Again", "LeftAlone", "Outcome", "Removed", "Shown", "Way", "take_step"]

CONCERNING_ALL = (FloodWait, Unreachable, Blocked, ChatMoved, TokenInvalid)
"""What does not concern one message alone."""
_NO_FILE = "▲ Telegram does not take this file here."
_EMPTIED = Content(text=plain("—"))
"""What a message shows that is to go and cannot be taken away."""


class Way(msgspec.Struct, frozen=True, kw_only=True):
    """How a message is written if it is not taken as it is."""

    plain: bool = False
    cut: bool = False
    bare: bool = False
    """Without buttons."""
    fileless: bool = False
    """Only with the words that belong to its file, and that this is missing."""
    outside_topic: bool = False
    anew: bool = False
    """Taken away and sent again, because it cannot be changed."""
    emptied: bool = False
    """Changed to almost nothing, because it cannot be taken away."""


AS_IT_IS = Way()


class Shown(msgspec.Struct, frozen=True):
    """The message shows what was wanted."""

    message_id: int


class Removed(msgspec.Struct, frozen=True):
    """The message is not there any more."""


class LeftAlone(msgspec.Struct, frozen=True):
    """Nothing more can be tried."""

    problem: str
    is_gone: bool = False
    """Somebody deleted it."""


class Again(msgspec.Struct, frozen=True):
    """It was refused, but may be taken another way."""

    way: Way
    problem: str


Outcome: TypeAlias = Shown | Removed | LeftAlone | Again


async def take_step(bot: MessageBot, delivery: Delivery, way: Way) -> Outcome:
    """Do one call. What does not concern this message alone (a flood wait, say) is raised."""
    try:
        if delivery.step == "remove" or way.anew:
            return await _remove(bot, delivery, way)
        if delivery.step == "edit":
            return await _edit(bot, delivery, way)
        place = Place(delivery.place.chat) if way.outside_topic else delivery.place
        return Shown(await bot.send(place, written(delivery.content, way)))
    except CONCERNING_ALL:
        raise
    except BotError as error:
        if delivery.step == "remove" or way.anew:
            return Removed() if way.emptied else Again(replace(way, emptied=True), error.description)
        other = _other_way(error, way, has_file=delivery.step == "send" and delivery.content.attachment is not None)
        return LeftAlone(error.description) if other == way else Again(other, error.description)


async def _remove(bot: MessageBot, delivery: Delivery, way: Way) -> Outcome:
    try:
        if way.emptied:
            await bot.edit(delivery.place, delivery.message_id, _EMPTIED)
        else:
            await bot.delete(delivery.place, delivery.message_id)
    except (MessageGone, NotModified):
        pass
    return Removed()


async def _edit(bot: MessageBot, delivery: Delivery, way: Way) -> Outcome:
    try:
        await bot.edit(delivery.place, delivery.message_id, written(delivery.content, way))
    except NotModified:
        pass
    except MessageGone as error:
        return Removed() if delivery.content.buttons else LeftAlone(error.description, is_gone=True)
    return Shown(delivery.message_id)


def _other_way(error: BotError, way: Way, *, has_file: bool) -> Way:
    """The next thing to try; the same way if there is none."""
    match error:
        case TopicGone():
            return replace(way, outside_topic=True)
        case NotEditable():
            return replace(way, anew=True)
        case NoFiles() if has_file:
            return replace(way, fileless=True)
        case TooLong() if not way.cut:
            return replace(way, plain=True, cut=True)
    # It may be the looks of the text that are not taken, or else the buttons, or else the file.
    if not way.plain:
        return replace(way, plain=True)
    return replace(way, fileless=True) if way.bare and has_file else replace(way, bare=True)


def written(content: Content, way: Way) -> Content:
    """A content as it is written in a certain way."""
    if way.fileless and content.attachment is not None:
        words = f"{content.text.text or content.attachment.name}\n{_NO_FILE}"
        content = replace(content, text=plain(words), attachment=None)
    if way.plain:
        content = replace(content, text=plain(content.text.text))
    if way.cut:
        content = replace(content, text=_cut(content.text, content.longest_text))
    return replace(content, buttons=()) if way.bare else content


def _cut(text: RichText, limit: int) -> RichText:
    """A plain text with no more units than fit."""
    words = text.text[:limit]
    while utf16_length(words) > limit - 1:
        words = words[: -max(1, (utf16_length(words) - limit) // 2)]
    return plain(words + "…") if words != text.text else text

"""Methods that change or take away what stands in a chat."""

from __future__ import annotations

import time
from typing import Any

from handrail.testing.telegram.api_errors import bad_request
from handrail.testing.telegram.formatting import FormattedText
from handrail.testing.telegram.markup import Button, read_markup
from handrail.testing.telegram.messages import Media, Message
from handrail.testing.telegram.methods.calling import Call, Method, chat_of, json_of, message_ids, message_of
from handrail.testing.telegram.methods.contents import caption_of, input_media, text_of

__all__ = ["METHODS"]

_SAME = (
    "message is not modified: specified new message content and reply markup are exactly the same as a current "
    "content and reply markup of the message"
)
_LASTING = frozenset({"force_reply", "keyboard"})
"""A message that was sent with one of these can never be edited."""
_DELETABLE_SECONDS = 48 * 3600


def edit_text(call: Call) -> dict[str, Any]:
    """Another text."""
    text, buttons = text_of(call), _buttons(call)
    message = _editable(call)
    if message.media or not message.text:
        raise bad_request("there is no text in the message to edit")
    return _change(message, text, None, buttons)


def edit_caption(call: Call) -> dict[str, Any]:
    """Another caption."""
    buttons, caption = _buttons(call), caption_of(call)
    message = _editable(call)
    if not message.media:
        raise bad_request("there is no caption in the message to edit")
    return _change(message, caption, message.media, buttons)


def edit_media(call: Call) -> dict[str, Any]:
    """Another file in the place of one."""
    buttons = _buttons(call)
    raw = json_of(call, "media", "can't parse input media JSON object")
    if raw is None:
        raise bad_request('parameter "media" is required')
    media, caption = input_media(call, raw, in_album=False)
    message = _editable(call)
    if not message.media:
        raise bad_request("there is no media in the message to edit")
    return _change(message, caption, media, buttons)


def edit_markup(call: Call) -> dict[str, Any]:
    """Other buttons, or none."""
    buttons = _buttons(call)
    message = _editable(call)
    return _change(message, FormattedText(message.text, message.entities), message.media, buttons)


def delete_message(call: Call) -> bool:
    """Take a message away."""
    if not call.parameters.text("chat_id"):
        raise bad_request("chat identifier is not specified")
    if call.parameters.number("message_id") == 0:
        raise bad_request("message identifier is not specified")
    message = message_of(call, chat_of(call), "message to delete")
    if not _may_delete(message):
        raise bad_request("message can't be deleted for everyone")
    call.world.remove(message)
    return True


def delete_messages(call: Call) -> bool:
    """Take several away; those that are not there, or not for the bot to delete, do not matter."""
    ids = message_ids(call)
    chat = chat_of(call)
    for message in (chat.message(id) for id in ids):
        if message and _may_delete(message):
            call.world.remove(message)
    return True


def _editable(call: Call) -> Message:
    if not call.parameters.text("chat_id") and call.parameters.number("message_id") == 0:
        raise bad_request("message identifier is not specified")
    message = message_of(call, chat_of(call), "message to edit")
    if not message.by_bot or message.service or message.forwarded_from or _LASTING & message.reply_markup.keys():
        raise bad_request("message can't be edited")
    return message


def _buttons(call: Call) -> list[list[Button]]:
    """The keyboard from now on. Left out, it goes: that is how the API works."""
    markup = read_markup(call.parameters)
    if markup.other:
        raise bad_request("inline keyboard expected")
    return markup.buttons


def _change(message: Message, text: FormattedText, media: Media | None, buttons: list[list[Button]]) -> dict[str, Any]:
    before = (message.text, message.entities, message.media, message.buttons)
    after = (text.text, text.entities, media, buttons)
    if before == after:
        raise bad_request(_SAME)
    message.text, message.entities, message.media, message.buttons = after
    message.dropped_entities = text.dropped
    message.edited_at = int(time.time())
    message.edits += 1
    message.chat.world.notify()
    return message.as_json()


def _may_delete(message: Message) -> bool:
    """A bot deletes its own and, in private chats or as an administrator, those of others: for two days.

    That a topic was made can never be deleted.
    """
    if time.time() - message.date > _DELETABLE_SECONDS or "forum_topic_created" in message.service:
        return False
    return message.by_bot or message.chat.is_private or message.chat.bot_is_admin


METHODS: dict[str, Method] = {
    "editMessageText": edit_text,
    "editMessageCaption": edit_caption,
    "editMessageMedia": edit_media,
    "editMessageReplyMarkup": edit_markup,
    "deleteMessage": delete_message,
    "deleteMessages": delete_messages,
}

"""Methods that put something into a chat."""

from __future__ import annotations

from typing import Any

from handrail.testing.telegram.api_errors import bad_request
from handrail.testing.telegram.chats import Chat, Draft
from handrail.testing.telegram.entities import MOST_TEXT, units
from handrail.testing.telegram.formatting import FormattedText, read_formatted
from handrail.testing.telegram.markup import read_markup
from handrail.testing.telegram.messages import Media, Message
from handrail.testing.telegram.methods.calling import (
    Call,
    Method,
    chat_of,
    json_of,
    message_ids,
    message_of,
    reply_of,
    thread_of,
)
from handrail.testing.telegram.methods.contents import KINDS, caption_of, input_media, media_of, text_of

__all__ = ["METHODS"]

_ACTIONS = frozenset(
    ("typing", "upload_photo", "record_video", "upload_video", "record_voice", "upload_voice", "upload_document")
) | {"choose_sticker", "find_location", "record_video_note", "upload_video_note"}
_MOST_IN_ALBUM = 10
_UNMIXED = ("audio", "document")


def send_message(call: Call) -> dict[str, Any]:
    """A text."""
    return _send(call, text_of(call)).as_json()


def send_media(call: Call) -> dict[str, Any]:
    """A picture, a document or another file, with or without a caption."""
    kind = call.method.lower().removeprefix("send")
    media = media_of(call, kind)
    return _send(call, caption_of(call), media).as_json()


def send_media_group(call: Call) -> list[dict[str, Any]]:
    """Several files at once."""
    raw = json_of(call, "media", "can't parse media JSON object")
    if raw is None:
        raise bad_request('parameter "media" is required')
    if not isinstance(raw, list):
        raise bad_request("expected an Array of InputMedia")
    if len(raw) > _MOST_IN_ALBUM:
        raise bad_request("too many messages to send as an album")
    if not raw:
        raise bad_request("there are no messages to send")
    album = [input_media(call, entry, in_album=True) for entry in raw]
    kinds = {media.kind for media, _ in album}
    mixed = next((kind for kind in _UNMIXED if kind in kinds and len(kinds) > 1), None)
    if mixed:
        raise bad_request(f"{mixed} can't be mixed with other media types")
    mark = call.world.next_album() if len(album) > 1 else ""
    return [_send(call, caption, media, album=mark).as_json() for media, caption in album]


def send_draft(call: Call) -> bool:
    """The beginning of a message, shown in a private chat while the rest is being written."""
    text = read_formatted(call.parameters, "text", "entities")
    chat = chat_of(call)
    if not chat.is_private:
        raise bad_request("TEXTDRAFT_PEER_INVALID")
    draft_id = call.parameters.number("draft_id")
    if draft_id == 0:
        raise bad_request("RANDOM_ID_INVALID")
    if units(text.text) > MOST_TEXT:
        raise bad_request("message is too long")
    call.world.show_draft(chat, Draft(draft_id, text.text, text.entities, thread_of(call, chat)))
    return True


def send_chat_action(call: Call) -> bool:
    """Something like “is typing”."""
    action = call.parameters.text("action")
    if action not in _ACTIONS:
        raise bad_request("wrong parameter action in request")
    chat = chat_of(call)
    thread_of(call, chat)
    call.world.show_action(chat, action)
    return True


def forward_message(call: Call) -> dict[str, Any]:
    """A message of another chat, with a note of where it is from."""
    return _forward(call, _source(call, "message to forward")).as_json()


def copy_message(call: Call) -> dict[str, int]:
    """A message of another chat, as if the bot had written it."""
    original = _source(call, "message to copy")
    body = FormattedText(original.text, original.entities)
    caption = caption_of(call) if "caption" in call.parameters else body
    return {"message_id": _send(call, caption, original.media).id}


def forward_messages(call: Call) -> list[dict[str, int]]:
    """Several messages; those that are gone are left out."""
    return [{"message_id": _forward(call, original).id} for original in _sources(call)]


def copy_messages(call: Call) -> list[dict[str, int]]:
    """Several messages, as if the bot had written them; those that are gone are left out."""
    copies = (
        _send(call, FormattedText(original.text, original.entities), original.media) for original in _sources(call)
    )
    return [{"message_id": copy.id} for copy in copies]


def _source(call: Call, purpose: str) -> Message:
    return message_of(call, chat_of(call, "from_chat_id"), purpose)


def _sources(call: Call) -> list[Message]:
    chat = chat_of(call, "from_chat_id")
    found = [message for id in message_ids(call) if (message := chat.message(id))]
    if not found:
        raise bad_request("there are no messages to forward")
    return found


def _forward(call: Call, original: Message) -> Message:
    if original.protected:
        raise bad_request("message has protected content and can't be forwarded")
    origin = {"type": "user", "sender_user": original.sender.as_json(), "date": original.date}
    body = FormattedText(original.text, original.entities)
    return _send(call, body, original.media, forwarded_from=origin)


def _send(call: Call, text: FormattedText, media: Media | None = None, **fields: Any) -> Message:
    """Everything that all of these methods have in common, in the order in which the real server looks at it."""
    reply = reply_of(call)
    markup = read_markup(call.parameters)
    chat = chat_of(call)
    replied = reply.find(chat)
    thread = thread_of(call, chat)
    return call.world.add_message(
        chat,
        call.world.bot,
        text=text.text,
        entities=text.entities,
        dropped_entities=text.dropped,
        media=media,
        thread=thread,
        reply_to=replied or _start_of(chat, thread),
        quote=reply.quote if replied else "",
        buttons=markup.buttons,
        reply_markup=markup.other,
        silent=call.parameters.flag("disable_notification"),
        protected=call.parameters.flag("protect_content"),
        link_preview=_link_preview(call),
        **fields,
    )


def _start_of(chat: Chat, thread: int) -> Message | None:
    """What is written in a topic without a reply is a reply to the message that the topic began with."""
    return chat.message(thread) if thread else None


def _link_preview(call: Call) -> dict[str, Any]:
    given = json_of(call, "link_preview_options", "can't parse link preview options JSON object", {})
    if not isinstance(given, dict):
        raise bad_request("object expected as link preview options")
    return given or ({"is_disabled": True} if call.parameters.flag("disable_web_page_preview") else {})


METHODS: dict[str, Method] = {
    "sendMessage": send_message,
    **{f"send{kind.capitalize()}": send_media for kind in KINDS},
    "sendMediaGroup": send_media_group,
    "sendMessageDraft": send_draft,
    "sendChatAction": send_chat_action,
    "forwardMessage": forward_message,
    "forwardMessages": forward_messages,
    "copyMessage": copy_message,
    "copyMessages": copy_messages,
}
